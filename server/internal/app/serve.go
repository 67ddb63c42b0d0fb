package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
)

// Serve answers requests until ctx ends, and then stops: it accepts no new request,
// waits for running requests, writes what was accepted, and signs off from the database.
//
// It returns nil when everything that was acknowledged is durable, also if a request was
// cut off or the database did not answer when the node signed off: those are logged. It
// returns a [*ledger.LostError] if acknowledged events could not be written, and the
// listener's error if that failed.
func (n *Node) Serve(ctx context.Context) error {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	open := &connections{}
	server := &http.Server{
		ConnState:         open.note,
		Handler:           n.counted(n.api),
		ReadHeaderTimeout: n.o.Timeouts.Header,
		ReadTimeout:       n.o.Timeouts.Read,
		WriteTimeout:      n.o.Timeouts.Write,
		IdleTimeout:       n.o.Timeouts.Idle,
		MaxHeaderBytes:    32 << 10,
		BaseContext:       func(net.Listener) context.Context { return requests },
		ErrorLog:          slog.NewLogLogger(n.o.Logger.Handler(), slog.LevelDebug),
	}
	n.runLoops(life)
	n.serveMetrics(life)
	served := make(chan error, 1)
	go func() { served <- server.Serve(n.listener) }()
	var err error
	select {
	case err = <-served:
	case <-ctx.Done():
	}
	ending := context.WithoutCancel(ctx)
	writing, done := n.grace(ending, writeLimit)
	defer done()
	if err == nil {
		n.o.Logger.Info("stopping")
		n.engine.StopWaiting()
		n.letters.StopWaiting()
		n.api.StopStreaming()
		err = n.listener.Close()
		<-served // from now on all of its connections are known
		n.finish(ending, server, open)
		cut()
	}
	stop()
	return errors.Join(ignoreClosed(err), n.close(ending, writing))
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}

// Close ends a node that is not serving: it writes what was accepted and closes
// the store. [Node.Serve] does that itself.
func (n *Node) Close(ctx context.Context) error {
	var err error
	for _, l := range []net.Listener{n.listener, n.figures} {
		if l != nil {
			err = errors.Join(err, l.Close())
		}
	}
	ctx = context.WithoutCancel(ctx)
	writing, done := n.grace(ctx, writeLimit)
	defer done()
	return errors.Join(err, n.close(ctx, writing))
}
