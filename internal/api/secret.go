package api

import (
	"net/http"

	"recoup/fault"
	"recoup/internal/redact"
)

// secretive reports whether text that a caller has chosen looks like a secret, so
// that it is neither kept nor repeated.
func secretive(text string) bool { return redact.Default().Identifier(text) != nil }

// forgetful drops what requests say of themselves where it looks like a secret:
// it would be logged, and the request's id also sent back.
func forgetful(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, name := range []string{fault.RequestIDHeader, "User-Agent"} {
			if value := r.Header.Get(name); value != "" && secretive(value) {
				r.Header.Del(name)
			}
		}
		next.ServeHTTP(w, r)
	})
}
