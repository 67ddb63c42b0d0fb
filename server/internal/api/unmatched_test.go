package api_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// Answers that need no key and no handler have the rate of requests without a key: the redirect
// to the console, 404, 405, and the mux's own redirects.
func TestUnmatchedHasARate(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct{ method, path string }{
		"first page": {http.MethodGet, "/"},
		"not found":  {http.MethodGet, "/nothing"},
		"method":     {http.MethodDelete, "/v1/policy"},
		"not clean":  {http.MethodGet, "/v1//policy"},
		"folder":     {http.MethodGet, "/console"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, limits(httpapi.Limits{Anonymous: 1, HoldBack: time.Nanosecond}))
			if !w.isRefused("", row.method, row.path) {
				t.Error("no request is refused")
			}
		})
	}
}

// isRefused reports whether one of 50 requests in a row is refused for its rate.
func (w *world) isRefused(key, method, path string) bool {
	w.Helper()
	for range 50 {
		recorded := httptest.NewRecorder()
		if w.handler.ServeHTTP(recorded, w.request(key, method, path, nil)); recorded.Code == http.StatusTooManyRequests {
			return true
		}
	}
	return false
}

// A request with a valid key for an address that does not exist takes from the rate of the key,
// and is not refused because requests without a key are.
func TestUnmatchedWithAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{Anonymous: 1, HoldBack: time.Nanosecond, PerKey: 30}))
	if !w.isRefused("", http.MethodGet, "/nothing") {
		t.Fatal("requests without a key are not refused")
	}
	w.do("reader", http.MethodGet, "/nothing", nil).failed(http.StatusNotFound, fault.CodeNotFound)
	w.do("reader", http.MethodDelete, "/v1/policy", nil).failed(http.StatusMethodNotAllowed, fault.CodeMethodNotAllowed)
	for _, key := range []string{"", revoked, expired} {
		w.do(key, http.MethodGet, "/nothing", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	}
	if w.isRefused("reader", http.MethodGet, "/nothing"); !w.isRefused("reader", http.MethodGet, "/nothing") {
		t.Error("the key has no rate at addresses that do not exist")
	}
	w.do("reader", http.MethodGet, "/v1/policy", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
}
