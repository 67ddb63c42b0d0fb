package endtoend

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// TestRollingUpgrade upgrades three nodes under load as docs/upgrade.md says: the schema first, by
// a migration beside the running nodes, then one node after the other, each of which is
// ready before the next is stopped. No report fails for good, every acknowledged one is there once, and
// the nodes, which are the older ones here, start on the newer schema and serve.
//
// The newer version is made up: what it would migrate is done by hand, as the migrator
// does it, with columns that this binary does not know in the tables that it writes most.
func TestRollingUpgrade(t *testing.T) {
	t.Parallel()
	d := live.Postgres(t)
	r := newReporters(t, d, 3)
	r.run(3)
	r.await(10)
	longest := upgradeSchema(t, d.Owner)
	r.await(10)
	for _, s := range r.sites {
		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Errorf("a node that was stopped ended with %v", err)
		}
		s.start()
		awaitReady(t, s)
		r.await(10)
	}
	r.finish()
	r.verify(d.Owner)
	t.Logf("the longest statement of the migration took %v", longest.Round(time.Millisecond))
}

// upgradeSchema does what a migration of a newer version might, each piece in a transaction
// of its own that waits for locks for a short while, and then lets others through.
func upgradeSchema(t *testing.T, owner string) (longest time.Duration) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(t.Context())) }()
	pieces := []string{
		"set lock_timeout = '1s'",
		"create table recoup.future (id bigint primary key, note text)",
		"insert into recoup.job (name, leader, term, runs) select 'future', name, number, 1 from recoup.leader",
		"insert into recoup.schema_version (version_id, is_applied) values (9999, true)",
		"insert into recoup.schema_checksum values (9999, repeat('0', 64))",
		"insert into recoup.schema_needs select 9999, max(version) from recoup.schema_needs where version < 9999",
	}
	for _, table := range []string{"due", "outbox", "idempotency", "job", "leader", "api_key", "error_group", "activity_delta", "error_event", "work"} {
		pieces = append(pieces, fmt.Sprintf("alter table recoup.%s add column future text, add column since timestamptz default now()", table))
	}
	clock := time.Now
	for _, sql := range pieces {
		for try := 0; ; try++ {
			began := clock()
			_, err := conn.Exec(t.Context(), sql)
			longest = max(longest, clock().Sub(began))
			if err == nil {
				break
			}
			var refused *pgconn.PgError
			if try == 100 || !errors.As(err, &refused) || refused.Code != "55P03" && refused.Code != "40P01" {
				t.Fatalf("%s: %v", sql, err)
			}
		}
	}
	return longest
}

// awaitReady waits until a node says that it is ready.
func awaitReady(t *testing.T, s *site) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	for {
		response, err := http.Get("http://" + *s.address.Load() + "/readyz")
		if err == nil {
			_ = response.Body.Close()
			if response.StatusCode == http.StatusOK {
				return
			}
		}
		if retry.Sleep(ctx, 50*time.Millisecond) != nil {
			t.Fatalf("it is not ready: %v\n%s", err, s.log)
		}
	}
}
