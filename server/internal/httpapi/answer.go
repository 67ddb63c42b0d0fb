package httpapi

import (
	"context"
	"encoding/json"
	"net/http"
	"reflect"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/batch"
)

// raw is an answer that is written already.
type raw []byte

// encode writes an answer as JSON.
func (s *Server) encode(out any) ([]byte, error) {
	if text, ok := out.(raw); ok {
		return text, nil
	}
	if s.Encode != nil {
		return s.Encode(out)
	}
	return json.Marshal(out)
}

// withRequestID adds the id of the request as the last member of an object, which may be
// changed. An answer that is no object stays as it is.
func withRequestID(object []byte, id string) []byte {
	last := len(object) - 1
	if last < 1 || object[0] != '{' || id == "" {
		return object
	}
	object = object[:last]
	if last > 1 {
		object = append(object, ',')
	}
	object, _ = AppendString(append(object, `"request_id":`...), id) // which never fails
	return append(object, '}')
}

// AppendString appends a string as encoding/json writes it.
func AppendString(b []byte, s string) ([]byte, error) {
	for i := range len(s) {
		switch c := s[i]; {
		case c < ' ', c >= 0x7f, c == '"', c == '\\', c == '<', c == '>', c == '&':
			quoted, err := json.Marshal(s)
			return append(b, quoted...), err
		}
	}
	return append(append(append(b, '"'), s...), '"'), nil
}

// Each converts the items of a list. The result is never null in JSON.
func Each[S, T any](list []S, turn func(S) T) []T {
	out := make([]T, len(list))
	for i := range list {
		out[i] = turn(list[i])
	}
	return out
}

// Listed returns a list that is never null in JSON.
func Listed[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

// Items answers each of the n items of a request by itself. step converts an item for verb, and
// result converts an outcome for the answer; an error of either fails the item alone. item makes
// the item of the answer from its result or, if that is nil, its failure. An error of verb fails
// the request.
func Items[S, O, T, I any](c *Call, n int, step func(i int) (S, error),
	verb func(context.Context, []S) ([]O, error), result func(i int, o *O) (*T, error), item func(*T, json.RawMessage) I,
) ([]I, error) {
	return batch.Each(c.Context(), n, step, verb, func(i int, o *O, err error) (I, error) {
		var shown *T
		if err == nil {
			shown, err = result(i, o)
		}
		if err != nil {
			return item(nil, c.ItemFailure(err)), nil
		}
		return item(shown, nil), nil
	})
}

// CheckItem says all that is wrong with an item that breaks a rule; one that
// breaks none is checked by whoever takes it.
func CheckItem[T any](rules Rules, item *T, check func(*T) error) error {
	if CheckRules(rules, reflect.ValueOf(*item)) == nil {
		return nil
	}
	return checkWhole(rules, item, check)
}

const mediaEvents = "text/event-stream"

// wantsEvents reports whether a request asks for a stream of events, as a browser's
// EventSource does.
func wantsEvents(r *http.Request) bool {
	return slices.ContainsFunc(r.Header.Values("Accept"), func(s string) bool { return strings.Contains(s, mediaEvents) })
}

// EnterStream admits the call as an open stream, whose number is limited.
func (c *Call) EnterStream() error { return c.visit.enter(LoadStreaming) }

// StartStream begins an answer of server-sent events.
func (c *Call) StartStream() {
	h := c.ResponseHeader()
	h["X-Content-Type-Options"], h["Cache-Control"], h["Content-Type"] = nosniff, noStore, []string{mediaEvents}
	h.Set("X-Accel-Buffering", "no") // of a proxy that would gather what it passes on
	c.w.WriteHeader(http.StatusOK)
}

// WithTimeLimit returns the context of the call with the deadline of an ordinary request.
func (c *Call) WithTimeLimit() (context.Context, context.CancelFunc) {
	return context.WithTimeout(c.Context(), c.server.admission.limits.Time)
}

// Push writes a part of a stream at once. A client that reads too slowly is disconnected.
func (c *Call) Push(data []byte) error {
	c.writeWithin(len(data))
	if _, err := c.w.Write(data); err != nil {
		return err
	}
	return c.control.Flush()
}
