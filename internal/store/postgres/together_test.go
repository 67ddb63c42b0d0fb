package postgres_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/test/conformance"
)

// pair is a store on which the same happens to two sets of errors: to one of them
// each is decided for itself, to the other what can be decided together is.
type pair struct {
	*conformance.Driver
	T     *testing.T
	store *postgres.Store
	asked int // how often something was decided on its own
}

func newPair(t *testing.T) *pair {
	t.Helper()
	s, _, _ := governed(t)
	return &pair{conformance.NewDriver(t, s), t, s, 0}
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

// told is an error and its history without what makes it another one.
func (p *pair) told(e recoup.Error) string {
	p.Helper()
	now := p.Read(e.ID)
	history, err := p.store.History(p.Context(), e.ID, 10)
	must(p.T, err)
	for i := range history {
		history[i].ErrorID, history[i].Attempt = recoup.ID{}, recoup.ID{}
	}
	if now.LastAttempt.IsZero() || len(history) == 0 {
		p.Errorf("nothing has happened to %v", e.ID)
	}
	now.ID, now.EntityID, now.LastAttempt, now.CorrelationID = recoup.ID{}, "", recoup.ID{}, recoup.ID{}
	return fmt.Sprintf("%+v\n%+v", now, history)
}

// What is decided together is what is decided one by one: the errors, their history,
// the counts and the activity; and nobody is asked once one of a kind was decided.
func TestDecidedTogetherAsOneByOne(t *testing.T) {
	t.Parallel()
	const n = 12
	for name, in := range map[string]func(recoup.ID) lifecycle.Input{
		"succeed": func(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} },
		"fail": func(token recoup.ID) lifecycle.Input {
			return lifecycle.Fail{Token: token, Failure: conformance.Failure("NETWORK_TIMEOUT")}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := newPair(t)
			alone, together := p.backlog(dol, n), p.backlog("outreach.company_target_errors", n)
			p.Wait(time.Minute)
			p.results(p.claim(dol, 4, n, nil), 4, nil, in)
			before := p.asked
			claimed := p.claim("outreach.company_target_errors", 4, n, "claim")
			if asked := p.asked - before; asked != 4 {
				t.Errorf("%d claims were decided for themselves, want those of the first four", asked)
			}
			before = p.asked
			p.results(claimed, 4, name, in)
			if asked := p.asked - before; asked != 4 {
				t.Errorf("%d results were decided for themselves, want the first four", asked)
			}
			for i := range alone {
				one, other := p.told(alone[i]), p.told(together[i])
				if got, want := swap(other), one; got != want {
					t.Errorf("decided together:\n%s\none by one:\n%s", got, want)
				}
			}
			p.wantLevels()
		})
	}
}

// swap gives what is told of the one table the name of the other.
func swap(told string) string {
	return strings.ReplaceAll(told, "outreach.company_target_errors", dol)
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
	must(p.T, err)
	if len(counts) != 2 || counts[0].State != counts[1].State || counts[0].N != counts[1].N {
		p.Errorf("counts are %+v", counts)
	}
	activity, err := p.store.Activity(p.Context(), store.Span{From: p.Now().Add(-time.Hour), To: p.Now().Add(time.Hour)})
	must(p.T, err)
	if len(activity) != 2 {
		p.Fatalf("activity is %+v", activity)
	}
	activity[0].Table = activity[1].Table
	if activity[0] != activity[1] {
		p.Errorf("activity is %+v", activity)
	}
}

// A token that is not that of the lease goes to whoever decides, and is refused.
func TestTogetherIsFenced(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 3)
	p.Wait(time.Minute)
	claimed := p.claim(dol, 3, 3, nil)
	in := func(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} }
	p.results(claimed[:1], 1, "like", in)
	stale := p.ID()
	outcomes, err := p.store.ApplySteps(t.Context(), p.Now(), []store.Step{
		{ID: claimed[1].ID, Decide: p.decide(in(stale)), Result: &store.Result{Token: stale, Like: "like"}},
		{ID: claimed[2].ID, Decide: p.decide(in(claimed[2].LeaseToken)), Result: &store.Result{Token: claimed[2].LeaseToken, Like: "like", Brief: true}},
		{ID: claimed[2].ID, Decide: p.decide(in(claimed[2].LeaseToken)), Result: &store.Result{Token: claimed[2].LeaseToken, Like: "like"}},
	})
	must(t, err)
	if outcomes[0].Err == nil || p.Read(claimed[1].ID).State != recoup.RetryPending {
		t.Errorf("a stale token: %+v", outcomes[0])
	}
	if outcomes[1].Err != nil || outcomes[1].Error.State != recoup.Resolved || outcomes[1].Error.EntityID != "" {
		t.Errorf("in brief: %+v", outcomes[1])
	}
	if outcomes[2].Err != nil || outcomes[2].Error.State != recoup.Resolved {
		t.Errorf("sent again: %+v", outcomes[2])
	}
}

// What was rebased to another policy meanwhile is decided for itself.
func TestTogetherAsksAgainUnderAnotherPolicy(t *testing.T) {
	t.Parallel()
	p := newPair(t)
	p.backlog(dol, 2)
	p.Wait(time.Minute)
	claimed := p.claim(dol, 2, 2, nil)
	in := func(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} }
	p.results(claimed[:1], 1, "like", in)
	second, err := policy.Load("second", []byte(strings.Replace(policy.Default().Text(), policy.Default().Version, "2.0.0", 1)), fault.Default())
	must(t, err)
	from := p.Policy
	p.Policy = second
	outcomes, err := p.store.ApplySteps(t.Context(), p.Now(), []store.Step{{ID: claimed[1].ID, Decide: p.decide(lifecycle.Rebase{By: "ada", From: from})}})
	must(t, err)
	must(t, outcomes[0].Err)
	before := p.asked
	p.results(claimed[1:], 1, "like", in)
	if p.asked == before || p.Read(claimed[1].ID).State != recoup.Resolved {
		t.Errorf("asked %d times", p.asked-before)
	}
}
