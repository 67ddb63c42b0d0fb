package app

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
)

// listen opens the addresses of the API and of the metrics.
func (n *Node) listen(ctx context.Context) error {
	pair, err := openCertificate(&n.o)
	if err != nil {
		return err
	}
	open := func(address string) (net.Listener, error) {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
		if err != nil {
			return nil, fmt.Errorf("cannot listen on %s: %w", address, err)
		}
		return l, nil
	}
	listener, err := open(n.o.Listen)
	if err != nil {
		return err
	}
	n.listener, n.secure = pair.wrap(listener), pair != nil
	if !n.secure && !local(listener.Addr()) {
		n.o.Logger.Warn("listening beyond this machine without TLS: keys and data can be read on the way; set --tls-cert and --tls-key, or have a proxy speak TLS", "listen", listener.Addr().String())
	}
	if n.o.MetricsListen != "" {
		n.figures, err = open(n.o.MetricsListen)
	}
	return err
}

// local reports whether only this machine can reach an address.
func local(a net.Addr) bool {
	tcp, ok := a.(*net.TCPAddr)
	return ok && tcp.IP.IsLoopback()
}

// URL is where the node listens, as a client would write it.
func (n *Node) URL() string {
	if n.secure {
		return "https://" + n.Address()
	}
	return "http://" + n.Address()
}

// serveMetrics shows the metrics at an address of their own, if they have one,
// until ctx ends.
func (n *Node) serveMetrics(ctx context.Context) {
	if n.figures == nil {
		return
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", n.metrics.handler())
	server := &http.Server{Handler: mux, ReadTimeout: n.o.Timeouts.Header, WriteTimeout: n.o.Timeouts.Read, IdleTimeout: n.o.Timeouts.Idle, MaxHeaderBytes: 32 << 10}
	n.loops.Go(func() {
		if err := server.Serve(n.figures); !errors.Is(err, http.ErrServerClosed) {
			n.o.Logger.Error("metrics listener stopped", "cause", err)
		}
	})
	n.loops.Go(func() {
		<-ctx.Done()
		_ = server.Close() // nobody waits for a scrape
	})
}
