package api

import (
	"errors"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"

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
	return turn.Each(c.r.Context(), 1, func(int) error { return r.read(s, c.body, into) })
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
