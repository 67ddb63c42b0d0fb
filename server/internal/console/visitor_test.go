package console_test

import (
	"context"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// visitor is a browser without a screen: it keeps cookies, follows redirects, and reads the
// forms of pages.
type visitor struct {
	t    *testing.T
	base string
	http *http.Client
}

func visit(t *testing.T, n *live.Node) *visitor {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &visitor{t, n.URL + "/console/", &http.Client{Jar: jar}}
}

// page is what came of a request.
type page struct {
	status int
	path   string // where the redirects have led
	body   string
	header http.Header
}

func (v *visitor) do(r *http.Request) page {
	v.t.Helper()
	resp, err := v.http.Do(r)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		v.t.Fatal(err)
	}
	return page{resp.StatusCode, strings.TrimPrefix(resp.Request.URL.RequestURI(), "/console/"), string(body), resp.Header}
}

func (v *visitor) request(method, path string, form url.Values) *http.Request {
	v.t.Helper()
	r, err := http.NewRequestWithContext(context.Background(), method, v.base+path, strings.NewReader(form.Encode()))
	if err != nil {
		v.t.Fatal(err)
	}
	if method == http.MethodPost {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	return r
}

func (v *visitor) get(path string) page {
	v.t.Helper()
	return v.do(v.request(http.MethodGet, path, nil))
}

// send posts a form with the token that the last page has shown.
func (v *visitor) send(from page, path string, form url.Values) page {
	v.t.Helper()
	form.Set("csrf", from.token())
	return v.do(v.request(http.MethodPost, path, form))
}

func (v *visitor) signIn(key string) page {
	v.t.Helper()
	return v.do(v.request(http.MethodPost, "sign-in", url.Values{"key": {key}}))
}

var token = regexp.MustCompile(`name="csrf" value="([^"]+)"`)

func (p page) token() string {
	if found := token.FindStringSubmatch(p.body); found != nil {
		return found[1]
	}
	return ""
}

// has fails the test unless the page says all of it.
func (p page) has(t *testing.T, words ...string) {
	t.Helper()
	main := p.body[max(0, strings.Index(p.body, "<main")):]
	for _, w := range words {
		if !strings.Contains(p.body, w) {
			t.Errorf("page %s (%d) does not have %q:\n%.3000s", p.path, p.status, w, main)
		}
	}
}

// start runs a node with an error that is parked, and one that is retried.
func start(t *testing.T) (*live.Node, recoup.Reported) {
	t.Helper()
	n := live.Start(t, app.Options{})
	c := n.Client()
	parked, err := c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-1", Code: "VALIDATION_ERROR", Message: "no such number"})
	if err == nil {
		_, err = c.Report(t.Context(), recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-2", Code: "NETWORK_TIMEOUT", Message: "it did not answer"})
	}
	if err != nil {
		t.Fatal(err)
	}
	return n, parked
}

// key makes a key of a role.
func key(t *testing.T, n *live.Node, role string) string {
	t.Helper()
	made, err := admin.New(n.Client()).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: role})
	if err != nil {
		t.Fatal(err)
	}
	return made.Secret
}
