package api

import (
	"crypto/sha256"
	"encoding/hex"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// receiptLife is how long a repeated request is recognised.
const receiptLife = 24 * time.Hour

// idempotency is the key under which a request is carried out once, and what distinguishes
// it from another request under the same key.
type idempotency struct {
	scope string // the API key: others may choose the same
	key   string
	hash  [32]byte
}

// receipt returns what makes the i-th item of the request harmless to repeat, if
// the request has an idempotency key.
func (c *call) receipt(i int) (*store.Receipt, error) {
	id, err := c.idempotency()
	if id == nil || err != nil {
		return nil, err
	}
	return &store.Receipt{Scope: id.scope, Key: id.item(i), Hash: id.hash, ExpiresAt: c.now.Add(receiptLife)}, nil
}

// item is the key of the i-th item.
func (id *idempotency) item(i int) string { return id.key + "/" + strconv.Itoa(i) }

// idempotency reads the request's key, once; nil: it has none. The key is hashed:
// it is a caller's text, and may be anything.
func (c *call) idempotency() (*idempotency, error) {
	values := c.r.Header.Values("Idempotency-Key")
	if c.once != nil || len(values) == 0 {
		return c.once, nil
	}
	text := values[0]
	if len(values) > 1 || text == "" || len(text) > 200 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r > '~' }) {
		return nil, fault.BadField("Idempotency-Key", "format", "Idempotency-Key must be one, of 1 to 200 printable ASCII characters")
	}
	sum := sha256.Sum256([]byte(text))
	c.once = &idempotency{scope: "open", key: hex.EncodeToString(sum[:16])}
	if c.key != nil {
		c.once.scope = c.key.ID.String()
	}
	h := sha256.New()
	_, _ = io.WriteString(h, c.r.Method+" "+c.r.URL.Path+"\n") // a hash takes whatever it is given
	_, _ = h.Write(c.body)
	h.Sum(c.once.hash[:0])
	return c.once, nil
}
