package postgres_test

import (
	"context"
	"errors"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// listener listens for the length of a test.
func listen(t *testing.T, url string) (heard chan string) {
	s := open(t, url)
	ctx, cancel := context.WithCancel(t.Context())
	heard, ended := make(chan string, 100), make(chan error, 1)
	go func() { ended <- s.Listen(ctx, func(kind string) { heard <- kind }) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; !errors.Is(err, context.Canceled) {
			t.Errorf("listening ended with %v", err)
		}
	})
	hears(t, heard, store.Wakes()...)
	return heard
}

func hears(t *testing.T, heard chan string, kinds ...string) {
	t.Helper()
	for _, want := range kinds {
		select {
		case got := <-heard:
			if got != want {
				t.Fatalf("heard %s, want %s", got, want)
			}
		case <-t.Context().Done():
			t.Fatalf("%s was not heard", want)
		}
	}
}

// What plain SQL writes waits for an engine, which is woken once for many rows.
func TestPlainInsertsWake(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	d := conformance.NewDriver(t, open(t, app))
	heard, raw := listen(t, app), connect(t, app)
	raw.Do("insert into outreach.dol_errors (outreach_id, code) select 'e' || i, 'NETWORK_TIMEOUT' from generate_series(1, 100) i")
	hears(t, heard, store.WakeErrors)
	raw.Do("notify recoup, 'something else'")
	raw.Do("update recoup.error set message = 'x' where entity_id = 'e1'")
	d.Report(dol, "e0", "NETWORK_TIMEOUT", "MEDIUM")
	if err := raw.Try("insert into outreach.dol_errors (outreach_id, code) values ('undone', 'NETWORK_TIMEOUT')"); err != nil {
		t.Error(err)
	}
	raw.Do("notify recoup, 'policy'")
	hears(t, heard, store.WakePolicy)
}

// A connection that is lost is made again, and whoever listens looks at
// everything, because something may have been missed.
func TestListenComesBack(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	heard, raw := listen(t, app), connect(t, app)
	for range 2 {
		raw.Do(`select pg_terminate_backend(pid) from pg_stat_activity
			where datname = current_database() and query ilike 'listen%' and pid <> pg_backend_pid()`)
		hears(t, heard, store.Wakes()...)
	}
	raw.Do("notify recoup, 'notices'")
	hears(t, heard, store.WakeNotices)
}
