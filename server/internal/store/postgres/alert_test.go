package postgres_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestAlerts(t *testing.T) {
	t.Parallel()
	conformance.RunAlerts(t, func(t *testing.T) conformance.Alerting {
		_, app := pgtest.Migrated(t)
		return &opened{Store: open(t, app), url: app}
	})
}

// alertSQL is a session of somebody else that looks at the tables of alerts.
type alertSQL struct{ serviceSQL }

func (s alertSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"alert", "silence", "provider", "outbox", "activity_minute", "activity_hour"} {
		rows, _ := s.conn.Query(s.Context(), "select t::text from recoup."+table+" t order by 1")
		lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
		if err != nil || len(lines) == 0 {
			s.Fatalf("%s has %d rows: %v", table, len(lines), err)
		}
		fmt.Fprintf(&b, "%s:\n%s\n", table, strings.Join(lines, "\n"))
	}
	return b.String()
}

// What is forbidden is forbidden to nodes, and to the schema's owner as long as
// the guards stand.
func TestAlertActs(t *testing.T) {
	t.Parallel()
	for role, more := range map[string][]string{
		"owner":      nil,
		"recoup_app": {"delete from recoup.alert where rule = 'resolved'", "update recoup.activity_delta set reported = 1"},
	} {
		t.Run(role, func(t *testing.T) {
			t.Parallel()
			owner, app := pgtest.Migrated(t)
			as := map[string]string{"recoup_app": app, "owner": owner}[role]
			conformance.RunAlertActs(t, open(t, app), alertSQL{serviceSQL{connect(t, as)}},
				append(more, "truncate recoup.alert", "truncate recoup.silence", "truncate recoup.provider")...)
		})
	}
}

// However small the chunks in which deltas are folded, the counts stay what they are.
func TestFoldsInChunks(t *testing.T) {
	t.Parallel()
	owner, app := pgtest.Migrated(t)
	d, sql := conformance.NewDriver(t, open(t, app)), at(t, owner)
	for i := range 5 {
		e := d.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
		d.Wait(time.Minute)
		if i%2 == 0 {
			d.Archive(e.ID)
		}
	}
	before := ask[int](sql, "select count(*) from recoup.error_count")
	for chunk := 2; chunk < 5; chunk++ {
		if n := ask[int](sql, postgres.FoldCountsSQL, chunk); n != chunk {
			t.Errorf("%d were folded in a chunk of %d", n, chunk)
		}
		d.Check()
	}
	if after := ask[int](sql, "select count(*) from recoup.error_count"); after >= before {
		t.Errorf("of %d rows %d are left", before, after)
	}
}

// Of two who fold at once, the later one finds some deltas gone and not yet the
// sum that they became: what it has then is no error, but the difference of two.
func TestFoldsMeet(t *testing.T) {
	t.Parallel()
	owner, app := pgtest.Migrated(t)
	d := conformance.NewDriver(t, open(t, app))
	first := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	earlier, later, watcher := at(t, owner), at(t, owner), at(t, owner)
	earlier.run("begin")
	earlier.run(postgres.FoldCountsSQL, 1000)
	d.Wait(1234567 * time.Microsecond)
	d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(first.ID)
	done := make(chan error, 1)
	go func() {
		_, err := later.Exec(t.Context(), postgres.FoldCountsSQL, 1000)
		done <- err
	}()
	watcher.waiting("")
	earlier.run("commit")
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	d.Check()
}
