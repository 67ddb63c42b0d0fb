package api

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

const mediaEvents = "text/event-stream"

// wantsEvents reports whether a request asks for a stream of events, as a browser's
// EventSource does.
func wantsEvents(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Accept"), func(s string) bool { return strings.Contains(s, mediaEvents) })
}

// enterStream takes one of the places that open streams have.
func (c *call) enterStream() error { return c.visit.enter(streaming) }

// startStream begins an answer of server-sent events.
func (c *call) startStream() {
	h := c.ResponseHeader()
	h["X-Content-Type-Options"], h["Cache-Control"], h["Content-Type"] = nosniff, noStore, []string{mediaEvents}
	h.Set("X-Accel-Buffering", "no") // of a proxy that would gather what it passes on
	c.w.WriteHeader(http.StatusOK)
}

// withTimeLimit returns the context of a request that is bounded as an ordinary one is.
func (c *call) withTimeLimit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Context(), c.server.admission.limits.Time)
}

// push writes at once, and not for long: who reads too slowly is cut off.
func (c *call) push(data []byte) error {
	c.writeWithin(len(data))
	if _, err := c.w.Write(data); err != nil {
		return err
	}
	return c.control.Flush()
}
