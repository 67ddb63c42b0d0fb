package fault

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"
)

// maxUserAgent bounds what is kept of a client's description of itself.
const maxUserAgent = 256

// Context is what is known about a request (spec 001, Error Context
// Enrichment).
type Context struct {
	RequestID  string    `json:"request_id"`
	TraceID    string    `json:"trace_id"` // 32 hexadecimal digits; also the correlation id of its events
	UserAgent  string    `json:"user_agent,omitempty"`
	APIVersion string    `json:"api_version,omitempty"`
	Endpoint   string    `json:"endpoint,omitempty"` // the pattern that matched, never the raw path
	Timestamp  time.Time `json:"timestamp"`
	ServerID   string    `json:"server_id,omitempty"`
	Client     string    `json:"client,omitempty"` // its address
	Annotations
}

// Annotations are the part of a [Context] that only handlers know.
type Annotations struct {
	DatabaseShard   string `json:"database_shard,omitempty"`
	ExternalService string `json:"external_service,omitempty"`
	APIKeyID        string `json:"api_key_id,omitempty"` // always obfuscated
	AccountID       string `json:"account_id,omitempty"`
	RequestSource   string `json:"request_source,omitempty"`
}

// FromContext returns what is known about the request by now. It is false
// outside of the middleware.
func FromContext(ctx context.Context) (Context, bool) {
	c := callFrom(ctx)
	if c == nil {
		return Context{}, false
	}
	return c.snapshot(), true
}

// Annotate lets a handler add what it knows about its request. An API key may be
// passed whole: only its obfuscated form is kept. Outside of the middleware it does
// nothing.
func Annotate(ctx context.Context, f func(*Annotations)) {
	c := callFrom(ctx)
	if c == nil {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	f(&c.info.Annotations)
	c.info.APIKeyID = obfuscate(c.info.APIKeyID)
}

// obfuscate keeps enough of a key to recognise it: its prefix and, if the key is long
// enough, its last four characters.
func obfuscate(key string) string {
	const mark = "…"
	if key == "" || strings.Contains(key, mark) {
		return key
	}
	if len(key) < 20 {
		return mark
	}
	prefix, _, found := strings.Cut(key, "_")
	if !found || len(prefix) > 8 {
		prefix = ""
	} else {
		prefix += "_"
	}
	return prefix + mark + key[len(key)-4:]
}

// truncate cuts s to at most n bytes without splitting a character.
func truncate(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
