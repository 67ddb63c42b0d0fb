package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// crashURL is the database that a child is to write to until it is killed.
const crashURL = "RECOUP_CRASH_URL"

// Somebody dies at a random moment, again and again: the process that writes, or
// the server under it. Whatever was acknowledged to the process is there, and
// nothing is half done. RECOUP_SOAK=1 makes it two hundred times.
func TestCrash(t *testing.T) {
	if url := os.Getenv(crashURL); url != "" {
		t.Fatal(conformance.Victim(t, open(t, url))) // it runs until somebody dies
	}
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	rounds := tier.Count(5, 20)
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	// A child that was asleep while the server was away notices nothing and would
	// write for ever: it dies once the server is back.
	deaths := []func(child *os.Process) error{
		(*os.Process).Kill,
		func(child *os.Process) error { server.Abort(); return errors.Join(server.Restart(), end(child)) },
		(*os.Process).Kill,
		func(child *os.Process) error { server.Kill(); return errors.Join(server.Restart(), end(child)) },
		(*os.Process).Kill,
	}
	total := 0
	for i := range rounds {
		// Each round drops its database: a server that has to recover looks at
		// every file of every database first.
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { total += crash(t, server, deaths[i%len(deaths)]) })
	}
	t.Logf("%d rounds, %d errors", rounds, total)
}

// crash lets a child write until somebody dies, and looks at what it has left.
func crash(t *testing.T, server *pgtest.Server, strike func(*os.Process) error) int {
	t.Helper()
	owner, app := server.Migrated(t)
	journal, err := conformance.Outlive(t, "TestCrash", crashURL+"="+app, conformance.Moment(), strike)
	must(t, err)
	must(t, pgtest.Alone(t.Context(), owner))
	s, err := postgres.Open(t.Context(), app, postgres.Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	found := conformance.Survived(t, s, journal)
	p := at(t, owner)
	for _, rule := range crashRules {
		if broken := ask[int](p, rule); broken != 0 {
			t.Errorf("%d times broken: %s", broken, rule)
		}
	}
	return found
}

// end kills a child that may have ended by itself.
func end(child *os.Process) error {
	if err := child.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}

// crashRules count what must never be seen, whoever dies, and what the store's
// own verbs do not show.
var crashRules = []string{
	// In both places.
	"select count(*) from recoup.error join recoup.error_archive using (error_id)",
	// History of nothing.
	`select count(*) from recoup.error_history h where not exists (select from recoup.error e where e.error_id = h.error_id)
		and not exists (select from recoup.error_archive a where a.error_id = h.error_id)`,
	// Blocking and not in the gate's log, or the other way round.
	`select count(*) from (select error_id, blocking from recoup.error union all select error_id, blocking from recoup.error_archive) e
		left join (select distinct on (error_id) error_id, blocks from recoup.gate_log order by error_id, seq desc) g using (error_id)
		where blocking <> coalesce(blocks, false)`,
	// Waiting for a retry and not in the queue, or the other way round.
	`select count(*) from (select error_id from recoup.error where state = 'RETRY_PENDING') e full join recoup.due d using (error_id)
		where e.error_id is null or d.error_id is null`,
	// Resolved and not waiting for the archive, or the other way round.
	`select count(*) from (select error_id from recoup.error where state = 'RESOLVED') e full join recoup.resolved r using (error_id)
		where e.error_id is null or r.error_id is null`,
}
