package app

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
)

// Serve answers requests until ctx ends, and then stops: it takes no new request,
// lets those that run finish, and writes what was accepted.
func (n *Node) Serve(ctx context.Context) error {
	life, stop := context.WithCancel(context.WithoutCancel(ctx))
	defer stop()
	requests, cut := context.WithCancel(context.WithoutCancel(ctx))
	defer cut()
	open := &connections{}
	server := &http.Server{
		ConnState:         open.note,
		Handler:           n.api,
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
		n.o.Logger.Info("stopping")
		n.engine.StopWaiting()
		n.letters.StopWaiting()
		n.api.StopStreaming()
		err = n.listener.Close()
		<-served // from now on all of its connections are known
		graceful, cancel := context.WithTimeout(context.WithoutCancel(ctx), n.o.Grace)
		delivered := make(chan error, 1)
		go func() { delivered <- n.pusher.Drain(graceful) }()
		err = errors.Join(err, open.drain(graceful, server), <-delivered)
		cancel()
		cut()
		if err != nil { // somebody held on for longer than that
			err = errors.Join(err, server.Close())
		}
	}
	stop()
	n.loops.Wait()
	return errors.Join(ignoreClosed(err), n.close(context.WithoutCancel(ctx)))
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
	return errors.Join(err, n.close(context.WithoutCancel(ctx)))
}

// close writes what was accepted and closes the store, of a node that may not be
// put together wholly.
func (n *Node) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, n.o.Grace)
	defer cancel()
	failed := []error{n.resign(ctx)}
	if n.adoptions != nil {
		failed = append(failed, n.adoptions.Close(ctx))
	}
	if n.notifier != nil {
		n.notifier.Wait() // its context has ended, or it never ran
	}
	if n.pusher != nil {
		failed = append(failed, n.pusher.Drain(ctx))
	}
	if n.api != nil {
		failed = append(failed, n.api.FlushKeyUse(ctx), n.roster.Flush(ctx))
	}
	if n.ledger != nil {
		failed = append(failed, n.ledger.Close(ctx))
	}
	if n.bus != nil {
		n.bus.Close()
	}
	return errors.Join(append(failed, n.traces.close(ctx), n.store.Close())...)
}
