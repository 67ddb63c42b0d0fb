package endtoend

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestBehindAProxy sends a call through a reverse proxy to a node: links lead to where
// the caller found it and the log names the caller, if the node was told whose
// X-Forwarded headers to believe (spec 001, documentation_url). Otherwise whatever a
// client makes up changes nothing.
func TestBehindAProxy(t *testing.T) {
	t.Parallel()
	for name, row := range map[string]struct {
		flags, env   []string
		link, client string
	}{
		"named by a flag":     {[]string{"--trusted-proxy", "127.0.0.1"}, nil, "https://recoup.example.org/errors/INVALID_API_KEY", "198.51.100.7"},
		"named by a variable": {nil, []string{"RECOUP_TRUSTED_PROXY=10.0.0.0/8, 127.0.0.0/8"}, "https://recoup.example.org/errors/INVALID_API_KEY", "198.51.100.7"},
		"not named":           {nil, nil, "", "127.0.0.1"},
		"another is named":    {[]string{"--trusted-proxy", "10.0.0.0/8"}, nil, "", "127.0.0.1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newSite(t, live.SQLite(t))
			s.flags, s.env = slices.Concat(row.flags, []string{"--log-format", "json"}), row.env
			s.start()
			node := "http://" + *s.address.Load()
			link := failThrough(t, node)
			if row.link == "" {
				row.link = node + "/errors/INVALID_API_KEY"
			}
			if link != row.link {
				t.Errorf("it leads to %s, want %s", link, row.link)
			}
			if err := s.signal(syscall.SIGTERM); err != nil { // so that all that is logged has been written
				t.Error(err)
			}
			if !strings.Contains(s.log.String(), `"code":"INVALID_API_KEY","count":1,"endpoint":"GET /v1/errors","client":"`+row.client+`"`) {
				t.Errorf("%s is not logged as the client:\n%s", row.client, s.log)
			}
		})
	}
}

// failThrough asks a node for errors through a proxy, without a key, as a client that
// says it is somebody else. It returns where the answer leads.
func failThrough(t *testing.T, node string) string {
	t.Helper()
	to, err := url.Parse(node)
	if err != nil {
		t.Fatal(err)
	}
	proxy := httptest.NewServer(&httputil.ReverseProxy{Rewrite: func(r *httputil.ProxyRequest) {
		r.SetURL(to)
		r.Out.Header["X-Forwarded-For"] = slices.Concat(r.In.Header["X-Forwarded-For"], []string{"198.51.100.7"})
		r.Out.Header.Set("X-Forwarded-Host", "recoup.example.org")
		r.Out.Header.Set("X-Forwarded-Proto", "https")
	}})
	defer proxy.Close()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, proxy.URL+"/v1/errors", nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("X-Forwarded-For", "192.0.2.66")
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	var failure struct {
		URL string `json:"documentation_url"`
	}
	if err := json.NewDecoder(answer.Body).Decode(&failure); err != nil {
		t.Fatal(err)
	}
	return failure.URL
}

// A node is not started with proxies that cannot be meant.
func TestProxiesThatAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	for given, want := range map[string]string{
		"nginx":                `"nginx" is neither an address nor a network`,
		"10.0.0.0/24,":         `"" is neither an address nor a network`,
		"10.0.0.0/33":          `"10.0.0.0/33" is neither an address nor a network`,
		"127.0.0.1,0.0.0.0/0":  "0.0.0.0/0 holds every address",
		"::/0":                 "::/0 holds every address",
		"::ffff:10.0.0.0/120":  "::ffff:10.0.0.0/120 is an address of IPv4",
		"fe80::1%eth0":         `"fe80::1%eth0" is neither an address nor a network`,
		"10.0.0.1 10.0.0.2/32": "neither an address nor a network",
	} {
		s.flags = []string{"--trusted-proxy", given}
		if said := s.refuses(); !strings.Contains(said, want) {
			t.Errorf("%s: %s", given, said)
		}
	}
}
