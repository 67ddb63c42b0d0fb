package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"recoup/fault"
	"recoup/internal/app"
)

func proxies(list ...string) option {
	return func(_ *world, o *app.Options) {
		for _, p := range list {
			o.Proxies = append(o.Proxies, netip.MustParsePrefix(p))
		}
	}
}

// from sends a request without a key that comes by a connection of that address.
func (w *world) from(address string, headers ...string) (fault.Error, int) {
	w.Helper()
	r := w.request("", http.MethodGet, "/v1/errors", nil)
	r.RemoteAddr, r.Host = address, "node-1:8080"
	for i := 0; i < len(headers); i += 2 {
		r.Header.Add(headers[i], headers[i+1])
	}
	var e fault.Error
	a := w.answered(r)
	decodeInto(w.T, a.Body.Bytes(), &e)
	return e, a.Code
}

// Spec 001, documentation_url: only a named proxy says where the server is found,
// and only if it names one host and one scheme.
func TestForwardedOrigin(t *testing.T) {
	t.Parallel()
	const page, host, proto = "/errors/INVALID_API_KEY", "X-Forwarded-Host", "X-Forwarded-Proto"
	w := newWorld(t, proxies("10.0.0.0/24", "2001:db8::7/128"))
	for _, row := range []struct {
		peer    string
		headers []string
		want    string
	}{
		{"10.0.0.9:4711", []string{host, "recoup.example.org", proto, "https"}, "https://recoup.example.org"},
		{"[2001:db8::7]:4711", []string{host, "recoup.example.org:8443", proto, "HTTPS"}, "https://recoup.example.org:8443"},
		{"[::ffff:10.0.0.9]:4711", []string{proto, "https"}, "https://node-1:8080"},
		{"10.0.0.9:4711", nil, "http://node-1:8080"},
		{"10.0.1.9:4711", []string{host, "evil.example", proto, "https"}, "http://node-1:8080"}, // a stranger
		{"127.0.0.1:4711", []string{host, "evil.example", proto, "https"}, "http://node-1:8080"},
		{"@", []string{host, "evil.example"}, "http://node-1:8080"},
		{"10.0.0.9:4711", []string{host, "evil.example, recoup.example.org"}, ""},
		{"10.0.0.9:4711", []string{host, "evil.example", host, "recoup.example.org"}, ""},
		{"10.0.0.9:4711", []string{host, `evil"><script>`}, ""},
		{"10.0.0.9:4711", []string{host, "evil.example/path"}, ""},
		{"10.0.0.9:4711", []string{host, "ada@evil.example"}, ""},
		{"10.0.0.9:4711", []string{host, ""}, ""},
		{"10.0.0.9:4711", []string{proto, "javascript"}, ""},
		{"10.0.0.9:4711", []string{proto, "https,http"}, ""},
	} {
		if e, _ := w.from(row.peer, row.headers...); e.DocumentationURL != row.want+page {
			t.Errorf("%s %q: %s, want %s", row.peer, row.headers, e.DocumentationURL, row.want+page)
		}
	}
	own := newWorld(t, proxies("10.0.0.0/24"), func(_ *world, o *app.Options) { o.URL = "https://recoup.example.org" })
	if e, _ := own.from("10.0.0.9:4711", host, "other.example"); e.DocumentationURL != "https://recoup.example.org"+page {
		t.Errorf("its own URL gives way: %s", e.DocumentationURL)
	}
}

// The log names the client, not the proxies that were named; what a client says of
// itself is believed of nobody else.
func TestForwardedClientIsLogged(t *testing.T) {
	t.Parallel()
	const way = "X-Forwarded-For"
	var j journal
	w := newWorld(t, proxies("10.0.0.0/24", "fd00::/64"), logged(&j))
	for _, row := range []struct {
		peer    string
		headers []string
		want    string
	}{
		{"203.0.113.5:1", nil, "203.0.113.5"},
		{"203.0.113.5:1", []string{way, "198.51.100.1"}, "203.0.113.5"}, // a stranger
		{"10.0.0.9:1", []string{way, "198.51.100.1"}, "198.51.100.1"},
		{"10.0.0.9:1", []string{way, "192.0.2.66, 198.51.100.1"}, "198.51.100.1"}, // the first is made up
		{"10.0.0.9:1", []string{way, "192.0.2.66", way, "198.51.100.1, 10.0.0.8"}, "198.51.100.1"},
		{"[fd00::1]:1", []string{way, "2001:db8::1, 10.0.0.8"}, "2001:db8::1"},
		{"10.0.0.9:1", []string{way, "198.51.100.1:5060"}, "198.51.100.1"},
		{"10.0.0.9:1", []string{way, "198.51.100.1, \x01level=ERROR"}, "10.0.0.9"},
		{"10.0.0.9:1", []string{way, "unknown"}, "10.0.0.9"},
		{"10.0.0.9:1", nil, "10.0.0.9"},
	} {
		w.wait(11 * time.Second) // or it would be counted only
		w.from(row.peer, row.headers...)
		if got := strings.Join(j.lines(), "\n"); !strings.Contains(got, " client="+row.want+"\n") && !strings.HasSuffix(got, " client="+row.want) {
			t.Errorf("%s %q: want client=%s in\n%s", row.peer, row.headers, row.want, got)
		}
	}
}
