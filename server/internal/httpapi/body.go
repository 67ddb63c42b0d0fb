package httpapi

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io"
	"mime"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// readBody reads the body, as far as the route takes it, the key has room for it
// and it comes in time.
func (c *Call) readBody(v *visit) error {
	if c.Request.Body == nil || c.Request.Method == http.MethodGet || c.Request.Method == http.MethodHead {
		c.readForever()
		return nil
	}
	if coding := c.Request.Header.Get("Content-Encoding"); coding != "" && !strings.EqualFold(coding, "identity") {
		return fault.New(fault.CodeUnsupportedContentType, "The body must not be compressed.")
	}
	body, err := c.receive(http.MaxBytesReader(c.w, c.Request.Body, c.route.maxBody), c.Request.ContentLength, v)
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
	c.Body = body
	c.readForever()
	return nil
}

// Media returns the body's media type if it is one of those; the first stands
// for a request that names none.
func (c *Call) Media(allowed ...string) (string, error) {
	header := c.Request.Header.Values("Content-Type")
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

// Decode reads the body, in a turn of its key, as one JSON value and nothing else. What is wrong with its
// fields is found, an error is about all of it.
func Decode(c *Call, s *Shape, into any, r *Reading) error {
	if _, err := c.Media(fault.MediaJSON); err != nil {
		return err
	}
	return turn.Each(c.Context(), 1, func(int) error { return r.read(s, c.Body, into) })
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

// MediaNDJSON is the media type of NDJSON: one JSON value per line.
const MediaNDJSON = "application/x-ndjson"

// MediaLines lists the media types of a body that is JSON or NDJSON. NDJSON has three names.
var MediaLines = []string{fault.MediaJSON, MediaNDJSON, "application/ndjson", "application/jsonl"}

// Prefers reports whether the header Prefer of the request asks for a kind of answer. If it
// does, the answer says that the preference is applied.
func (c *Call) Prefers(way string) bool {
	for _, prefer := range c.Request.Header.Values("Prefer") {
		for word := range strings.SplitSeq(prefer, ",") {
			if strings.EqualFold(strings.TrimSpace(word), way) {
				c.ResponseHeader().Set("Preference-Applied", way)
				return true
			}
		}
	}
	return false
}

// TraceID returns the trace of the request as an id; zero: it has none.
func (c *Call) TraceID() (id recoup.ID) {
	if ctx, ok := fault.FromContext(c.Context()); ok {
		if b, err := hex.DecodeString(ctx.TraceID); err == nil && len(b) == len(id) {
			return recoup.ID(b)
		}
	}
	return id
}

// receiptLife is how long a repeated request is recognised.
const receiptLife = 24 * time.Hour

// idempotency is the key under which a request is carried out once, and what distinguishes
// it from another request under the same key.
type idempotency struct {
	scope string // the API key: others may choose the same
	key   string
	hash  [32]byte
}

// Receipt returns the receipt under which the i-th item of the request is carried out once;
// nil: the request has no idempotency key.
func (c *Call) Receipt(i int) (*store.Receipt, error) {
	id, err := c.idempotency()
	if id == nil || err != nil {
		return nil, err
	}
	return &store.Receipt{Scope: id.scope, Key: id.item(i), Hash: id.hash, ExpiresAt: c.Now.Add(receiptLife)}, nil
}

// item is the key of the i-th item.
func (id *idempotency) item(i int) string { return id.key + "/" + strconv.Itoa(i) }

// idempotency reads the request's key, once; nil: it has none. The key is hashed:
// it is a caller's text, and may be anything.
func (c *Call) idempotency() (*idempotency, error) {
	values := c.Request.Header.Values("Idempotency-Key")
	if c.once != nil || len(values) == 0 {
		return c.once, nil
	}
	text := values[0]
	if len(values) > 1 || text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fault.BadField("Idempotency-Key", "format", "Idempotency-Key must be one, of 1 to 200 printable ASCII characters")
	}
	sum := sha256.Sum256([]byte(text))
	c.once = &idempotency{scope: "open", key: hex.EncodeToString(sum[:16])}
	if c.Key != nil {
		c.once.scope = c.Key.ID.String()
	}
	h := sha256.New()
	_, _ = io.WriteString(h, c.Request.Method+" "+c.Request.URL.Path+"\n") // a hash takes whatever it is given
	_, _ = h.Write(c.Body)
	h.Sum(c.once.hash[:0])
	return c.once, nil
}
