package api

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	// heartbeat is how often a stream on which nothing happens says that it is alive.
	heartbeat = 15 * time.Second

	// changedPerEvent is how many errors or other things one event names.
	changedPerEvent = 100
)

// Why a stream ends.
const (
	endedByKey      = "the key was revoked or has expired"
	endedByShutdown = "the server stops; connect again"
	lostReason      = "more has changed than is listed here: read again what you show"
)

// changeSource is what streams tell of: changes as the store has them, and everybody's
// counts.
type changeSource struct {
	store.ChangeReader
	engine *engine.Engine
}

func (s changeSource) Counts(ctx context.Context) ([]recoup.StateCount, error) {
	return s.engine.Counts(ctx, engine.Caller{})
}

// newStreams is the watcher of the API's streams.
func (a *API) newStreams() *stream.Watcher {
	return stream.New(stream.Options{Source: changeSource{a.Store, a.Engine}, Now: a.Now, Logger: a.Logger, Tables: func() []string {
		var names []string
		for _, t := range a.Engine.Policies.Tables() {
			names = append(names, t.Name)
		}
		return names
	}})
}

// StopStreaming ends every stream, now and from now on: the node stops, and their
// readers connect to another.
func (a *API) StopStreaming() { a.streams.Stop() }

// showStream answers who does not ask for events with what a stream begins with.
func (a *API) showStream(c *httpapi.Call, _ *struct{}) (wire.StreamEvent, error) {
	counts, err := a.Engine.Counts(c.Context(), c.Caller)
	return wire.StreamEvent{Event: wire.StreamHello, Version: a.Version, Counts: httpapi.Listed(counts)}, err
}

// stream sends events until the caller has gone, its key ends or the node stops.
func (a *API) stream(c *httpapi.Call) error {
	if err := c.EnterStream(); err != nil {
		return err
	}
	hello, err := a.opening(c)
	if err != nil {
		return c.Failure(err)
	}
	listener := a.streams.Listen(stream.Eyes{
		Table:  func(name string) bool { return a.Engine.Sees(c.Caller, name) },
		Object: func(m store.Moving) bool { return a.mayFind(c, m.Kind) == nil && a.maySee(c, m.Kind, m.Of) },
	})
	defer listener.Close()
	ctx, leave := c.WatchKey()
	defer leave()
	c.StartStream()
	if err := sendEvent(c, hello); err == nil {
		a.follow(ctx, c, listener)
	}
	return nil
}

// opening is the first event, read before the stream begins, so that a database that does
// not answer is a failure and no empty stream.
func (a *API) opening(c *httpapi.Call) (wire.StreamEvent, error) {
	ctx, cancel := c.WithTimeLimit()
	defer cancel()
	counts, err := a.Engine.Counts(ctx, c.Caller)
	return wire.StreamEvent{Event: wire.StreamHello, Version: a.Version, Counts: counts}, err
}

// follow sends what a listener hears. It returns when that cannot be written any more.
func (a *API) follow(ctx context.Context, c *httpapi.Call, listener *stream.Listener) {
	beat := time.NewTicker(heartbeat)
	defer beat.Stop()
	for {
		var err error
		select {
		case <-ctx.Done():
			if errors.Is(context.Cause(ctx), httpapi.ErrKeyEnded) {
				_ = sendEvent(c, wire.StreamEvent{Event: wire.StreamEnd, Reason: endedByKey})
			}
			return
		case <-a.streams.Stopped():
			_ = sendEvent(c, wire.StreamEvent{Event: wire.StreamEnd, Reason: endedByShutdown})
			return
		case <-beat.C:
			err = c.Push([]byte(":\n\n"))
		case <-listener.Ready():
			err = pass(c, listener.Take())
		}
		if err != nil {
			return
		}
	}
}

// pass sends what a listener has heard.
func pass(c *httpapi.Call, b stream.Batch) error {
	var failed []error
	if b.Lost {
		failed = append(failed, sendEvent(c, wire.StreamEvent{Event: wire.StreamLost, Reason: lostReason}))
	}
	for some := range slices.Chunk(b.Changed, changedPerEvent) {
		failed = append(failed, sendEvent(c, wire.StreamEvent{Event: wire.StreamChanged, Changed: some}))
	}
	for some := range slices.Chunk(b.Objects, changedPerEvent) {
		failed = append(failed, sendEvent(c, wire.StreamEvent{Event: wire.StreamChanged, Objects: some}))
	}
	if b.Counts != nil {
		failed = append(failed, sendEvent(c, wire.StreamEvent{Event: wire.StreamCounts, Counts: b.Counts}))
	}
	return errors.Join(failed...)
}

// sendEvent sends one event.
func sendEvent(c *httpapi.Call, e wire.StreamEvent) error {
	data, err := json.Marshal(e)
	if err != nil {
		return err
	}
	return c.Push(fmt.Appendf(nil, "event: %s\ndata: %s\n\n", e.Event, data))
}
