package postgres_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// What makes an error differ in a column on which the decision about a success depends.
var differing = map[string]string{
	"code": "code = 'DNS_TIMEOUT'", "last_failure_code": "last_failure_code = 'DNS_TIMEOUT'", "streak_family": "streak_family = 'domain-lookup'",
	"retry_count": "retry_count = 1", "max_retries": "max_retries = 4", "blocking": "blocking = false", "state": "state = 'ACTIVE'",
	"disposition": "disposition = 'PARKED'", "table_name": "table_name = 'people.people_errors'", "policy_version": "policy_version = '9.9.9'",
	"escalation_level": "escalation_level = 1", "assigned_to": "assigned_to = 'ada'", "escalated_to": "escalated_to = 'ada'",
}

// A success is recorded by a remembered decision only if its error agrees in every
// column on which the decision depends; one that differs is decided for itself.
func TestRememberedAgreesInEveryColumn(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, len(differing)+2)
	p.Wait(time.Minute)
	claimed := p.claim(dol, len(differing)+2, len(differing)+2, nil)
	p.results(claimed[:1], 1, "succeed", succeed)
	before := p.asked
	if p.results(claimed[1:2], 1, "succeed", succeed); p.asked != before {
		t.Error("asked about what agrees")
	}

	next, effects, err := lifecycle.Step(p.Policy, &claimed[2], succeed(claimed[2].LeaseToken), p.Now())
	must(t, err)
	d, ok := lifecycle.Remember(&claimed[2], &next, &effects)
	if !ok || len(d.Columns()) != len(differing) {
		t.Fatalf("depends on %v", d.Columns())
	}
	p.owner.run("alter table recoup.error disable trigger user")
	asked := errors.New("asked")
	for i, column := range d.Columns() {
		e, table := claimed[2+i], "recoup.error"
		if column == "policy_version" { // which a rebase changes there first
			table = "recoup.due"
		}
		p.owner.run(fmt.Sprintf("update %s set %s where error_id = '%s'", table, differing[column], e.ID))
		outcomes, err := p.store.ApplySteps(t.Context(), p.Now(), []store.Step{{
			ID: e.ID, Result: &store.Result{Token: e.LeaseToken, Like: "succeed", Brief: true},
			Decide: func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
				return recoup.Error{}, lifecycle.Effects{}, asked
			},
		}})
		must(t, err)
		if !errors.Is(outcomes[0].Err, asked) {
			t.Errorf("applied what differs in %s", column)
		}
	}
}

// Results of different workers are recorded by one decision, and the history names
// the worker of each.
func TestRememberedKeepsWorkersApart(t *testing.T) {
	t.Parallel()
	for name, in := range map[string]func(recoup.ID) lifecycle.Input{"succeed": succeed, "fail": failAgain} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			p.backlog(dol, 3)
			p.Wait(time.Minute)
			claimed := p.claim(dol, 3, 3, nil)
			p.results(claimed[:1], 1, name, in)
			p.owner.run(fmt.Sprintf("update recoup.due set lease_worker = 'w2' where error_id = '%s'", claimed[1].ID))
			p.owner.run(fmt.Sprintf("update recoup.due set lease_worker = null where error_id = '%s'", claimed[2].ID))
			before := p.asked
			p.results(claimed[1:], 2, name, in)
			if p.asked != before {
				t.Errorf("%d were decided for themselves", p.asked-before)
			}
			for i, want := range []string{"w1", "w2", recoup.System} {
				history, err := p.store.History(t.Context(), claimed[i].ID, 10)
				must(t, err)
				last := history[len(history)-1]
				if e := p.Read(claimed[i].ID); last.Actor != want || last.Worker != map[string]string{"w1": "w1", "w2": "w2"}[want] || name == "succeed" && e.ResolvedBy != want {
					t.Errorf("%d: by %q (%q), resolved by %q; want %q", i, last.Actor, last.Worker, e.ResolvedBy, want)
				}
			}
		})
	}
}

// What recoup.settle writes by itself is what the guards see to for everybody else:
// one and the same error, gate's log, counts and queue for the archive.
func TestRememberedFollowsUpAsGuardsDo(t *testing.T) {
	t.Parallel()
	left := func(together bool) (rows string) {
		p := newPair(t)
		p.backlog(dol, 4)
		p.backlog("outreach.company_target_errors", 4)
		p.Wait(time.Minute)
		for _, table := range []string{dol, "outreach.company_target_errors"} {
			claimed, like := p.claim(table, 4, 4, nil), any(nil)
			if together {
				like = "succeed"
			}
			p.results(claimed[:1], 1, like, succeed)
			p.results(claimed[1:], 3, like, succeed)
		}
		if asked := 8 + map[bool]int{true: 2, false: 8}[together]; p.asked != asked {
			t.Errorf("asked %d times", p.asked)
		}
		return ask[string](p.owner, `select jsonb_pretty(jsonb_build_array(
			(select jsonb_agg(x order by x) from (select table_name, state, ttl_us, sum(n) n, sum(blocking) b, sum(born_s) s, sum(born_us) u from recoup.error_count group by 1, 2, 3
				having sum(n) <> 0 or sum(blocking) <> 0 or sum(born_s) <> 0 or sum(born_us) <> 0) x),
			(select jsonb_agg(x order by x) from (select g.entity_id, g.blocks from recoup.gate_log g join recoup.error using (error_id)) x),
			(select jsonb_agg(x order by x) from (select e.entity_id, r.resolved_at = e.resolved_at as waits from recoup.resolved r join recoup.error e using (error_id)) x),
			(select jsonb_agg(to_jsonb(e) - 'error_id' - 'correlation_id' - 'last_attempt' order by entity_id) from recoup.error e),
			(select jsonb_agg(to_jsonb(h) - 'error_id' - 'seq' - 'attempt' order by entity_id, h.seq) from recoup.transition h join recoup.error e using (error_id)),
			(select jsonb_agg(to_jsonb(d)) from recoup.due d)))`)
	}
	if by, alone := left(true), left(false); by != alone {
		t.Errorf("applied together:\n%s\nby themselves:\n%s", by, alone)
	}
}
