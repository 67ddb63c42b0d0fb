package console_test

import (
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestSignIn proves that nothing is seen without a key, that a key opens the page that was
// asked for, and that signing out closes all of it, also to who has kept the cookie.
func TestSignIn(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v := visit(t, n)
	asked := v.get("errors/" + parked.Error.ID.String())
	if !strings.HasPrefix(asked.path, "sign-in?to=errors") {
		t.Fatalf("without a session one gets to %s", asked.path)
	}
	for _, bad := range []string{"", "rk_nonsense", n.Key + "x"} {
		if p := v.signIn(bad); p.status < 400 || p.status >= 500 || !strings.Contains(p.body, `role="alert"`) {
			t.Errorf("the key %q is answered with %d", bad, p.status)
		}
	}
	in := v.do(v.request(http.MethodPost, "sign-in", url.Values{"key": {n.Key}, "to": {"errors/" + parked.Error.ID.String()}}))
	in.has(t, "VALIDATION_ERROR", "CO-1", "cannot go on")
	cookies := v.http.Jar.Cookies(in.url(t, v))
	out := v.send(in, "sign-out", url.Values{})
	if !strings.HasPrefix(out.path, "sign-in") {
		t.Errorf("signing out leads to %s", out.path)
	}
	v.http.Jar.SetCookies(in.url(t, v), cookies) // kept by somebody
	if p := v.get("errors"); !strings.HasPrefix(p.path, "sign-in") {
		t.Errorf("the cookie of a session that was ended opens %s", p.path)
	}
}

func (p page) url(t *testing.T, v *visitor) *url.URL {
	t.Helper()
	u, err := url.Parse(v.base)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestSessionCookie proves that the cookie is for this server alone, is out of reach of
// scripts, and is a new one with every sign-in: none that somebody has planted gets rights.
func TestSessionCookie(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	planted := &http.Cookie{Name: "recoup_session", Value: "planted"}
	seen := map[string]bool{planted.Value: true}
	for range 2 {
		r := v.request(http.MethodPost, "sign-in", url.Values{"key": {n.Key}})
		r.AddCookie(planted)
		cookie := v.do(r).header.Get("Set-Cookie")
		for _, want := range []string{"HttpOnly", "SameSite=Strict"} {
			if !strings.Contains(cookie, want) {
				t.Errorf("the cookie %q lacks %s", cookie, want)
			}
		}
		value, _, _ := strings.Cut(strings.TrimPrefix(cookie, "recoup_session="), ";")
		if seen[value] || len(value) < 40 || strings.Contains(cookie, n.Key) {
			t.Errorf("the cookie %q is not a new secret", cookie)
		}
		seen[value] = true
	}
	r := v.request(http.MethodGet, "errors", nil)
	r.AddCookie(planted)
	if p := v.do(r); p.status != http.StatusSeeOther {
		t.Errorf("a planted cookie is answered with %d", p.status)
	}
}

// TestRevokedKey proves that a session ends with its key.
func TestRevokedKey(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	made, err := admin.New(n.Client()).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
	if err != nil {
		t.Fatal(err)
	}
	v := visit(t, n)
	v.signIn(made.Secret).has(t, "ada · operator")
	if _, err := admin.New(n.Client()).Keys.Revoke(t.Context(), made.ID, "she left"); err != nil {
		t.Fatal(err)
	}
	if p := v.get("errors"); !strings.HasPrefix(p.path, "sign-in") {
		t.Errorf("with a revoked key one gets to %s (%d)", p.path, p.status)
	}
}

// TestForgery proves that no form of another page is taken: without the session's token,
// with another session's, or from another origin.
func TestForgery(t *testing.T) {
	t.Parallel()
	n, parked := start(t)
	v, other := visit(t, n), visit(t, n)
	mine, theirs := v.signIn(n.Key), other.signIn(n.Key)
	path := "errors/" + parked.Error.ID.String() + "/resolve"
	form := url.Values{"reason": {"forged"}}
	if p := v.do(v.request(http.MethodPost, path, form)); p.status != http.StatusForbidden {
		t.Errorf("without a token: %d", p.status)
	}
	if p := v.send(theirs, path, form); p.status != http.StatusForbidden {
		t.Errorf("with the token of another session: %d", p.status)
	}
	form.Set("csrf", mine.token())
	for header, value := range map[string]string{"Sec-Fetch-Site": "cross-site", "Origin": "https://evil.example"} {
		r := v.request(http.MethodPost, path, form)
		r.Header.Del("Sec-Fetch-Site")
		r.Header.Set(header, value)
		if p := v.do(r); p.status != http.StatusForbidden {
			t.Errorf("with %s: %s it is answered with %d", header, value, p.status)
		}
	}
	e, err := n.Client().Errors.Get(t.Context(), parked.Error.ID)
	if err != nil || e.State != "PARKED" {
		t.Errorf("the error is %s: %v", e.State, err)
	}
	if p := v.send(mine, path, url.Values{"reason": {"corrected"}}); p.status != http.StatusOK {
		t.Errorf("one's own form: %d", p.status)
	}
}

// TestDestination proves that a sign-in leads to pages of the console only.
func TestDestination(t *testing.T) {
	t.Parallel()
	for to, want := range map[string]string{
		"": "", "errors?state=PARKED": "errors?state=PARKED", "errors/1": "errors/1", "gate-zero/batches/a%2Fb": "gate-zero/batches/a%2Fb", "?done=x": "?done=x",
		" //evil.example": "", "//evil.example": "", "https://evil.example": "", "/v1/errors": "", "javascript:alert(1)": "", "../v1/errors": "", "%2e%2e/v1/errors": "",
		`\\evil.example`: "", "errors\r\nSet-Cookie: x": "", "x:y": "", "errors/../../x": "", "errors//x": "", "errors/": "", "%zz": "",
	} {
		if got := console.Destination(to); got != want {
			t.Errorf("to=%q leads to %q, want %q", to, got, want)
		}
	}
}

// TestHeaders proves what browsers are told about every page, also the one for strangers.
func TestHeaders(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	for _, p := range []page{v.get("sign-in"), v.signIn(n.Key), v.get("errors"), v.get("nowhere")} {
		policy := p.header.Get("Content-Security-Policy")
		if strings.Contains(policy, "unsafe") || strings.Contains(policy, "http") || !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, "frame-ancestors 'none'") {
			t.Errorf("%s has the policy %q", p.path, policy)
		}
		if p.header.Get("X-Frame-Options") != "DENY" || p.header.Get("X-Content-Type-Options") != "nosniff" || p.header.Get("Cache-Control") != "no-store" {
			t.Errorf("%s has the headers %v", p.path, p.header)
		}
	}
}

// TestRoot proves that a browser that is sent to the server finds the console, wherever a
// proxy has put it.
func TestRoot(t *testing.T) {
	t.Parallel()
	n, _ := start(t)
	v := visit(t, n)
	v.base = n.URL + "/"
	if p := v.get(""); !strings.HasPrefix(p.path, "sign-in") {
		t.Errorf("/ leads to %s", p.path)
	}
}
