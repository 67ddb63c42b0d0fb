package app

import (
	"context"
	"net"
	"net/http"
	"sync/atomic"
	"time"
)

// connections counts those of a server that are open.
type connections struct{ open atomic.Int64 }

// note is the server's ConnState.
func (c *connections) note(_ net.Conn, s http.ConnState) {
	switch s {
	case http.StateNew:
		c.open.Add(1)
	case http.StateClosed, http.StateHijacked:
		c.open.Add(-1)
	case http.StateActive, http.StateIdle:
	}
}

// drain ends a server that accepts no more: idle connections are closed, and those
// that have a request, or are about to send one, get its answer. Shutdown alone
// would close the latter without an answer: it serves nothing that it reads after
// it was called.
func (c *connections) drain(ctx context.Context, server *http.Server) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for c.open.Load() > 0 {
		server.SetKeepAlivesEnabled(false) // closes what is idle by now
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
	return server.Shutdown(ctx)
}
