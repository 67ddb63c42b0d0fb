package api

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"unicode/utf8"

	"recoup/fault"
)

// firstRead is how much room is made for a body because a request says that it has
// one of that size. What only says so must not take more.
const firstRead = 1 << 20

// readBody reads the body, as far as the route takes it.
func (c *call) readBody() error {
	if c.r.Body == nil || c.r.Method == http.MethodGet || c.r.Method == http.MethodHead {
		return nil
	}
	if coding := c.r.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.CodeUnsupportedContentType, "The body must not be compressed.")
	}
	body := bytes.NewBuffer(make([]byte, 0, min(max(c.r.ContentLength, 0), firstRead)+bytes.MinRead))
	_, err := body.ReadFrom(http.MaxBytesReader(c.w, c.r.Body, c.route.maxBody))
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &large):
		return fault.New(fault.CodePayloadTooLarge, "The body may have %d bytes.", large.Limit).With("limit", large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		return fault.Wrap(err, fault.CodeTimeout, "The body took too long to arrive; nothing was done.")
	case err != nil:
		return fault.Wrap(err, fault.CodeRequestCancelled, "The body could not be read to its end; nothing was done.")
	}
	c.body = body.Bytes()
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

// decode reads the body as one JSON value and nothing else. It is strict: what
// would be ignored or silently changed is refused.
func decode(c *call, s *shape, into any) error {
	if _, err := c.media(fault.MediaJSON); err != nil {
		return err
	}
	return s.read(c.body, into)
}

// read reads a document as one JSON value of the shape.
func (s *shape) read(document []byte, into any) error {
	switch body := bytes.TrimSpace(document); {
	case len(body) == 0:
		return fault.New(fault.CodeMalformedJSON, "The body is empty: send a JSON object.")
	case string(body) == "null": // which the decoder takes for an empty object
		return fault.Validation(fault.FieldError{Field: "body", Constraint: "type", Message: "must be an object, not null"})
	}
	if err := s.check(document, nil); err != nil {
		return err
	}
	if err := json.Unmarshal(document, into); err != nil {
		return badJSON(err)
	}
	return nil
}

// check refuses what the decoder would swallow or choke on. Those who count what
// they do not know are not refused it.
func (s *shape) check(document []byte, unknown *int) error {
	if !utf8.Valid(document) {
		return fault.New(fault.CodeMalformedJSON, "The body is not valid UTF-8.")
	}
	err := s.examine(document, unknown)
	if !errors.Is(err, errBroken) {
		return err
	}
	if err := json.Unmarshal(document, new(any)); err != nil {
		return badJSON(err) // which says where
	}
	return fault.New(fault.CodeMalformedJSON, "The body is not JSON.")
}

// badJSON puts a decoder's complaint into the contract without repeating values.
func badJSON(err error) error {
	var wrong *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	switch {
	case errors.As(err, &wrong):
		found, _, _ := strings.Cut(wrong.Value, " ") // the rest is a number as it was sent
		field := wrong.Field
		if field == "" {
			field = "body"
		}
		return fault.Validation(fault.FieldError{Field: field, Constraint: "type", Message: fmt.Sprintf("must be %s, not %s", plain(wrong.Type), found)})
	case errors.As(err, &syntax):
		return fault.New(fault.CodeMalformedJSON, "The body is not JSON: it breaks at byte %d.", syntax.Offset)
	}
	return fault.Validation(fault.FieldError{Field: "body", Constraint: "format",
		Message: "one of the values has the wrong form: ids are UUIDs or ULIDs, times look like 2026-02-05T15:04:05Z"})
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
		return "a number that can be stored"
	}
	return "a whole number"
}
