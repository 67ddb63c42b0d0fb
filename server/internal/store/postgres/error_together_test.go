package postgres_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// pair is a store and its database, which others write to by plain SQL.
type pair struct {
	*conformance.Driver
	T     *testing.T
	store *postgres.Store
	owner prompt
	app   prompt
	asked int // how often something was decided on its own
}

func newPair(t *testing.T) *pair {
	t.Helper()
	s, owner, app := governed(t)
	return &pair{conformance.NewDriver(t, s), t, s, owner, app, 0}
}

func (p *pair) decide(in lifecycle.Input) store.Decide {
	return func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		p.asked++
		return lifecycle.Step(p.Policy, current, in, now)
	}
}

// claim claims as many errors of a table as there are, some at a time.
func (p *pair) claim(table string, step, n int, like any) (claimed []recoup.Error) {
	p.Helper()
	for len(claimed) < n {
		token := p.ID()
		list, err := p.store.ClaimDue(p.Context(), store.Claim{
			Tables: []string{table}, Limit: step, Now: p.Now(), Like: like, Token: token, Worker: "w1",
			Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				return p.decide(lifecycle.Claim{Token: p.ID(), Worker: "w1"})(current, 0, now)
			},
		})
		if err != nil || len(list) == 0 {
			p.Fatalf("%d of %d claimed: %v", len(claimed), n, err)
		}
		claimed = append(claimed, list...)
	}
	return claimed
}

// results says of each the same, some at a time.
func (p *pair) results(claimed []recoup.Error, step int, like any, in func(recoup.ID) lifecycle.Input) {
	p.Helper()
	for part := range slices.Chunk(claimed, step) {
		steps := make([]store.Step, len(part))
		for i, e := range part {
			steps[i] = store.Step{ID: e.ID, Decide: p.decide(in(e.LeaseToken)), Result: &store.Result{Token: e.LeaseToken, Like: like}}
		}
		outcomes, err := p.store.ApplySteps(p.Context(), p.Now(), steps)
		must(p.T, err)
		for i, out := range outcomes {
			must(p.T, out.Err)
			if got := p.Read(part[i].ID); got != out.Error {
				p.Errorf("answered with %+v\nstored is %+v", out.Error, got)
			}
		}
	}
}

func (p *pair) backlog(table string, n int) {
	for i := range n {
		p.Report(table, fmt.Sprint(table, i), "NETWORK_TIMEOUT", recoup.Medium)
	}
}

func succeed(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} }

func failAgain(token recoup.ID) lifecycle.Input {
	return lifecycle.Fail{Token: token, Failure: conformance.Failure("NETWORK_TIMEOUT")}
}

const parkBySQL = `update recoup.error set state = 'PARKED', disposition = 'PARKED', parked_at = now(), park_reason = 'MANUAL', escalated_to = 'ada'
	where error_id = '%s'`

// Whoever changes an error while its result waits for the row is not overwritten: the
// result is decided on what is there then.
func TestTogetherDecidesOnTheNewestVersion(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(recoup.ID) lifecycle.Input{"succeed": succeed, "fail": failAgain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.backlog(dol, 2)
			p.Wait(time.Minute)
			claimed := p.claim(dol, 2, 2, nil)
			p.results(claimed[:1], 1, name, in)
			p.owner.run("begin")
			p.owner.run(fmt.Sprintf("update recoup.error set assigned_to = 'ada' where error_id = '%s'", claimed[1].ID))
			before, done := p.asked, make(chan bool)
			go func() {
				defer close(done)
				p.results(claimed[1:], 1, name, in)
			}()
			p.app.waiting("")
			p.owner.run("commit")
			<-done
			history, err := p.store.History(t.Context(), claimed[1].ID, 10)
			must(t, err)
			last := history[len(history)-1]
			if p.asked == before || p.Read(claimed[1].ID).AssignedTo != "ada" || last.Input == "" || last.Before.Owner != "ada" {
				t.Errorf("asked %d times; its history ends with %+v", p.asked-before, last)
			}
		})
	}
}

// What plain SQL has parked is in the queue still. No claim hands it out, and the
// result of an attempt that was under way is decided for itself.
func TestTogetherPassesOverWhatPlainSQLParked(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 4)
	p.Wait(time.Minute)
	first := p.claim(dol, 1, 1, "claim")
	p.results(first, 1, "succeed", succeed)
	due := p.claim(dol, 1, 1, "claim")
	before := p.asked
	p.owner.run(fmt.Sprintf(parkBySQL, due[0].ID))
	outcomes, err := p.store.ApplySteps(t.Context(), p.Now(), []store.Step{
		{ID: due[0].ID, Decide: p.decide(succeed(due[0].LeaseToken)), Result: &store.Result{Token: due[0].LeaseToken, Like: "succeed", Brief: true}},
	})
	must(t, err)
	if p.asked != before+1 {
		t.Errorf("nobody was asked about the result of what is parked: %+v", outcomes[0])
	}
	p.owner.run(`update recoup.error set state = 'PARKED', disposition = 'PARKED', parked_at = now(), park_reason = 'MANUAL', escalated_to = 'ada'
		where error_id = (select error_id from recoup.due where lease_token is null order by due_at limit 1)`)
	list, err := p.store.ClaimDue(t.Context(), store.Claim{Tables: []string{dol}, Limit: 1, Now: p.Now(), Like: "claim", Token: p.ID(), Worker: "w1",
		Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return p.decide(lifecycle.Claim{Token: p.ID(), Worker: "w1"})(current, 0, now)
		}})
	must(t, err)
	for _, e := range list {
		if e.State != recoup.RetryPending || p.Read(e.ID).State != recoup.RetryPending {
			t.Errorf("claimed what is %s", p.Read(e.ID).State)
		}
	}
}

// A claim goes to the database twice: for what it can lease without asking, and for the
// rest. Where that takes longer than a lease, what it has leased is not leased once more
// under the same token: one attempt would count as lost and be under way.
func TestClaimNeverLeasesTwice(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 1)
	p.Wait(time.Minute)
	token := p.ID()
	claim := func() []recoup.Error {
		list, err := p.store.ClaimDue(t.Context(), store.Claim{Tables: []string{dol}, Limit: 2, Now: p.Now(), Like: "claim", Token: token, Worker: "w1",
			Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				return p.decide(lifecycle.Claim{Token: token, Worker: "w1"})(current, 0, now)
			}})
		must(t, err)
		return list
	}
	first := claim()
	if len(first) != 1 {
		t.Fatalf("%d claimed", len(first))
	}
	p.Wait(time.Hour)
	if again := claim(); len(again) != 0 || p.Read(first[0].ID).RetryCount != 0 {
		t.Errorf("leased again under its token: %v", again)
	}
	token = p.ID()
	if next := claim(); len(next) != 1 || next[0].RetryCount != 1 {
		t.Errorf("the next claim has %v", next)
	}
}

// Of two results of an error in one request, the first counts, and the other is refused.
func TestTogetherTakesOneResultOfTwo(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 4)
	p.Wait(time.Minute)
	claimed := p.claim(dol, 4, 4, nil)
	p.results(claimed[:1], 1, "succeed", succeed)
	p.results(claimed[1:2], 1, "fail", failAgain)
	step := func(e recoup.Error, like string, in func(recoup.ID) lifecycle.Input) store.Step {
		return store.Step{ID: e.ID, Decide: p.decide(in(e.LeaseToken)), Result: &store.Result{Token: e.LeaseToken, Like: like, Brief: true}}
	}
	outcomes, err := p.store.ApplySteps(t.Context(), p.Now(), []store.Step{
		step(claimed[2], "succeed", succeed), step(claimed[2], "fail", failAgain),
		step(claimed[3], "fail", failAgain), step(claimed[3], "succeed", succeed),
	})
	must(t, err)
	for i, out := range outcomes {
		if (out.Err == nil) != (i%2 == 0) {
			t.Errorf("result %d: %v", i, out.Err)
		}
	}
	if a, b := p.Read(claimed[2].ID), p.Read(claimed[3].ID); a.State != recoup.Resolved || b.State != recoup.RetryPending || b.RetryCount != 1 {
		t.Errorf("%s, %s after %d retries", a.State, b.State, b.RetryCount)
	}
}

// Results that were decided differently are recorded by one statement, each by its own
// decision.
func TestTogetherByManyDecisions(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	tables := []string{dol, "outreach.company_target_errors", "people.people_errors"}
	var claimed []recoup.Error
	for _, table := range tables {
		p.backlog(table, 4)
	}
	p.Wait(time.Minute)
	for _, table := range tables {
		list := p.claim(table, 4, 4, nil)
		p.results(list[:1], 1, "like", succeed)
		claimed = append(claimed, list[1:]...)
	}
	before := p.asked
	slices.Reverse(claimed)
	p.results(claimed, len(claimed), "like", succeed)
	if p.asked != before {
		t.Errorf("%d were decided for themselves", p.asked-before)
	}

	// What was decided differs: some fail for the first time, some for the second.
	p.backlog(dol, 3)
	p.Wait(time.Minute)
	p.results(p.claim(dol, 3, 3, nil), 3, nil, failAgain)
	for i := range 3 {
		p.Report(dol, fmt.Sprint("fresh", i), "NETWORK_TIMEOUT", recoup.Medium)
	}
	p.Wait(time.Minute)
	claimed = p.claim(dol, 6, 6, nil)
	slices.SortFunc(claimed, func(a, b recoup.Error) int { return a.RetryCount - b.RetryCount })
	p.results(claimed[2:4], 2, "fail", failAgain)
	before, claimed = p.asked, append(claimed[:2:2], claimed[4:]...)
	p.results(claimed, len(claimed), "fail", failAgain)
	if p.asked != before || claimed[0].RetryCount == claimed[3].RetryCount {
		t.Errorf("%d were decided for themselves", p.asked-before)
	}
	for _, was := range claimed {
		history, err := p.store.History(t.Context(), was.ID, 10)
		must(t, err)
		last := history[len(history)-1]
		if got := p.Read(was.ID).RetryCount; got != was.RetryCount+1 || last.Before.RetryCount != was.RetryCount || last.After.RetryCount != got {
			t.Errorf("after %d retries there are %d, and the history tells of %+v", was.RetryCount, got, last)
		}
	}
}

// A plan that is made while the queue is empty, and kept, looks rows up one by one: it
// never begins with all of the queue, or with all errors.
func TestTogetherIsPlannedForAFullQueue(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 6)
	p.backlog("outreach.company_target_errors", 6)
	p.Wait(time.Minute)
	for like, in := range map[string]func(recoup.ID) lifecycle.Input{"succeed": succeed, "fail": failAgain} {
		for _, table := range []string{dol, "outreach.company_target_errors"} {
			claimed := p.claim(table, 2, 2, nil)
			p.results(claimed[:1], 1, like, in)
			p.results(claimed[1:], 1, like, in)
		}
	}
	statements := append(p.store.Together(), p.settling())
	if len(statements) != 4 {
		t.Fatalf("%d statements", len(statements))
	}
	p.owner.run("delete from recoup.due")
	p.owner.run("vacuum analyze recoup.due")
	for _, name := range []string{"enable_hashjoin", "enable_mergejoin", "enable_bitmapscan", "enable_sort", "enable_material", "enable_seqscan", "jit"} {
		p.owner.run("set " + name + " = off")
	}
	p.owner.run("set plan_cache_mode = force_generic_plan")
	whole := regexp.MustCompile(`(Seq Scan on|Index Scan using \w+ on) (due|error)\b[^\n]*\n(?:\s+Filter[^\n]*\n)?\s*(->|CTE|$)`)
	for i, sql := range statements {
		name := fmt.Sprint("together", i)
		p.owner.run("prepare " + name + " as " + sql)
		n := ask[int](p.owner, "select cardinality(parameter_types) from pg_prepared_statements where name = '"+name+"'")
		plan := p.plan("explain (costs off) execute " + name + "(" + strings.TrimSuffix(strings.Repeat("null, ", n), ", ") + ")")
		if bad := whole.FindString(plan); bad != "" {
			t.Errorf("it goes through a whole table: %s\nin\n%s", bad, plan)
		}
	}
}

// settling returns the statement of recoup.settle.
func (p *pair) settling() string {
	p.Helper()
	body := ask[string](p.owner, "select prosrc from pg_proc where oid = 'recoup.settle'::regproc")
	body = body[strings.Index(body, "with m as"):strings.LastIndex(body, "from held h;")] + "from held h"
	body = regexp.MustCompile(`into settled, [^\n]* from`).ReplaceAllString(body, "from")
	for i, name := range []string{"ids::uuid[]", "tokens::uuid[]", "decisions::jsonb", "why::text", "act_at::timestamptz"} {
		name, kind, _ := strings.Cut(name, "::")
		body = regexp.MustCompile(`\b`+name+`\b`).ReplaceAllString(body, fmt.Sprintf("$$%d::%s", i+1, kind))
	}
	return body
}

func (p *pair) plan(explain string) string {
	p.Helper()
	rows, err := p.owner.Query(p.Context(), explain, pgx.QueryExecModeSimpleProtocol)
	must(p.T, err)
	lines, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(p.T, err)
	return strings.Join(lines, "\n") + "\n"
}
