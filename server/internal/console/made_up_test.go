package console_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// askedStore counts who is looked up, and on which connections.
type askedStore struct {
	app.Store

	mu       sync.Mutex
	reserved map[[32]byte]int
	ordinary map[[32]byte]int
}

func (s *askedStore) note(hash [32]byte, known bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known {
		s.reserved[hash]++
	} else {
		s.ordinary[hash]++
	}
}

func (s *askedStore) Session(ctx context.Context, hash [32]byte, known bool) (store.Session, error) {
	s.note(hash, known)
	return s.Store.Session(ctx, hash, known)
}

func (s *askedStore) KeyByHash(ctx context.Context, hash [32]byte, known bool) (wire.Key, error) {
	s.note(hash, known)
	return s.Store.KeyByHash(ctx, hash, known)
}

func (s *askedStore) counts() (reserved, ordinary int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, n := range s.reserved {
		reserved += n
	}
	for _, n := range s.ordinary {
		ordinary += n
	}
	return reserved, ordinary
}

// TestMadeUpCookies proves that made-up cookies and keys are never looked up on the reserved
// connections, are looked up once each, and are refused above a rate before they are looked up,
// while who is signed in from the same address is served.
func TestMadeUpCookies(t *testing.T) {
	t.Parallel()
	asked := &askedStore{Store: sqlitetest.Open(t), reserved: map[[32]byte]int{}, ordinary: map[[32]byte]int{}}
	n := live.On(t, asked, app.Options{Limits: httpapi.Limits{Anonymous: 100}})
	v := visit(t, n)
	v.signIn(n.Key)
	v.get("errors")
	guest := visit(t, n)
	guest.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	try := func(cookie string) int {
		r := guest.request(http.MethodGet, "errors", nil)
		r.AddCookie(&http.Cookie{Name: "recoup_session", Value: cookie})
		return guest.do(r).status
	}
	reserved, before := asked.counts()
	for range 5 {
		try("made-up")
	}
	if _, now := asked.counts(); now != before+1 {
		t.Errorf("one made-up cookie was looked up %d times", now-before)
	}
	refused := 0
	for i := range 60 {
		switch status := try(fmt.Sprint("made-up-", i)); status {
		case http.StatusTooManyRequests:
			refused++
		case http.StatusSeeOther:
		default:
			t.Errorf("a made-up cookie is answered %d", status)
		}
	}
	if refused == 0 {
		t.Error("no made-up cookie was refused")
	}
	for i := range 20 {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, n.URL+"/v1/errors", nil)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Authorization", fmt.Sprintf("Bearer rdb_%032d", i))
		if p := guest.do(r); p.status != http.StatusUnauthorized {
			t.Errorf("a made-up key is answered %d", p.status)
		}
	}
	if now, _ := asked.counts(); now != reserved {
		t.Errorf("what is made up was looked up on reserved connections %d times", now-reserved)
	}
	v.get("errors").has(t, "admin") // who is signed in
	if now, _ := asked.counts(); now == reserved {
		t.Error("a session that is known is not looked up on reserved connections")
	}
}

// TestSessionsPerKey proves that a key has so many sessions at most, and the oldest ends.
func TestSessionsPerKey(t *testing.T) {
	t.Parallel()
	for name, database := range map[string]func(testing.TB) live.Database{"sqlite": live.SQLite, "postgres": live.Postgres} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := live.Start(t, app.Options{Database: database(t).Nodes})
			made, err := admin.New(n.Client()).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "operator"})
			if err != nil {
				t.Fatal(err)
			}
			var browsers []*visitor
			for range store.MaxSessions + 2 {
				v := visit(t, n)
				v.signIn(made.Secret)
				browsers = append(browsers, v)
			}
			for i, v := range browsers {
				if out := strings.HasPrefix(v.get("park").path, "sign-in"); out != (i < 2) {
					t.Errorf("browser %d of %d is signed out: %v", i, len(browsers), out)
				}
			}
		})
	}
}

// TestSignInsHaveARate proves that sign-ins from one address are refused above a rate, and that
// others are not.
func TestSignInsHaveARate(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	v := visit(t, n)
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	counts := map[int]int{}
	for range 300 {
		p := v.do(v.request(http.MethodPost, "sign-in", url.Values{"key": {"rdb_wrong"}}))
		if counts[p.status]++; p.status == http.StatusTooManyRequests {
			if p.header.Get("Retry-After") == "" || !strings.Contains(p.body, "Too many sign-ins from this address.") {
				t.Errorf("refused with %v %s", p.header, p.body)
			}
			break
		}
	}
	if counts[http.StatusTooManyRequests] != 1 || counts[http.StatusUnauthorized] < 50 {
		t.Errorf("sign-ins were answered %v", counts)
	}
	if _, err := admin.New(n.Client()).Keys.Current(t.Context()); err != nil {
		t.Errorf("a call with a key from the same address: %v", err)
	}
}

// TestSignedOutHasARate proves that pages without a session and forms of other sites have the
// rate of requests without a key, while who is signed in is served.
func TestSignedOutHasARate(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{Limits: httpapi.Limits{Anonymous: 10, HoldBack: time.Nanosecond}})
	v := visit(t, n)
	v.signIn(n.Key)
	guest := visit(t, n)
	guest.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	for name, row := range map[string]struct {
		method, path, site string
		status             int
	}{
		"page":    {http.MethodGet, "errors", "", http.StatusSeeOther},
		"no page": {http.MethodGet, "nothing", "", http.StatusSeeOther},
		"stream":  {http.MethodGet, "stream", "", http.StatusUnauthorized},
		"foreign": {http.MethodPost, "theme", "cross-site", http.StatusForbidden},
	} {
		counts := map[int]int{}
		for range 100 {
			r := guest.request(row.method, row.path, nil)
			if row.site != "" {
				r.Header.Set("Sec-Fetch-Site", row.site)
			}
			counts[guest.do(r).status]++
		}
		if counts[http.StatusTooManyRequests] == 0 || counts[http.StatusTooManyRequests]+counts[row.status] != 100 {
			t.Errorf("%s: 100 requests are answered %v", name, counts)
		}
	}
	v.get("errors").has(t, "admin")
}

// TestSignInForm proves that a sign-in beyond the rate is refused whatever its form is, and that a
// form of many fields, or of another type, is refused without being parsed.
func TestSignInForm(t *testing.T) {
	t.Parallel()
	n := live.Start(t, app.Options{})
	v := visit(t, n)
	v.http.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	many := url.Values{"key": {n.Key}}
	for i := range 900 {
		many[fmt.Sprint("n", i)] = []string{""}
	}
	if p := v.do(v.request(http.MethodPost, "sign-in", many)); p.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of many fields is answered %d", p.status)
	}
	if p := v.do(v.request(http.MethodPost, "sign-in", url.Values{"key": {n.Key}, "to": {strings.Repeat("a", 20<<10)}})); p.status != http.StatusRequestEntityTooLarge {
		t.Errorf("a form of 20 KB is answered %d", p.status)
	}
	plain := v.request(http.MethodPost, "sign-in", url.Values{"key": {n.Key}})
	plain.Header.Set("Content-Type", "text/plain")
	if p := v.do(plain); p.status != http.StatusUnsupportedMediaType {
		t.Errorf("a form of another type is answered %d", p.status)
	}
	if p := v.get("sign-in?" + many.Encode()); p.status != http.StatusRequestURITooLong {
		t.Errorf("a page with many parameters is answered %d", p.status)
	}
	if p := v.do(v.request(http.MethodPost, "sign-in", url.Values{"key": {n.Key}, "to": {"errors?" + strings.Repeat("%2f", 600)}})); p.status != http.StatusSeeOther {
		t.Errorf("a sign-in with a long destination is answered %d", p.status)
	}
	status := 0
	for range 300 {
		if status = v.do(v.request(http.MethodPost, "sign-in", many)).status; status == http.StatusTooManyRequests {
			break
		}
	}
	if status != http.StatusTooManyRequests {
		t.Errorf("forms of many fields are never refused for their rate: %d", status)
	}
}
