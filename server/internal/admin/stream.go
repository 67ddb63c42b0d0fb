package admin

import (
	"bufio"
	"context"
	"encoding/json"
	"iter"
	"net/http"
	"strings"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// maxStreamLine is how long a line of a stream may be.
const maxStreamLine = 1 << 20

// Stream follows what changes. It yields events until ctx ends, the server ends the stream or
// the connection is lost, and then the error; without an error, the server has ended the stream.
// It does not connect again by itself. A caller that does reads again what it shows, because
// changes in between are not reported.
func (s System) Stream(ctx context.Context, options ...client.CallOption) iter.Seq2[wire.StreamEvent, error] {
	return func(yield func(wire.StreamEvent, error) bool) {
		stopped := false
		read := func(resp *http.Response) error {
			return readStream(resp, func(e wire.StreamEvent) bool {
				stopped = !yield(e, nil)
				return !stopped
			})
		}
		r := client.Request{Path: "/v1/stream", Header: http.Header{"Accept": {"text/event-stream"}}}
		if err := s.c.Do(ctx, r, read, options...); err != nil && !stopped {
			yield(wire.StreamEvent{}, err)
		}
	}
}

// readStream reads events until the stream ends or next returns false.
func readStream(resp *http.Response, next func(wire.StreamEvent) bool) error {
	if media := resp.Header.Get("Content-Type"); !strings.HasPrefix(media, "text/event-stream") {
		return fault.New(fault.CodeConfigurationError, "The server answers with %q instead of a stream: check its address and version.", media)
	}
	lines := bufio.NewScanner(resp.Body)
	lines.Buffer(nil, maxStreamLine)
	for lines.Scan() {
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok { // the name of an event, which is in it as well, or a comment
			continue
		}
		var e wire.StreamEvent
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fault.Wrap(err, fault.CodeSchemaInvalid, "An event of the stream cannot be read.")
		}
		if !next(e) {
			return nil
		}
	}
	return lines.Err()
}
