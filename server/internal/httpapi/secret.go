package httpapi

import (
	"net/http"
	"strings"
	"sync/atomic"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
)

// secretive reports whether text that a caller has chosen looks like a secret, so
// that it is neither kept nor repeated.
func secretive(text string) bool { return redact.Default().Identifier(text) != nil }

// maxRequestHeader is how many bytes are kept of what a request says of itself.
const maxRequestHeader = 256

// cutHeader cuts a header that is too long after one of its words.
func cutHeader(h http.Header, name string) {
	value := h.Get(name)
	if len(value) <= maxRequestHeader {
		return
	}
	if end := strings.LastIndexByte(value[:maxRequestHeader], ' '); end > 0 {
		h.Set(name, value[:end])
	} else {
		h.Del(name)
	}
}

// forgetful drops what requests say of themselves where it looks like a secret:
// it would be logged, and the request's id also sent back.
func forgetful(next http.Handler) http.Handler {
	var clean atomic.Pointer[string] // the agent that was looked at last: most requests come from one that has just called
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// Looking for secrets takes time: nothing long is looked at.
		if id := r.Header.Get(fault.RequestIDHeader); len(id) > maxRequestHeader || id != "" && secretive(id) {
			r.Header.Del(fault.RequestIDHeader)
		}
		cutHeader(r.Header, "User-Agent")
		agent, last := r.UserAgent(), clean.Load()
		switch {
		case last != nil && *last == agent:
		case agent != "" && secretive(agent):
			r.Header.Del("User-Agent")
		default:
			seen := agent // its own, so that a request whose agent is known makes none
			clean.Store(&seen)
		}
		next.ServeHTTP(w, r)
	})
}
