package api_test

import (
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
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
		{"10.0.0.9:1", []string{way, "[2001:db8::2]:5060"}, "2001:db8::2"},
		{"10.0.0.9:1", []string{way, "[2001:db8::3]"}, "2001:db8::3"},
		{"10.0.0.9:1", []string{way, "::ffff:198.51.100.2"}, "198.51.100.2"},
		{"10.0.0.9:1", []string{way, "198.51.100.1, \x01level=ERROR"}, "10.0.0.9"},
		{"10.0.0.9:1", []string{way, "unknown"}, "10.0.0.9"},
		{"10.0.0.9:1", nil, "10.0.0.9"},
	} {
		w.wait(11 * time.Second) // or it would be counted only
		w.from(row.peer, row.headers...)
		if got := strings.Join(j.lines(), "\n"); !strings.Contains(got, " client="+row.want+" ") {
			t.Errorf("%s %q: want client=%s in\n%s", row.peer, row.headers, row.want, got)
		}
	}
}

// An address that sends requests without a valid key is turned away above its rate;
// others are not, nor is whoever has a key, even at the same address.
func TestRateLimitWithoutKey(t *testing.T) {
	t.Parallel()
	const way = "X-Forwarded-For"
	w := newWorld(t, proxies("10.0.0.0/24"), limits(httpapi.Limits{Unkeyed: 5, HoldBack: 1}))
	keyed := func() *http.Request {
		r := w.request("reader", http.MethodGet, "/v1/policy", nil)
		r.RemoteAddr = "203.0.113.5:1"
		return r
	}
	w.send(keyed()).ok() // the key has been seen
	spend := func(want int, address string, headers ...string) {
		t.Helper()
		n := 0
		for ; n < 20; n++ {
			if e, status := w.from(address, headers...); status == http.StatusTooManyRequests {
				if e.Code != fault.CodeRateLimitExceeded || e.RetryAfter != time.Second || e.Details["limit"] != 5.0 {
					t.Errorf("%s: %+v", address, e)
				}
				break
			}
		}
		if n != want {
			t.Errorf("%s was turned away after %d requests, want %d", address, n, want)
		}
	}
	spend(9, "203.0.113.5:1") // a key that was not known yet has cost one
	spend(0, "203.0.113.5:2", way, "192.0.2.1")
	w.send(keyed()).ok()
	spend(10, "203.0.113.6:1")
	spend(10, "10.0.0.9:1", way, "198.51.100.1")
	spend(10, "10.0.0.9:1", way, "198.51.100.2")
	spend(10, "[2001:db8:0:1::1]:1")
	spend(0, "[2001:db8:0:1:ffff::2]:1") // of the same network
	spend(10, "[2001:db8:0:2::1]:1")
	for _, name := range []string{expired, revoked} {
		r := w.request(name, http.MethodGet, "/v1/policy", nil)
		r.RemoteAddr = "203.0.113.6:1"
		w.send(r).failed(http.StatusTooManyRequests, fault.CodeRateLimitExceeded)
	}
	w.wait(time.Second)
	spend(5, "203.0.113.5:1")
}
