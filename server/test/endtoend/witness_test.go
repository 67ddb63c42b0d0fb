package endtoend

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"sync/atomic"
	"syscall"

	"github.com/recoup-dev/recoup/client"
)

// client makes a client of whatever node runs at the site. Cut is told of every
// request that a node has begun and left without an answer.
func (s *site) client(cut func(error)) *client.Client {
	s.Helper()
	w := &witness{cut: cut, seen: s.seen}
	w.Transport = http.Transport{
		DisableKeepAlives: true, // a request is never sent into a connection that a node is closing
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			refused := ctx.Value(w).(*atomic.Bool)
			conn, err := new(net.Dialer).DialContext(ctx, network, *s.address.Load())
			if err != nil {
				refused.Store(true)
				return nil, err
			}
			return &observed{conn, refused}, nil
		},
	}
	c, err := client.New(client.Options{Server: "http://recoup.test", Key: s.key(), HTTP: &http.Client{Transport: w}})
	if err != nil {
		s.Fatal(err)
	}
	return c
}

// witness watches requests, each with a connection of its own.
type witness struct {
	http.Transport
	cut  func(error)
	seen func(*http.Response) // nil: nobody looks
}

// RoundTrip tells a request that was cut from one that was refused: its connection
// was not taken, or it was reset before the node had read the request.
func (w *witness) RoundTrip(r *http.Request) (*http.Response, error) {
	refused := new(atomic.Bool)
	response, err := w.Transport.RoundTrip(r.WithContext(context.WithValue(r.Context(), w, refused)))
	if err != nil && !refused.Load() && r.Context().Err() == nil {
		w.cut(fmt.Errorf("%s %s: %w", r.Method, r.URL.Path, err))
	}
	if err == nil && w.seen != nil {
		w.seen(response)
	}
	return response, err
}

// observed is a connection that notes when the other side resets it.
type observed struct {
	net.Conn
	reset *atomic.Bool
}

func (o *observed) Read(p []byte) (int, error) {
	n, err := o.Conn.Read(p)
	return n, o.note(err)
}

func (o *observed) Write(p []byte) (int, error) {
	n, err := o.Conn.Write(p)
	return n, o.note(err)
}

func (o *observed) note(err error) error {
	if errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE) {
		o.reset.Store(true)
	}
	return err
}
