package client

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// The events of a stream.
const (
	StreamHello   = "hello"   // it has begun: Version and Counts
	StreamCounts  = "counts"  // Counts have changed; these are all of them
	StreamChanged = "changed" // something has happened to the errors in Changed, or to the Objects
	StreamLost    = "lost"    // more has changed than is listed: read again what you show
	StreamEnd     = "end"     // the server ends the stream: Reason
)

// StreamEvent is what a stream says.
type StreamEvent struct {
	Event   string                 `json:"event" enum:"hello,counts,changed,lost,end" doc:"what it tells"`
	Version string                 `json:"version,omitempty" doc:"of the server, at the beginning"`
	Counts  []recoup.StateCount    `json:"counts,omitempty" doc:"how many errors each table has in each state, as far as the key may see them"`
	Changed []recoup.Changed       `json:"changed,omitempty" doc:"errors that something has happened to"`
	Objects []recoup.ChangedObject `json:"objects,omitempty" doc:"dead letters, groups of them, replays, operations, alerts and silences that something has happened to"`
	Reason  string                 `json:"reason,omitempty" doc:"why it ends, or what is lost"`
}

// maxStreamLine is how long a line of a stream may be.
const maxStreamLine = 1 << 20

// Stream follows what changes. It yields events until ctx ends, the server does or the
// connection is lost, and then the error that says so; without one, the server has ended
// the stream. It does not connect again by itself: whoever does reads again what it shows,
// because changes in between are not told.
func (c *Client) Stream(ctx context.Context, options ...CallOption) iter.Seq2[StreamEvent, error] {
	return func(yield func(StreamEvent, error) bool) {
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		resp, err := c.open(ctx, options)
		if err != nil {
			yield(StreamEvent{}, err)
			return
		}
		defer func() { _ = resp.Body.Close() }() // nothing more is read
		lines := bufio.NewScanner(resp.Body)
		lines.Buffer(nil, maxStreamLine)
		for lines.Scan() {
			data, ok := strings.CutPrefix(lines.Text(), "data: ")
			if !ok { // the name of an event, which is in it as well, or a comment
				continue
			}
			var e StreamEvent
			if err := json.Unmarshal([]byte(data), &e); err != nil {
				yield(e, fault.Wrap(err, fault.CodeSchemaInvalid, "An event of the stream cannot be read."))
				return
			}
			if !yield(e, nil) {
				return
			}
		}
		if err := lines.Err(); err != nil {
			yield(StreamEvent{}, c.failure(err))
		}
	}
}

// open begins a stream.
func (c *Client) open(ctx context.Context, options []CallOption) (*http.Response, error) {
	r := request{method: http.MethodGet, path: "/v1/stream"}
	if err := c.prepare(&r, options); err != nil {
		return nil, err
	}
	req, err := c.build(ctx, &r, nil, "")
	if err != nil {
		return nil, fault.Wrap(err, fault.CodeConfigurationError, "The request cannot be made.")
	}
	req.Header.Set("Accept", "text/event-stream")
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, c.failure(err)
	}
	if failure := c.o.Registry.Decode(resp); failure != nil {
		_ = resp.Body.Close()
		return nil, failure
	}
	if media := resp.Header.Get("Content-Type"); !strings.HasPrefix(media, "text/event-stream") {
		_ = resp.Body.Close()
		return nil, fault.New(fault.CodeConfigurationError, "The server answers with %q instead of a stream: check its address and version.", media)
	}
	return resp, nil
}
