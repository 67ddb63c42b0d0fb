package api_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"net/http"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	features "github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// routeInfos lists all routes of the program.
func routeInfos() []api.RouteInfo { return api.RouteInfos(features.Routes(features.All())...) }

// The tables of spec 000, by the names the tests use, and the hubs of two.
const (
	dol    = "outreach.dol_errors"
	people = "people.people_errors"

	dolHub    = "dol-filings"
	peopleHub = "people-intelligence"
)

var epoch = node.Epoch

// world is a node without connections, with a clock that is moved by hand. Every
// answer it gives is held to the OpenAPI document and to spec 001.
type world struct {
	*testing.T
	handler  http.Handler
	document *document
	store    app.Store
	file     string            // of a world on SQLite
	keys     map[string]string // secrets, by the name of the key
	*node.Clock
	*state
}

// state is what subtests share.
type state struct {
	mu       sync.Mutex
	entities int
}

// in is the world as a subtest sees it.
func (w *world) in(t *testing.T) *world {
	there := *w
	there.T = t
	return &there
}

// keyNames are the keys that every world has: one of each role, the same for one
// hub only, and two that are good for nothing.
const (
	onlyDOL = "@dol" // added to a role: a key for that hub
	expired = "expired"
	revoked = "revoked"
)

// template is the file of a node that was started once, and the keys it has.
var template = sqlitetest.NewTemplate(func(ctx context.Context, path string) error {
	s, err := app.OpenStore(ctx, "sqlite:"+path, nil)
	if err != nil {
		return err
	}
	if err := addKeys(ctx, s, epoch); err != nil {
		return err
	}
	node, err := app.OpenOn(ctx, s, app.Options{Listen: "127.0.0.1:0", Slices: features.All(), Now: func() time.Time { return epoch }})
	if err != nil {
		return err
	}
	return node.Close(ctx)
})

// secrets are made once for all worlds.
var secrets = sync.OnceValues(func() (map[string]string, []wire.Key) {
	ids := recoup.NewIDSource(rand.Reader)
	texts, keys := map[string]string{}, []wire.Key(nil)
	add := func(name string, role httpapi.Role, life time.Duration, hubs ...string) {
		key, err := httpapi.NewKey(ids, rand.Reader, epoch, name, role, hubs, life)
		if err != nil {
			panic(err)
		}
		texts[name], keys = key.Secret, append(keys, key)
	}
	for _, role := range httpapi.Roles() {
		add(string(role), role, httpapi.KeyLife)
		add(string(role)+onlyDOL, role, httpapi.KeyLife, dolHub)
	}
	add(expired, httpapi.RoleAdmin, time.Second)
	add(revoked, httpapi.RoleAdmin, httpapi.KeyLife)
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

func limits(l httpapi.Limits) option { return func(_ *world, o *app.Options) { o.Limits = l } }

// wrapped puts something between the node and its store.
func wrapped(wrap func(app.Store) app.Store) option {
	return func(w *world, _ *app.Options) { w.store = wrap(w.store) }
}

// newWorld is a world on SQLite.
func newWorld(t *testing.T, options ...option) *world {
	t.Helper()
	file := template.Copy(t, t.TempDir())
	s, err := app.OpenStore(t.Context(), "sqlite:"+file, nil)
	if err != nil {
		t.Fatal(err)
	}
	w := begin(t, s, options...)
	w.file = file
	return w
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
	w := &world{T: t, store: s, Clock: node.NewClock(epoch.Add(time.Hour)), state: &state{}}
	w.keys, _ = secrets()
	o := app.Options{Listen: "127.0.0.1:0", Slices: features.All(), Now: w.Now, Build: app.Version{Version: "test"}, MasterKey: bytes.Repeat([]byte{1}, 32)}
	for _, change := range options {
		change(w, &o)
	}
	node, err := app.OpenOn(t.Context(), unclocked{w.store}, o)
	if err != nil {
		t.Fatal(err)
	}
	w.handler = node.Handler()
	if added := o.Slices[len(features.All()):]; len(added) > 0 {
		w.document = readDocument(t, w.handler, added...)
	} else {
		w.document = theDocument(t, w.handler)
	}
	t.Cleanup(func() {
		if err := node.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// unclocked hides the clock of a database, so that the test's counts.
type unclocked struct{ app.Store }

func (w *world) clock() time.Time { return w.Now() }

func (w *world) wait(d time.Duration) { w.Wait(d) }

// report reports a failure that is retried, and returns the error.
func (w *world) report(table, entity string, more ...func(*recoup.Report)) recoup.Error {
	w.Helper()
	r := recoup.Report{Table: table, EntityID: entity, Code: "NETWORK_TIMEOUT"}
	for _, change := range more {
		change(&r)
	}
	var out recoup.Reported
	w.post("/v1/errors", r).ok(&out)
	return out.Error
}

// claim leases what is due in a table an hour from now on.
func (w *world) claim(table string) []recoup.Error {
	w.Helper()
	w.Wait(time.Hour)
	var out recoup.RetryClaimed
	w.post("/v1/retries/claim", recoup.RetryClaim{Tables: []string{table}, Worker: "w", Limit: 100}).ok(&out)
	return out.Errors
}

func mustJSON(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return b
}

// act is an act beside the API.
func act(w *world) store.Act { return store.Act{By: "test", Reason: "test", At: w.Now()} }
