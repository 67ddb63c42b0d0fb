package api_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
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

// Pages without a key are rendered once for a version of what they show: who has a page is
// answered 304, one that accepts gzip gets it, and a page that names the server is another one
// at another host. A new code makes them anew.
func TestPagesFromMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	get := func(path string, headers ...string) *answer {
		r := w.request("", http.MethodGet, path, nil, headers...)
		if len(headers) > 0 && headers[0] == "Host" {
			r.Host = headers[1]
		}
		return w.send(r)
	}
	for _, path := range []string{"/docs", "/docs/errors", "/errors", "/errors/TIMEOUT", "/openapi.json"} {
		first := get(path)
		tag := first.Header().Get("Etag")
		if first.Code != http.StatusOK || tag == "" || first.Header().Get("Cache-Control") != "no-cache" {
			t.Fatalf("%s is answered %d with %v", path, first.Code, first.Header())
		}
		if again := get(path, "If-None-Match", tag); again.Code != http.StatusNotModified || again.Body.Len() > 0 {
			t.Errorf("%s again is answered %d with %d bytes", path, again.Code, again.Body.Len())
		}
		get(path, "Accept-Encoding", "gzip")
		if packed := get(path, "Accept-Encoding", "gzip"); packed.Header().Get("Content-Encoding") != "gzip" || packed.Body.Len() > first.Body.Len()/2 {
			t.Errorf("%s has %d bytes, and packed %d with %v", path, first.Body.Len(), packed.Body.Len(), packed.Header())
		}
	}
	if there := get("/docs/errors", "Host", "other.example"); !strings.Contains(there.Body.String(), "http://other.example/v1/") || strings.Contains(there.Body.String(), "server.invalid") {
		t.Error("at another host the page does not name it")
	}
	before := get("/errors").Header().Get("Etag")
	w.do("admin", http.MethodPut, "/v1/codes/CACHED_ONE", ownCode("CACHED_ONE")).ok()
	if after := get("/errors"); after.Header().Get("Etag") == before || !strings.Contains(after.Body.String(), "CACHED_ONE") {
		t.Error("the list of codes is still the old one")
	}
}
