// Package live gives tests a running node in their own process: [app.Open] and
// [app.Node.Serve], with what every test would otherwise repeat. Package node has the
// services alone, and package program the program.
package live

import (
	"context"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// Node is a node that listens on loopback.
type Node struct {
	*app.Node
	URL    string
	Key    string             // the first admin's; none in a demo
	Cancel context.CancelFunc // asks it to stop
	Stop   func()             // waits for its end; the test's end does it too

	t testing.TB
}

// Start runs a node until the test ends. Without a database it gets a file of its
// own. What has to be done before it serves may be given, such as
// [app.Node.AddSamples].
func Start(t testing.TB, o app.Options, before ...func(*app.Node, context.Context) error) *Node {
	t.Helper()
	if o.Database == "" {
		o.Database = "sqlite:" + sqlitetest.File(t, t.TempDir())
	}
	return run(t, o, before, app.Open)
}

// On is [Start] on a store that is open already, and becomes the node's.
func On(t testing.TB, s app.Store, o app.Options) *Node {
	t.Helper()
	return run(t, o, nil, func(ctx context.Context, o app.Options) (*app.Node, error) { return app.OpenOn(ctx, s, o) })
}

func run(t testing.TB, o app.Options, before []func(*app.Node, context.Context) error, open func(context.Context, app.Options) (*app.Node, error)) *Node {
	t.Helper()
	n := &Node{t: t}
	if o.Slices == nil {
		o.Slices = slices.All()
	}
	o.Listen, o.FirstKey = "127.0.0.1:0", func(secret string) error { n.Key = secret; return nil }
	ctx, stop := context.WithCancel(context.Background())
	var err error
	if n.Node, err = open(ctx, o); err != nil {
		stop()
		t.Fatal(err)
	}
	n.URL = "http://" + n.Address()
	for _, do := range before {
		if err := do(n.Node, ctx); err != nil {
			t.Error(err)
		}
	}
	ended := make(chan error, 1)
	go func() { ended <- n.Serve(ctx) }()
	n.Cancel, n.Stop = stop, sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	t.Cleanup(n.Stop)
	return n
}

// Client is a client of the node for the first admin, closed with the test.
func (n *Node) Client() *client.Client {
	n.t.Helper()
	return n.As(client.Options{Key: n.Key})
}

// As is a client of the node, closed with the test.
func (n *Node) As(o client.Options) *client.Client {
	n.t.Helper()
	o.Server = n.URL
	c, err := client.New(o)
	if err != nil {
		n.t.Fatal(err)
	}
	n.t.Cleanup(c.Close)
	return c
}

// Call sends a request to the node's handler, for the first admin and without a
// connection, and returns the answer's body.
func (n *Node) Call(method, path, body string) string {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	r.Header.Set("Authorization", "Bearer "+n.Key)
	r.Header.Set("Content-Type", "application/json")
	answer := httptest.NewRecorder()
	n.Handler().ServeHTTP(answer, r)
	return answer.Body.String()
}

// Database is where nodes keep their data, as its owner and its nodes reach it.
type Database struct {
	Kind         string // sqlite or postgres
	Owner, Nodes string
}

// SQLite is a file that does not exist yet.
func SQLite(t testing.TB) Database {
	address := "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
	return Database{"sqlite", address, address}
}

// Postgres is a fresh, migrated database. Its guards refuse times that are not those
// of its clock, as they do outside of tests.
func Postgres(t testing.TB) Database {
	t.Helper()
	owner, nodes := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	return Database{"postgres", owner, nodes}
}

// Pooled is [Postgres] behind a PgBouncer in transaction mode: nodes know no other
// address.
func Pooled(t testing.TB) Database {
	t.Helper()
	d := Postgres(t)
	d.Nodes = pgtest.Pool(t, "transaction")(d.Nodes)
	return d
}

// Everywhere runs a test on a fresh database of each kind.
func Everywhere(t *testing.T, test func(t *testing.T, d Database)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, Postgres(t))
	})
}

// Either runs a test on a fresh database of one kind, which depends on the day of the commit. Both
// are used in make nightly. It is for tests whose subject does not depend on the store.
func Either(t *testing.T, test func(t *testing.T, d Database)) {
	t.Helper()
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		tier.Turn(t, 0, 2)
		t.Parallel()
		test(t, SQLite(t))
	})
	t.Run("postgres", func(t *testing.T) {
		tier.Turn(t, 1, 2)
		t.Parallel()
		test(t, Postgres(t))
	})
}
