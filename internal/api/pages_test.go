package api_test

import (
	"net/http"
	"strings"
	"testing"

	"recoup/fault"
	"recoup/internal/app"
)

// A failure leads to its page: by the server's own URL, else by the host that the
// request was sent to, and never by what is no host.
func TestDocumentationURL(t *testing.T) {
	t.Parallel()
	named := newWorld(t, func(_ *world, o *app.Options) { o.URL = "https://recoup.example.org" })
	plain := newWorld(t)
	for _, row := range []struct {
		w          *world
		host, want string
	}{
		{named, "other.example", "https://recoup.example.org/errors/INVALID_API_KEY"},
		{plain, "node-1:8080", "http://node-1:8080/errors/INVALID_API_KEY"},
		{plain, "[::1]:8080", "http://[::1]:8080/errors/INVALID_API_KEY"},
		{plain, "evil\"><script>", "/errors/INVALID_API_KEY"},
	} {
		r := row.w.request("", http.MethodGet, "/v1/errors", nil)
		r.Host = row.host
		var e fault.Error
		decodeInto(t, row.w.answered(r).Body.Bytes(), &e)
		if e.DocumentationURL != row.want {
			t.Errorf("%s: %s", row.host, e.DocumentationURL)
		}
	}
}

// The page of a code says what it is, how it is retried by whom, what an answer with
// it looks like, what is related, and leads back to the list of all.
func TestCodePages(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for path, wants := range map[string][]string{
		"/errors":                  {`href="errors/EIN_MISMATCH"`, `href="errors/NETWORK_TIMEOUT"`},
		"/errors/EIN_MISMATCH":     {`href="../errors"`, "After 5m, 10m, 15m, within 7d", "&#34;error_code&#34;: &#34;EIN_MISMATCH&#34;"},
		"/errors/network_timeout":  {"5 times: first after 100ms", "After 2s, 4s, 8s, 16s, 32s", "4 times", `href="../errors/EXTERNAL_SERVICE_TIMEOUT"`, "done twice"},
		"/errors/VALIDATION_ERROR": {"Never: correct what is wrong first."},
		"/errors/DOMAIN_NOT_FOUND": {"After 24h, 3d, 7d, then it is exhausted."},
	} {
		got := w.do("", http.MethodGet, path, nil).ok()
		for _, want := range wants {
			if !strings.Contains(got.Body.String(), want) {
				t.Errorf("%s lacks %s: %s", path, want, got.Body)
			}
		}
		if !strings.Contains(got.Header().Get("Content-Security-Policy"), "default-src 'none'") {
			t.Errorf("%s has no policy", path)
		}
	}
	var code struct{ Retryable bool }
	if w.get("/v1/codes/network_timeout").ok(&code); !code.Retryable {
		t.Error("NETWORK_TIMEOUT is not retryable")
	}
	if w.get("/v1/codes/SLOT_CONFLICT").ok(&code); code.Retryable {
		t.Error("SLOT_CONFLICT is retryable without its condition")
	}
}
