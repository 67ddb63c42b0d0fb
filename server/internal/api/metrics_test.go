package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// Metrics are for keys that read, and a key for some hubs sees nothing of another.
func TestMetricsNeedAKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{PerKey: 5}))
	w.report(dol, "CO-1")
	w.report(people, "CO-2")
	w.post("/v1/processed", object{"counts": []object{{"service": "secret-service", "count": 5}}}).ok()
	w.do("", http.MethodGet, "/metrics", nil).failed(http.StatusUnauthorized, fault.CodeInvalidAPIKey)
	w.do("ingest", http.MethodGet, "/metrics", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	w.do("worker", http.MethodGet, "/metrics", nil).failed(http.StatusForbidden, fault.CodeInsufficientPermissions)
	for _, key := range []string{"reader", "operator", "admin"} {
		got := w.do(key, http.MethodGet, "/metrics", nil).ok()
		if text := got.Body.String(); !strings.Contains(text, `table="people.people_errors"`) || !strings.Contains(text, "go_goroutines") {
			t.Errorf("%s is shown %.300s", key, text)
		}
		if media := got.Header().Get("Content-Type"); media != "text/plain; version=0.0.4; charset=utf-8" {
			t.Errorf("the media type is %s", media)
		}
	}
	text := w.do("reader"+onlyDOL, http.MethodGet, "/metrics", nil).ok().Body.String()
	for _, want := range []string{`recoup_errors{state="RETRY_PENDING",table="outreach.dol_errors"} 1`, "recoup_http_requests_total", "process_open_fds"} {
		if !strings.Contains(text, want) {
			t.Errorf("a key for a hub is not shown %s", want)
		}
	}
	for _, other := range []string{"people", peopleHub, "secret-service", "provider=", "pipeline=", "recoup_gate_zero", "recoup_alerts"} {
		if strings.Contains(text, other) {
			_, after, _ := strings.Cut(text, other)
			t.Errorf("a key for one hub is shown %s: …%.100s", other, after)
		}
	}
	for range 10 { // they are shed like the rest
		w.do("reader", http.MethodGet, "/metrics", nil)
	}
	w.do("reader", http.MethodGet, "/metrics", nil).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
}

// Metrics that have an address of their own are not shown with the API.
func TestMetricsElsewhere(t *testing.T) {
	t.Parallel()
	w := newWorld(t, func(_ *world, o *app.Options) { o.MetricsListen = "127.0.0.1:0" })
	w.do("admin", http.MethodGet, "/metrics", nil).failed(http.StatusNotFound, fault.CodeNotFound)
}
