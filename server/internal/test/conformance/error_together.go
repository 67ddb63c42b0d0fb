package conformance

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Remembering is a store that applies a remembered decision to other errors.
type Remembering interface {
	Store
	store.PolicyWriter
	Activity(ctx context.Context, span store.Span) ([]store.Activity, error)
}

// RunTogether compares errors to which remembered decisions were applied with errors
// that were decided one by one.
func RunTogether(t *testing.T, open func(*testing.T) Remembering) {
	for name, test := range map[string]func(*pair){
		"success as one by one":    func(p *pair) { p.asOneByOne("succeed", succeedWith) },
		"failure as one by one":    func(p *pair) { p.asOneByOne("fail", failWith) },
		"fenced":                   (*pair).fenced,
		"asked of another policy":  (*pair).rebased,
		"mixed with what is alone": (*pair).mixed,
		"in its order":             (*pair).inOrder,
		"swept as one by one":      (*pair).swept,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			test(&pair{NewDriver(t, s), s, 0})
		})
	}
}

// pair is a store on which the same happens to two sets of errors: to one of them
// each is decided for itself, to the other what can be decided together is.
type pair struct {
	*Driver
	store Remembering
	asked int // how often something was decided on its own
}

func succeedWith(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} }

func failWith(token recoup.ID) lifecycle.Input {
	return lifecycle.Fail{Token: token, Failure: Failure("NETWORK_TIMEOUT")}
}

func (p *pair) must(err error) {
	p.Helper()
	if err != nil {
		p.Fatal(err)
	}
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
		p.must(err)
		for i, out := range outcomes {
			p.must(out.Err)
			if got := p.Read(part[i].ID); got != out.Error {
				p.Errorf("answered with %+v\nstored is %+v", out.Error, got)
			}
		}
	}
}

// outline is an error and its history without ids and its entity.
func (p *pair) outline(e recoup.Error) string {
	p.Helper()
	now := p.Read(e.ID)
	history, err := p.store.History(p.Context(), e.ID, 10)
	p.must(err)
	for i := range history {
		history[i].ErrorID, history[i].Attempt = recoup.ID{}, recoup.ID{}
	}
	if now.LastAttempt.IsZero() || len(history) == 0 {
		p.Errorf("nothing has happened to %v", e.ID)
	}
	now.ID, now.EntityID, now.LastAttempt, now.CorrelationID, now.GroupID = recoup.ID{}, "", recoup.ID{}, recoup.ID{}, recoup.ID{}
	return fmt.Sprintf("%+v\n%+v", now, history)
}

// asOneByOne: the errors, their history, the counts and the activity are what they
// are one by one; and after the first of a kind no decision is asked for.
func (p *pair) asOneByOne(name string, in func(recoup.ID) lifecycle.Input) {
	const n, other = 12, "outreach.company_target_errors"
	alone, together := p.backlog(dol, n), p.backlog(other, n)
	p.Wait(time.Minute)
	p.results(p.claim(dol, 4, n, nil), 4, nil, in)
	before := p.asked
	claimed := p.claim(other, 4, n, "claim")
	if asked := p.asked - before; asked != 4 {
		p.Errorf("%d claims were decided for themselves, want those of the first four", asked)
	}
	before = p.asked
	p.results(claimed, 4, name, in)
	if asked := p.asked - before; asked != 4 {
		p.Errorf("%d results were decided for themselves, want the first four", asked)
	}
	for i := range alone {
		if got, want := swap(p.outline(together[i])), p.outline(alone[i]); got != want {
			p.Errorf("decided together:\n%s\none by one:\n%s", got, want)
		}
	}
	p.wantLevels()
}

// swap replaces the name of the one table by that of the other.
func swap(outline string) string {
	return strings.ReplaceAll(outline, "outreach.company_target_errors", dol)
}

func (p *pair) backlog(table string, n int) (list []recoup.Error) {
	for i := range n {
		list = append(list, p.Report(table, fmt.Sprint(table, i), "NETWORK_TIMEOUT", recoup.Medium))
	}
	return list
}

// wantLevels holds counts and activity of the two tables against each other.
func (p *pair) wantLevels() {
	p.Helper()
	counts, err := p.store.Counts(p.Context())
	p.must(err)
	if len(counts) != 2 || counts[0].State != counts[1].State || counts[0].N != counts[1].N {
		p.Errorf("counts are %+v", counts)
	}
	activity, err := p.store.Activity(p.Context(), store.Span{From: p.Now().Add(-time.Hour), To: p.Now().Add(time.Hour)})
	p.must(err)
	if len(activity) != 2 {
		p.Fatalf("activity is %+v", activity)
	}
	activity[0].Table = activity[1].Table
	if activity[0] != activity[1] {
		p.Errorf("activity is %+v", activity)
	}
}

// fenced: a result under another token than the lease's is decided for itself, and
// refused.
func (p *pair) fenced() {
	p.backlog(dol, 3)
	p.Wait(time.Minute)
	claimed := p.claim(dol, 3, 3, nil)
	p.results(claimed[:1], 1, "like", succeedWith)
	stale := p.ID()
	outcomes, err := p.store.ApplySteps(p.Context(), p.Now(), []store.Step{
		{ID: claimed[1].ID, Decide: p.decide(succeedWith(stale)), Result: &store.Result{Token: stale, Like: "like"}},
		{ID: claimed[2].ID, Decide: p.decide(succeedWith(claimed[2].LeaseToken)), Result: &store.Result{Token: claimed[2].LeaseToken, Like: "like", Brief: true}},
		{ID: claimed[2].ID, Decide: p.decide(succeedWith(claimed[2].LeaseToken)), Result: &store.Result{Token: claimed[2].LeaseToken, Like: "like"}},
	})
	p.must(err)
	if outcomes[0].Err == nil || p.Read(claimed[1].ID).State != recoup.RetryPending {
		p.Errorf("a stale token: %+v", outcomes[0])
	}
	if outcomes[1].Err != nil || outcomes[1].Error.State != recoup.Resolved {
		p.Errorf("in brief: %+v", outcomes[1])
	}
	if outcomes[2].Err != nil || outcomes[2].Error.State != recoup.Resolved {
		p.Errorf("sent again: %+v", outcomes[2])
	}
}

// rebased: what has come under another policy meanwhile is decided for itself.
func (p *pair) rebased() {
	p.backlog(dol, 2)
	p.Wait(time.Minute)
	claimed := p.claim(dol, 2, 2, nil)
	p.results(claimed[:1], 1, "like", succeedWith)
	second, err := policy.Load("second", []byte(strings.Replace(policy.Default().Text(), policy.Default().Version, "2.0.0", 1)), fault.Default())
	p.must(err)
	_, _, err = p.store.AddPolicy(p.Context(), wire.PolicyVersion{Version: second.Version, Text: second.Text()}, store.Act{By: "ada", Reason: "second", At: p.Now()})
	p.must(err)
	from := p.Policy
	p.Policy = second
	outcomes, err := p.store.ApplySteps(p.Context(), p.Now(), []store.Step{{ID: claimed[1].ID, Decide: p.decide(lifecycle.Rebase{By: "ada", From: from})}})
	p.must(err)
	p.must(outcomes[0].Err)
	before := p.asked
	p.results(claimed[1:], 1, "like", succeedWith)
	if p.asked == before || p.Read(claimed[1].ID).State != recoup.Resolved {
		p.Errorf("asked %d times", p.asked-before)
	}
}

// mixed: one batch in which some is decided as before and some for itself, of errors
// that differ in what the remembered decision does not look at.
func (p *pair) mixed() {
	p.results(p.claimed(p.backlog(dol, 1)), 1, "like", succeedWith)
	list := p.claimed([]recoup.Error{
		p.Report(dol, "as before", "NETWORK_TIMEOUT", recoup.Medium),
		p.Report(dol, "of another code", "CONNECTION_RESET", recoup.Medium),
		p.Report(dol, "reported later", "NETWORK_TIMEOUT", recoup.Medium),
	})
	before := p.asked
	p.results(list, 3, "like", succeedWith)
	if asked := p.asked - before; asked == 0 || asked == 3 {
		p.Errorf("%d of 3 were decided for themselves", asked)
	}
	for i := range list {
		if e := p.Read(list[i].ID); e.State != recoup.Resolved || e.LastAttempt != list[i].LeaseToken {
			p.Errorf("%s is %+v", e.EntityID, e)
		}
	}
}

// claimed claims errors as soon as they are due.
func (p *pair) claimed(list []recoup.Error) []recoup.Error {
	p.Helper()
	p.Wait(time.Hour)
	return p.claim(dol, len(list), len(list), "claim")
}

// inOrder: what comes behind another step of its error sees what that has done.
func (p *pair) inOrder() {
	p.results(p.claimed(p.backlog(dol, 1)), 1, "like", succeedWith)
	e := p.claimed([]recoup.Error{p.Report(dol, "twice", "NETWORK_TIMEOUT", recoup.Medium)})[0]
	outcomes, err := p.store.ApplySteps(p.Context(), p.Now(), []store.Step{
		{ID: e.ID, Decide: p.decide(lifecycle.Park{By: "ada", Reason: "look"})},
		{ID: e.ID, Decide: p.decide(succeedWith(e.LeaseToken)), Result: &store.Result{Token: e.LeaseToken, Like: "like"}},
	})
	p.must(err)
	if outcomes[0].Err != nil || outcomes[1].Err == nil || p.Read(e.ID).State != recoup.Parked {
		p.Errorf("parked, then too late: %+v", outcomes)
	}
}

// expire lets the time of errors be over, some at a time.
func (p *pair) expire(list []recoup.Error, step int, like any) {
	p.Helper()
	for part := range slices.Chunk(list, step) {
		steps := make([]store.Step, len(part))
		for i, e := range part {
			steps[i] = store.Step{ID: e.ID, Decide: p.decide(lifecycle.Expire{}), Result: &store.Result{Like: like, Brief: true}}
		}
		outcomes, err := p.store.ApplySteps(p.Context(), p.Now(), steps)
		p.must(err)
		for _, out := range outcomes {
			p.must(out.Err)
		}
	}
}

// ended is an archived error, its history and its gate's log, without what makes it
// another one.
func (p *pair) ended(e recoup.Error) string {
	p.Helper()
	now := p.Read(e.ID)
	history, err := p.store.History(p.Context(), e.ID, 10)
	p.must(err)
	for i := range history {
		history[i].ErrorID = recoup.ID{}
	}
	gate, err := p.store.GateLog(p.Context(), e.EntityID, 10)
	p.must(err)
	if now.State != recoup.Archived || len(history) != 2 || len(gate) != 2 {
		p.Fatalf("%v is %s: %v, %v", e.ID, now.State, history, gate)
	}
	now.ID, now.EntityID, now.CorrelationID, now.GroupID = recoup.ID{}, "", recoup.ID{}, recoup.ID{}
	return fmt.Sprintf("%+v\n%+v\n%v %v", now, history, gate[0].Act, gate[1].Act)
}

// swept: what a sweep decides together is what it decides one by one, the archive, the
// history, the gate's log and the counts; and what does not agree with what was decided,
// because a worker holds it or somebody was paged for it, is decided for itself.
func (p *pair) swept() {
	const n, other = 12, "outreach.company_target_errors"
	late := p.lateInLife("held")
	p.WaitUntil(late.ExpiresAt.Add(-time.Second))
	held := p.ClaimDue(late)
	p.WaitUntil(late.ExpiresAt)
	alone, together := p.backlog(dol, n), p.backlog(other, n)
	paged := p.Report(other, "paged", "RUNTIME_BUG", recoup.Medium)
	step := func(id recoup.ID) store.Step {
		return store.Step{ID: id, Decide: p.decide(lifecycle.Expire{}), Result: &store.Result{Like: "sweep", Brief: true}}
	}
	out, err := p.store.ApplySteps(p.Context(), p.Now(), []store.Step{step(held.ID)})
	p.must(err)
	if out[0].Err == nil || p.Read(held.ID).LeaseToken != held.LeaseToken {
		p.Errorf("what a worker holds has expired: %v", out[0].Err)
	}
	p.WaitUntil(paged.ExpiresAt.Add(time.Hour))
	p.expire(alone, 4, nil)
	p.expire([]recoup.Error{held}, 4, nil)
	before := p.asked
	p.expire(together, 4, "sweep")
	if asked := p.asked - before; asked != 1 {
		p.Errorf("%d were decided for themselves, want the first", asked)
	}
	for i := range together {
		if got, want := swap(p.ended(together[i])), p.ended(alone[i]); got != want {
			p.Errorf("decided together:\n%s\none by one:\n%s", got, want)
		}
	}
	before = p.asked
	p.expire([]recoup.Error{paged}, 1, "sweep")
	if p.asked != before+1 {
		p.Error("nobody was asked about what somebody was paged for")
	}
}
