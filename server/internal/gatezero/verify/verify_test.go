package verify_test

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/gatezero/verify"
)

const here = "127.0.0.1"

// Spec 004, 6: what each finding is called.
func TestVerify(t *testing.T) {
	t.Parallel()
	names := map[string]string{}
	for _, name := range strings.Fields("imprint named empty trouble busy moved round gone") {
		names[name+".example"] = here
	}
	s := newSite(t, names, func(w http.ResponseWriter, r *http.Request) {
		switch name, _, _ := strings.Cut(r.Host, "."); {
		case name == "imprint" && r.URL.Path == "/impressum":
			fmt.Fprint(w, "<h1>Impressum</h1>")
		case name == "named" && r.URL.Path == "/":
			fmt.Fprint(w, "Welcome to  ACME\nTools")
		case name == "empty":
			fmt.Fprint(w, "under construction")
		case name == "trouble":
			w.WriteHeader(http.StatusBadGateway)
		case name == "busy":
			w.WriteHeader(http.StatusTooManyRequests)
		case name == "moved":
			http.Redirect(w, r, "http://imprint.example/impressum", http.StatusMovedPermanently)
		case name == "round":
			http.Redirect(w, r, r.URL.Path, http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	})
	for domain, want := range map[string]verify.Reason{
		"imprint.example": verify.Passed,
		"named.example":   verify.Passed,
		"moved.example":   verify.Passed,
		"empty.example":   verify.NoImprint,
		"gone.example":    verify.NoImprint,
		"round.example":   verify.NoImprint,
		"trouble.example": verify.APIUnavailable,
		"busy.example":    verify.APIUnavailable,
		"none.example":    verify.NotFound,
		"broken.example":  verify.APIUnavailable,
		"":                verify.NotFound,
	} {
		if got, err := s.verifier.Verify(t.Context(), domain, "Acme Tools"); got != want {
			t.Errorf("%s: %q (%v), want %q", domain, got, err, want)
		}
	}
}

// What does not answer is a TIMEOUT: a name server, a site, the middle of a page.
func TestVerifyTimeouts(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	s := newSite(t, map[string]string{"slow.example": here}, func(http.ResponseWriter, *http.Request) { <-release })
	t.Cleanup(func() { close(release) })
	for _, domain := range []string{"silent.example", "slow.example"} {
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		if got, err := s.verifier.Verify(ctx, domain, "Acme"); got != verify.Timeout {
			t.Errorf("%s: %q (%v)", domain, got, err)
		}
		cancel()
	}
}

// Nobody can make the verifier connect to what is not public: by a name, by a
// redirect, or by a name that means something else the second time.
func TestVerifyForbidden(t *testing.T) {
	t.Parallel()
	var reached atomic.Int32
	target := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { reached.Add(1); fmt.Fprint(w, "imprint") }))
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.2:0") // loopback, and not the one that is permitted
	if err != nil {
		t.Fatal(err)
	}
	_ = target.Listener.Close()
	target.Listener = listener
	target.Start()
	t.Cleanup(target.Close)
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	names := map[string]string{"site.example": here, "inside.example": "10.0.0.7", "other.example": "127.0.0.2", "six.example": "::1", "meta.example": "169.254.169.254"}
	var to atomic.Value
	s := newSite(t, names, func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, to.Load().(string), http.StatusFound)
	})
	for _, address := range []string{"http://127.0.0.2:" + port, "http://[::1]:" + port, "http://other.example:" + port, "http://[::ffff:127.0.0.2]:" + port, "file:///etc/passwd"} {
		to.Store(address)
		if got, err := s.verifier.Verify(t.Context(), "site.example", "Acme"); got == verify.Passed {
			t.Errorf("a redirect to %s: %q (%v)", address, got, err)
		}
	}
	for _, domain := range []string{"inside.example", "other.example", "six.example", "meta.example"} {
		if got, err := s.verifier.Verify(t.Context(), domain, "Acme"); got != verify.NotFound || !errors.Is(err, verify.ErrForbidden) {
			t.Errorf("%s: %q (%v)", domain, got, err)
		}
	}
	if n := reached.Load(); n != 0 {
		t.Errorf("it was reached %d times", n)
	}
	transport := verify.NewTransport(nameServer(t, map[string]string{"site.example": "127.0.0.2"}), nil) // as it is by default
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://site.example:"+port, nil)
	if err != nil {
		t.Fatal(err)
	}
	if answer, err := transport.RoundTrip(r); !errors.Is(err, verify.ErrForbidden) {
		if answer != nil {
			_ = answer.Body.Close()
		}
		t.Errorf("by default loopback is answered with %v", err)
	}
}

// asked counts requests.
type asked struct{ n atomic.Int32 }

func (a *asked) RoundTrip(*http.Request) (*http.Response, error) { a.n.Add(1); return nil, errNoTLS }

// Whatever transport there is, a name that leads nowhere public is not asked for a
// page.
func TestVerifyAsksNoOneInside(t *testing.T) {
	t.Parallel()
	transport := &asked{}
	v, err := verify.New(verify.Options{Resolver: nameServer(t, map[string]string{"inside.example": "10.0.0.7"}), Transport: transport})
	if err != nil {
		t.Fatal(err)
	}
	if got, err := v.Verify(t.Context(), "inside.example", "Acme"); got != verify.NotFound || !errors.Is(err, verify.ErrForbidden) || transport.n.Load() != 0 {
		t.Errorf("%q (%v) after %d requests", got, err, transport.n.Load())
	}
}

// A page of any length costs little.
func TestVerifyBounded(t *testing.T) {
	t.Parallel()
	var sent atomic.Int64
	s := newSite(t, map[string]string{"long.example": here}, func(w http.ResponseWriter, r *http.Request) {
		line := []byte(strings.Repeat("nothing to see ", 64))
		for range 100_000 {
			n, err := w.Write(line)
			sent.Add(int64(n))
			if err != nil || r.Context().Err() != nil {
				return
			}
		}
		fmt.Fprint(w, "imprint")
	})
	if got, err := s.verifier.Verify(t.Context(), "long.example", "Acme"); got != verify.NoImprint {
		t.Errorf("got %q (%v)", got, err)
	}
	if n := sent.Load(); n > 64<<20 {
		t.Errorf("%d bytes were sent", n)
	}
}

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	if _, err := verify.New(verify.Options{}); err == nil {
		t.Error("a verifier without a resolver was made")
	}
}
