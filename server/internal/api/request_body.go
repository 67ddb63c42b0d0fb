package api

import (
	"encoding/hex"
	"errors"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// readBody reads the body, as far as the route takes it, the key has room for it
// and it comes in time.
func (c *call) readBody(v *visit) error {
	if c.r.Body == nil || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		c.readForever()
		return nil
	}
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.CodeUnsupportedContentType, "The body must not be compressed.")
	}
	body, err := c.receive(http.MaxBytesReader(c.w, c.r.Body, c.route.maxBody), c.r.ContentLength, v)
	var large *http.MaxBytesError
	var ours *fault.Error
	switch {
	case errors.As(err, &large):
		return fault.New(fault.CodePayloadTooLarge, "The body may have %d bytes.", large.Limit).With("limit", large.Limit)
	case errors.As(err, &ours):
		return err
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.CodeTimeout, "The body took too long to arrive; nothing was done.")
	case err != nil:
		return fault.Wrap(err, fault.CodeRequestCancelled, "The body could not be read to its end; nothing was done.")
	}
	c.body = body
	c.readForever()
	return nil
}

// media returns the body's media type if it is one of those; the first stands
// for a request that names none.
func (c *call) media(allowed ...string) (string, error) {
	header := c.r.Header.Values("Content-Type")
	if len(header) == 0 {
		return allowed[0], nil
	}
	media, params, err := mime.ParseMediaType(header[0])
	charset := params["charset"]
	if err == nil && len(header) == 1 && slices.Contains(allowed, media) && (charset == "" || strings.EqualFold(charset, "utf-8")) {
		return media, nil
	}
	return "", fault.New(fault.CodeUnsupportedContentType, "The body must be %s in UTF-8, and Content-Type must say so.", strings.Join(allowed, " or ")).
		With("supported", allowed)
}

// decode reads the body, in a turn of its key, as one JSON value and nothing else. What is wrong with its
// fields is found, an error is about all of it.
func decode(c *call, s *shape, into any, r *reading) error {
	if _, err := c.media(fault.MediaJSON); err != nil {
		return err
	}
	return turn.Each(c.Context(), 1, func(int) error { return r.read(s, c.body, into) })
}

// plain names a Go type in JSON's words.
func plain(t reflect.Type) string {
	switch t.Kind() {
	case reflect.String:
		return "a string"
	case reflect.Bool:
		return "true or false"
	case reflect.Slice, reflect.Array:
		return "a list"
	case reflect.Struct, reflect.Map:
		return "an object"
	case reflect.Float64:
		return "a number"
	}
	return "a whole number"
}

// ndjson is one value of JSON per line.
const ndjson = "application/x-ndjson"

// eventMedia are the media types of a body that is JSON or NDJSON, which goes by three names.
var eventMedia = []string{fault.MediaJSON, ndjson, "application/ndjson", "application/jsonl"}

// prefers reports whether the caller prefers to be answered in a way that there is,
// and says in the answer that it is.
func (c *call) prefers(way string) bool {
	for _, prefer := range c.r.Header.Values("Prefer") {
		for word := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(word), way) {
				c.ResponseHeader().Set("Preference-Applied", way)
				return true
			}
		}
	}
	return false
}

// trace is the request's trace, as an id.
func (c *call) trace() (id recoup.ID) {
	if ctx, ok := fault.FromContext(c.Context()); ok {
		if b, err := hex.DecodeString(ctx.TraceID); err == nil && len(b) == len(id) {
			return recoup.ID(b)
		}
	}
	return id
}
