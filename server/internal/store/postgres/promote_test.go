package postgres_test

import (
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// race lets a report and a promotion of one entity meet, round after round.
type race struct {
	*testing.T
	store  *postgres.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
}

func newRace(t *testing.T, s *postgres.Store) *race {
	return &race{t, s, policy.Default(), recoup.NewIDSource(rand.Reader), conformance.Epoch()}
}

// round returns what the gate has written down about its entity.
func (r *race) round(entity string) []store.GateEntry {
	r.Helper()
	var wg sync.WaitGroup
	begin := make(chan struct{})
	for range 2 {
		wg.Go(func() {
			<-begin
			_, _, err := r.store.Promote(r.Context(), store.Promotion{
				ID: r.ids.New(r.now), Entity: entity, Phase: "enrichment", By: "ada", At: r.now,
			})
			if err != nil && !errors.Is(err, store.ErrBlocked) {
				r.Error(err)
			}
		})
	}
	wg.Go(func() {
		<-begin
		r.reportAndResolve(entity)
	})
	close(begin)
	wg.Wait()
	log, err := r.store.GateLog(r.Context(), entity, sqldb.MaxPage)
	if err != nil {
		r.Error(err)
	}
	return log
}

func (r *race) reportAndResolve(entity string) {
	in := lifecycle.Report{ID: r.ids.New(r.now), Table: dol, EntityID: entity, Failure: conformance.Failure("NETWORK_TIMEOUT")}
	outcomes, err := r.store.Report(r.Context(), r.now, []store.Report{{
		Table: dol, Entity: entity, Code: in.Failure.Code, Decide: r.decide(in),
	}})
	if err == nil {
		_, err = r.store.ApplySteps(r.Context(), r.now, []store.Step{{
			ID: outcomes[0].Error.ID, Decide: r.decide(lifecycle.Resolve{By: "ada"}),
		}})
	}
	if err != nil {
		r.Error(err)
	}
}

func (r *race) decide(in lifecycle.Input) store.Decide {
	return func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(r.policy, current, in, r.now)
	}
}

// slipped returns a promotion that stands between the beginning and the end of
// a block in the gate's order, if there is one.
func slipped(log []store.GateEntry) (store.GateEntry, bool) {
	blocking := map[recoup.ID]bool{}
	for _, entry := range log {
		switch entry.Act {
		case store.GateBlock:
			blocking[entry.ID] = true
		case store.GateUnblock:
			delete(blocking, entry.ID)
		case store.GatePromote:
			if len(blocking) > 0 {
				return entry, true
			}
		}
	}
	return store.GateEntry{}, false
}

// rounds is how often the race is run: a share by default, all of it where
// RECOUP_SOAK is set.
func rounds() int {
	switch {
	case os.Getenv("RECOUP_SOAK") != "":
		return 10_000
	case testing.Short():
		return 100
	}
	return 500
}

// No promotion stands between an error that blocks and its end.
func TestPromotionCannotBeRaced(t *testing.T) {
	t.Parallel()
	s, _, _ := governed(t)
	r := newRace(t, s)
	promoted, blocked := 0, 0
	for i := range rounds() {
		log := r.round(fmt.Sprintf("CO-%d", i))
		if entry, ok := slipped(log); ok {
			t.Fatalf("promotion %d slipped through: %v", entry.Seq, log)
		}
		if n := len(log) - 2; n > 0 { // a block, an unblock, and promotions
			promoted += n
		}
		blocked += 4 - len(log)
	}
	if promoted == 0 || blocked == 0 {
		t.Errorf("%d were promoted and %d blocked: they never met", promoted, blocked)
	}
}

// The same check notices when the lock is taken out.
func TestPromotionRaceIsNoticed(t *testing.T) {
	t.Parallel()
	s, owner, _ := governed(t)
	owner.run("create or replace function recoup.lock_stripes(entities text[]) returns void language sql as 'select'")
	r := newRace(t, s)
	for i := range 100_000 {
		if _, ok := slipped(r.round(fmt.Sprintf("CO-%d", i))); ok {
			t.Logf("slipped through in round %d", i)
			return
		}
	}
	t.Error("without the lock nothing slipped through: the check cannot fail")
}

// A caller with an older snapshot could not see what blocks: it is refused.
func TestPromoteNeedsReadCommitted(t *testing.T) {
	t.Parallel()
	_, _, app := governed(t)
	app.run("begin isolation level repeatable read")
	if got := app.sqlState("select recoup.promote_for('e', 'next', 'ada')"); got != guard {
		t.Errorf("refused with %s", got)
	}
}

// A promotion that cannot have its gate says so, and has done nothing.
func TestPromoteIsBusy(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	patient, err := postgres.Open(t.Context(), app.Config().ConnString(), postgres.Options{LockTimeout: 20 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = patient.Close() })
	app.run("begin")
	app.run("insert into outreach.dol_errors (outreach_id, code) values ('e', 'X')")
	p := store.Promotion{ID: recoup.ID{1}, Entity: "e", Phase: "next", By: "ada", At: conformance.Epoch()}
	if _, _, err := patient.Promote(t.Context(), p); !errors.Is(err, store.ErrBusy) {
		t.Errorf("got %v", err)
	}
	app.run("rollback")
	if _, _, err := s.Promote(t.Context(), p); err != nil {
		t.Error(err)
	}
}

// A pipeline cannot hold all gates in one transaction: neither with promotions, nor with attempts
// that are blocked, nor behind savepoints. Nodes can, and so can one transaction after the other.
func TestPromotionsOfATransactionAreLimited(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	writer := role(t, owner, "recoup_writer")
	const many = "select (recoup.promote('w' || g, 'x')).seq from generate_series(1, 2500) g"
	if got := writer.refusal(many); !strings.Contains(got, "32 of 256 gates") {
		t.Errorf("refused with %s", got)
	}
	held := func() int {
		return ask[int](app, `select count(*) from pg_locks l join pg_class c on c.oid = l.relation
			where c.relname like 'gate_stripe_%' and l.mode = 'ExclusiveLock' and l.database = (select oid from pg_database where datname = current_database())`)
	}
	app.run("insert into outreach.dol_errors (outreach_id, code) select 'b' || g, 'X' from generate_series(1, 300) g")
	for name, promote := range map[string]string{
		"promoted":         "select recoup.promote('v' || %d, 'x')",
		"blocked":          "select recoup.promote('b' || %d, 'x')",
		"behind savepoint": "savepoint s; select recoup.promote('u' || %d, 'x'); release s",
	} {
		writer.run("begin")
		n, most, err := 0, 0, error(nil)
		for ; err == nil && n < 300; n++ {
			_, err = writer.Exec(t.Context(), fmt.Sprintf(promote, n+1))
			most = max(most, held())
		}
		if err == nil || n < 32 || most != 32 {
			t.Errorf("%s: %d gates were held, refused at %d: %v", name, most, n, err)
		}
		writer.run("rollback")
	}
	for i := range 40 {
		writer.run(fmt.Sprintf("select recoup.promote('t%d', 'x')", i))
	}
	app.run("select (recoup.promote_for('w' || g, 'x', 'ada')).seq from generate_series(1, 2500) g")
}

// Nor with errors that block, in one statement or in many, nor with both. Errors that do not block hold no
// gate. Nodes and the schema's owner, as which a node may run, are not limited.
func TestInsertsOfATransactionAreLimited(t *testing.T) {
	t.Parallel()
	_, owner, app := governed(t)
	writer := role(t, owner, "recoup_writer")
	const many = "insert into outreach.dol_errors (outreach_id, code) select '%s' || g, 'X' from generate_series(1, 3000) g"
	if got := writer.refusal(fmt.Sprintf(many, "w")); !strings.Contains(got, "32 of 256 gates") || !strings.Contains(got, "commit") {
		t.Errorf("refused with %s", got)
	}
	held := func() int {
		return ask[int](app, `select count(distinct l.relation) from pg_locks l join pg_class c on c.oid = l.relation
			where c.relname like 'gate_stripe_%' and l.database = (select oid from pg_database where datname = current_database())`)
	}
	for name, statement := range map[string]string{
		"one by one":            "insert into outreach.dol_errors (outreach_id, code) values ('v%d', 'X')",
		"behind savepoint":      "savepoint s; insert into outreach.dol_errors (outreach_id, code) values ('u%d', 'X'); release s",
		"with promotions":       "select recoup.promote('t%[1]d', 'x'); insert into outreach.dol_errors (outreach_id, code) values ('s%[1]d', 'X')",
		"in one statement":      "do $$ begin for i in 1..%d loop insert into outreach.dol_errors (outreach_id, code) values ('r' || i, 'X'); end loop; end $$",
		"promotions after them": "insert into outreach.dol_errors (outreach_id, code) values ('q%[1]d', 'X'); select recoup.promote('p%[1]d', 'x')",
	} {
		writer.run("begin")
		n, most, err := 0, 0, error(nil)
		for ; err == nil && n < 300; n++ {
			_, err = writer.Exec(t.Context(), fmt.Sprintf(statement, n+1))
			most = max(most, held())
		}
		if err == nil || most < 30 || most > 32 {
			t.Errorf("%s: %d gates were held, refused at %d: %v", name, most, n, err)
		}
		writer.run("rollback")
	}
	// 32 entities in one transaction, thousands of errors of one entity, and errors that do not block.
	writer.run("insert into outreach.dol_errors (outreach_id, code) select 'o' || g, 'X' from generate_series(1, 32) g")
	writer.run("insert into outreach.dol_errors (outreach_id, code) select 'n', 'X' || g from generate_series(1, 2000) g")
	writer.run("insert into company.url_discovery_failures (company_unique_id, code) select 'm' || g, 'X' from generate_series(1, 2000) g")
	app.run(fmt.Sprintf(many, "a"))
	owner.run(fmt.Sprintf(many, "b"))
	role(t, owner, "postgres").run(fmt.Sprintf(many, "c"))
}

// The limit counts before the gates are taken: a statement that waits for one gate does not hold all others.
func TestLimitComesBeforeTheGates(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	first, second := role(t, owner, "recoup_writer"), role(t, owner, "recoup_writer")
	last := ask[string](owner, "select 'z' || g from generate_series(1, 5000) g where recoup.stripe('z' || g) = 'recoup.gate_stripe_255' limit 1")
	others := column[string](owner, "select min('v' || g) from generate_series(1, 3000) g where recoup.stripe('v' || g) <> 'recoup.gate_stripe_255' group by recoup.stripe('v' || g) limit 32")
	first.run("begin; select recoup.promote('" + last + "', 'x')")
	second.run("set lock_timeout = '100ms'")
	for _, sql := range []string{
		"insert into outreach.dol_errors (outreach_id, code) select 'w' || g, 'X' from generate_series(1, 3000) g",
		"begin; insert into outreach.dol_errors (outreach_id, code) select e, 'X' from unnest('{" + strings.Join(others, ",") + "}'::text[]) e; select recoup.promote('" + last + "', 'x')",
	} {
		if got := second.refusal(sql); !strings.Contains(got, "32 of 256 gates") {
			t.Errorf("%s: %s", sql, got)
		}
		second.run("rollback")
	}
	first.run("rollback")
}
