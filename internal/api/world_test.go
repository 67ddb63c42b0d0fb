package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"recoup"
	"recoup/client"
	"recoup/fault"
	"recoup/internal/api"
	"recoup/internal/app"
	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
)

// The tables of spec 000, by the names the tests use, and the hubs of two.
const (
	dol    = "outreach.dol_errors"
	people = "people.people_errors"

	dolHub    = "dol-filings"
	peopleHub = "people-intelligence"
)

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// world is a node without connections, with a clock that is moved by hand. Every
// answer it gives is held to the OpenAPI document and to spec 001.
type world struct {
	*testing.T
	handler  http.Handler
	document *document
	store    app.Store
	keys     map[string]string // secrets, by the name of the key

	mu       sync.Mutex
	now      time.Time
	entities int
}

// keyNames are the keys that every world has: one of each role, the same for one
// hub only, and two that are good for nothing.
const (
	onlyDOL = "@dol" // added to a role: a key for that hub
	expired = "expired"
	revoked = "revoked"
)

// template is the file of a node that was started once, and the keys it has.
var template = sync.OnceValues(func() (file []byte, err error) {
	folder, err := os.MkdirTemp("", "recoup-api-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	path := filepath.Join(folder, "recoup.db")
	s, err := app.OpenStore(context.Background(), "sqlite:"+path, nil)
	if err != nil {
		return nil, err
	}
	if err := addKeys(context.Background(), s, epoch); err != nil {
		return nil, err
	}
	node, err := app.OpenOn(context.Background(), s, app.Options{Listen: "127.0.0.1:0", Now: func() time.Time { return epoch }})
	if err != nil {
		return nil, err
	}
	if err := node.Close(context.Background()); err != nil {
		return nil, err
	}
	return os.ReadFile(path)
})

// secrets are made once for all worlds.
var secrets = sync.OnceValues(func() (map[string]string, []store.Key) {
	ids := recoup.NewIDSource(rand.Reader)
	texts, keys := map[string]string{}, []store.Key(nil)
	add := func(name string, role api.Role, life time.Duration, hubs ...string) {
		key, secret, err := api.NewKey(ids, rand.Reader, epoch, name, role, hubs, life)
		if err != nil {
			panic(err)
		}
		texts[name], keys = secret, append(keys, key)
	}
	for _, role := range api.Roles() {
		add(string(role), role, api.KeyLife)
		add(string(role)+onlyDOL, role, api.KeyLife, dolHub)
	}
	add(expired, api.Admin, time.Second)
	add(revoked, api.Admin, api.KeyLife)
	return texts, keys
})

func addKeys(ctx context.Context, s app.Store, now time.Time) error {
	_, keys := secrets()
	act := store.Act{By: "test", Reason: "test", At: now}
	for _, k := range keys {
		if _, err := s.CreateKey(ctx, k, act); err != nil {
			return err
		}
		if k.Name == revoked {
			if _, err := s.RevokeKey(ctx, k.ID, act); err != nil {
				return err
			}
		}
	}
	return nil
}

// option changes a world before it begins.
type option func(*world, *app.Options)

func limits(l api.Limits) option { return func(_ *world, o *app.Options) { o.Limits = l } }

// wrapped puts something between the node and its store.
func wrapped(wrap func(app.Store) app.Store) option {
	return func(w *world, _ *app.Options) { w.store = wrap(w.store) }
}

// newWorld is a world on SQLite.
func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	file, err := template()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "recoup.db")
	if err := os.WriteFile(path, file, 0o600); err != nil {
		t.Fatal(err)
	}
	s, err := app.OpenStore(t.Context(), "sqlite:"+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	return begin(t, s, options...)
}

// newPostgresWorld is a world on PostgreSQL.
func newPostgresWorld(t *testing.T) *world {
	t.Helper()
	_, url := pgtest.Migrated(t)
	s, err := app.OpenStore(t.Context(), url, nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := addKeys(t.Context(), s, epoch); err != nil {
		t.Fatal(err)
	}
	return begin(t, s)
}

func begin(t *testing.T, s app.Store, options ...option) *world {
	t.Helper()
	w := &world{T: t, store: s, now: epoch.Add(time.Hour)}
	w.keys, _ = secrets()
	o := app.Options{Listen: "127.0.0.1:0", Now: w.clock, Version: "test"}
	for _, change := range options {
		change(w, &o)
	}
	node, err := app.OpenOn(t.Context(), unclocked{w.store}, o)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = node.Handler()
	w.document = theDocument(t, w.handler)
	t.Cleanup(func() {
		if err := node.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// unclocked hides the clock of a database, so that the test's counts.
type unclocked struct{ app.Store }

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) wait(d time.Duration) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.now = w.now.Add(d)
}

// answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// request makes a request. A body that is no text is sent as JSON; headers come in
// pairs.
func (w *world) request(key, method, path string, body any, headers ...string) *http.Request {
	w.Helper()
	var r io.Reader
	media := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			w.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req := httptest.NewRequestWithContext(w.Context(), method, path, r)
	if r != nil {
		req.Header.Set("Content-Type", media)
	}
	if secret, ok := w.keys[key]; ok {
		req.Header.Set("Authorization", "Bearer "+secret)
	} else if key != "" {
		w.Fatalf("there is no key %s", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// do sends a request and holds the answer to the document.
func (w *world) do(key, method, path string, body any, headers ...string) *answer {
	w.Helper()
	return w.send(w.request(key, method, path, body, headers...))
}

func (w *world) send(r *http.Request) *answer {
	w.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	w.document.hold(w.T, r, body, rec)
	return &answer{rec, w.T}
}

// get, post and put are do with a key of the role admin.
func (w *world) get(path string, headers ...string) *answer {
	w.Helper()
	return w.do("admin", http.MethodGet, path, nil, headers...)
}

func (w *world) post(path string, body any, headers ...string) *answer {
	w.Helper()
	return w.do("admin", http.MethodPost, path, body, headers...)
}

// ok fails the test unless the answer is good, and reads it.
func (a *answer) ok(into ...any) *answer {
	a.t.Helper()
	if a.Code >= 300 {
		a.t.Fatalf("got %d %s", a.Code, a.Body)
	}
	for _, v := range into {
		if err := json.Unmarshal(a.Body.Bytes(), v); err != nil {
			a.t.Fatal(err)
		}
	}
	return a
}

// failed fails the test unless the answer is a failure of that status and code.
func (a *answer) failed(status int, code recoup.Code) *fault.Error {
	a.t.Helper()
	var e fault.Error
	if err := json.Unmarshal(a.Body.Bytes(), &e); err != nil || a.Code != status || e.Code != code {
		a.t.Fatalf("got %d %s, want %d %s", a.Code, a.Body, status, code)
	}
	return &e
}

// invalid fails the test unless the answer complains about that field alone.
func (a *answer) invalid(field, constraint string) {
	a.t.Helper()
	e := a.failed(http.StatusBadRequest, fault.CodeValidationError)
	if f := e.Fields(); len(f) != 1 || f[0].Field != field || f[0].Constraint != constraint {
		a.t.Fatalf("got %+v, want %s %s", f, field, constraint)
	}
}

// report reports a failure that is retried, and returns the error.
func (w *world) report(table, entity string, more ...func(*client.Report)) recoup.Error {
	w.Helper()
	r := client.Report{Table: table, EntityID: entity, Code: "NETWORK_TIMEOUT"}
	for _, change := range more {
		change(&r)
	}
	var out client.Reported
	w.post("/v1/errors", r).ok(&out)
	return out.Error
}

// claim leases what is due in a table an hour from now on.
func (w *world) claim(table string) []recoup.Error {
	w.Helper()
	w.wait(time.Hour)
	var out client.Claimed
	w.post("/v1/retries/claim", client.Claim{Tables: []string{table}, Worker: "w", Limit: 100}).ok(&out)
	return out.Errors
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}
