package endtoend

import (
	"bytes"
	"context"
	"crypto/rand"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"recoup/internal/api"
	"recoup/internal/app"
	"recoup/internal/store/postgres/pgtest"
)

// soaking reports whether there is time for every case.
func soaking() bool { return os.Getenv("RECOUP_SOAK") != "" }

// database is where a node keeps its data, as its owner and its nodes reach it.
type database struct {
	name         string
	owner, nodes string
}

// databases makes one of each kind, empty and ready.
func databases() map[string]func(*testing.T) database {
	return map[string]func(*testing.T) database{
		"sqlite": func(t *testing.T) database {
			address := "sqlite:" + filepath.Join(t.TempDir(), "recoup.db")
			return database{"sqlite", address, address}
		},
		"postgres": func(t *testing.T) database {
			owner, nodes := pgtest.Migrated(t)
			pgtest.HoldToClock(t, owner)
			return database{"postgres", owner, nodes}
		},
	}
}

// onBoth runs a test on every kind of database.
func onBoth(t *testing.T, test func(*testing.T, database)) {
	t.Parallel()
	for name, open := range databases() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test(t, open(t))
		})
	}
}

// node is a running one in the test's own process, with everything it logs.
type node struct {
	url, key string // the key is an administrator's
	logs     *text
	stop     func() // once; the test's end does it too
}

func startNode(t *testing.T, d database) *node {
	t.Helper()
	n := &node{logs: &text{}}
	options := app.Options{
		Database: d.nodes, Listen: "127.0.0.1:0", LogLevel: slog.LevelDebug, Limits: api.Limits{PerKey: 1e6},
		Now: time.Now, Random: rand.Reader, FirstKey: func(secret string) { n.key = secret },
		MasterKey: bytes.Repeat([]byte{7}, 32),
	}
	options.LogTo(n.logs)
	ctx, stop := context.WithCancel(context.Background())
	running, err := app.Open(ctx, options)
	if err != nil {
		stop()
		t.Fatal(err)
	}
	n.url = "http://" + running.Address()
	ended := make(chan error, 1)
	go func() { ended <- running.Serve(ctx) }()
	n.stop = sync.OnceFunc(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the node ended with %v", err)
		}
	})
	t.Cleanup(n.stop)
	return n
}

// text is a buffer that many may write to.
type text struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (t *text) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.Write(p)
}

func (t *text) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.b.String()
}
