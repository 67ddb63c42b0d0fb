package endtoend

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// elsewhere are values of ?to= that must lead to the console's first page.
func elsewhere() []string {
	return []string{
		" //evil.example", "\t//evil.example", "\n//evil.example", "\r\n//evil.example", "\x00//evil.example", "\x01//evil.example", "\u00a0//evil.example", "\u2028//evil.example",
		"//evil.example", "///evil.example", "////evil.example", "/evil", "/v1/errors", "/console/../..//evil.example", "/console/%2e%2e//evil.example",
		`\\evil.example`, `/\evil.example`, `\/evil.example`, `\evil`, `errors\..\..\evil`, `\t//evil.example`,
		"/%2f/evil.example", "%2f%2fevil.example", "%2F/evil.example", "%5c%5cevil.example", "%09//evil.example", "%0a//evil.example", "%00",
		"https://evil.example", "https:evil.example", "https:/evil.example", "HTTPS:evil.example", "h\tttps://evil.example", "http:\n//evil.example",
		"javascript:alert(1)", "JaVaScRiPt:alert(1)", "java\tscript:alert(1)", " javascript:alert(1)", "data:text/html,x", "blob:x", "vbscript:x", "mailto:eve@evil.example",
		"x:y", "../v1/errors", "errors/../../x", "%2e%2e/v1/errors", ".%2e/v1/errors", "errors/%2e%2e/%2e%2e/x", "./../x", "..", "errors//evil.example", "user@evil.example:80//x",
		"errors\r\nSet-Cookie: a=b", "errors\nLocation: https://evil.example", "errors\t", "errors#x", "%zz", "?\x7f", "errors?a=\\", strings.Repeat("a/", 2000),
	}
}

// TestSignInLeadsNowhereElse proves against the built binary, with the URL parser of a real
// browser, that no value of ?to= leads a sign-in out of the console.
func TestSignInLeadsNowhereElse(t *testing.T) {
	t.Parallel()
	s := newSite(t, live.SQLite(t))
	s.start()
	base := "http://" + *s.address.Load() + "/console/"
	want := map[string]string{
		"": base, "errors?state=PARKED": base + "errors?state=PARKED", "errors/1": base + "errors/1", "gate-zero/batches/a%2Fb": base + "gate-zero/batches/a%2Fb", "?done=x": base + "?done=x",
	}
	for _, to := range elsewhere() {
		want[to] = base
	}
	locations := map[string]string{}
	for to := range want {
		locations[to] = s.signedInTo(base, to)
	}
	b := openBrowser(t, base)
	b.open("sign-in")
	names, err := json.Marshal(locations)
	if err != nil {
		t.Fatal(err)
	}
	script := fmt.Sprintf("Object.fromEntries(Object.entries(%s).map(([to, l]) => [to, new URL(l, %q).href]))", names, base+"sign-in")
	resolved := eval[map[string]string](b, script)
	for to, at := range want {
		if resolved[to] != at {
			t.Errorf("to=%.80q answers Location: %.80q, which leads to %.80s, want %.80s", to, locations[to], resolved[to], at)
		}
	}
}

// signedInTo signs in with a value of ?to= and returns the Location of the answer.
func (s *site) signedInTo(base, to string) string {
	s.Helper()
	form := url.Values{"key": {s.key()}, "to": {to}}
	r, err := http.NewRequestWithContext(s.Context(), http.MethodPost, base+"sign-in", strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Header.Set("Sec-Fetch-Site", "same-origin")
	answer, err := http.DefaultTransport.RoundTrip(r)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	location := answer.Header.Values("Location")
	if answer.StatusCode != http.StatusSeeOther || len(location) != 1 || answer.Header.Get("Set-Cookie") == "" {
		s.Fatalf("to=%q is answered %d %v", to, answer.StatusCode, answer.Header)
	}
	return location[0]
}
