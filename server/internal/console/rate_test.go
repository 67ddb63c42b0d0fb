package console_test

import (
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// refusedCalls reads from the metrics how many calls of an endpoint were refused for their rate.
func refusedCalls(t *testing.T, n *live.Node, endpoint string) (refused int) {
	t.Helper()
	series := fmt.Sprintf("recoup_http_requests_total{code=\"RATE_LIMIT_EXCEEDED\",endpoint=%q,status=\"429\"} ", endpoint)
	_, after, _ := strings.Cut(n.Call(http.MethodGet, "/metrics", ""), series)
	_, _ = fmt.Sscan(after, &refused) // none: the series is not there
	return refused
}

// TestPagesAreNotRetried proves that a page whose key is over its rate says so after one call
// of the API, with Retry-After: nothing is retried in the server. The clock stands still, so
// that the key stays over its rate.
func TestPagesAreNotRetried(t *testing.T) {
	t.Parallel()
	clock := time.Now
	at := clock().UTC()
	n := live.Start(t, app.Options{Limits: httpapi.Limits{PerKey: 4}, Now: func() time.Time { return at }})
	made, err := admin.New(n.Client()).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, n)
	first := v.signIn(made.Secret) // leads to the first page, whose parts are more than the key may ask for
	first.has(t, "ada · operator", "Parts of this page are missing, so lists can look empty.", "The key has sent more than 4 requests in a second.", "Some figures are missing")
	if first.status != http.StatusOK || first.header.Get("Retry-After") != "1" {
		t.Errorf("the page without some parts has the status %d and Retry-After %q", first.status, first.header.Get("Retry-After"))
	}
	for i, ask := range []func() page{
		func() page { return v.get("errors?state=PARKED") },
		func() page { return v.send(first, "errors/act", url.Values{"verb": {"resolve"}, "token": {"x"}}) },
		func() page { return v.send(first, "views", url.Values{"name": {"x"}}) },
		func() page { return v.get("admin") },
	} {
		p := ask()
		p.has(t, "Too many requests", "The key has sent more than 4 requests in a second.", "Try again in 1 s.")
		if p.status != http.StatusTooManyRequests || p.header.Get("Retry-After") != "1" {
			t.Errorf("page %d has the status %d and Retry-After %q", i, p.status, p.header.Get("Retry-After"))
		}
		if refused := refusedCalls(t, n, "GET /v1/keys/self"); refused != i+1 {
			t.Errorf("page %d: the API has refused %d calls, want %d", i, refused, i+1)
		}
	}
	v.get("errors").has(t, `href="errors">Try again`)
	if out := v.send(first, "sign-out", url.Values{}); !strings.HasPrefix(out.path, "sign-in") {
		t.Errorf("signing out leads to %s (%d)", out.path, out.status)
	}
	again := v.signIn(made.Secret)
	again.has(t, "The key has sent more than 4 requests in a second.")
	if again.status != http.StatusTooManyRequests || again.header.Get("Retry-After") != "1" {
		t.Errorf("a sign-in has the status %d and Retry-After %q", again.status, again.header.Get("Retry-After"))
	}
}
