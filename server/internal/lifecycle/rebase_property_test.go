package lifecycle_test

import (
	"errors"
	"testing"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// change is something that the next version of a policy may say otherwise.
type change struct {
	value any
	at    []string
}

// changes lists what a random next version is made of.
func changes() []change {
	list := []change{
		{"10d", []string{"tiers", "MEDIUM", "lasts"}},
		{"3d", []string{"tiers", "SHORT", "lasts"}},
		{"200d", []string{"tiers", "LONG", "lasts"}},
		{2, []string{"retry", "categories", "TRANSIENT", "max_retries"}},
		{7, []string{"retry", "categories", "OPERATIONAL", "max_retries"}},
		{"1h", []string{"retry", "categories", "TRANSIENT", "window"}},
		{nil, []string{"retry", "categories", "OPERATIONAL", "window"}},
		{map[string]any{}, []string{"severities", "LOW"}},
		{map[string]any{}, []string{"severities", "CRITICAL"}},
		{map[string]any{"disposition": "ARCHIVE", "ttl": "LONG"}, []string{"severities", "HIGH"}},
		{[]any{"NETWORK_TIMEOUT"}, []string{"parking", "conditions", "1", "codes"}},
		{nil, []string{"hubs", "dol-filings", "overrides"}},
		{"other-team", []string{"hubs", "dol-filings", "team"}},
		{"6h", []string{"escalation", "ladder", "0", "review_within"}},
		{"24h", []string{"escalation", "ladder", "1", "after"}},
		{nil, []string{"escalation", "ladder", "2"}},
		{"48h", []string{"escalation", "expiry_notice"}},
		{"ARCHIVE", []string{"tables", people, "default"}},
		{"RETRY", []string{"tables", discovery, "default"}},
		{true, []string{"tables", discovery, "blocks"}},
	}
	for _, table := range []string{dol, target, people} {
		list = append(list,
			change{false, []string{"tables", table, "blocks"}},
			change{[]any{"RETRY", "ARCHIVE"}, []string{"tables", table, "allowed"}})
	}
	return list
}

// nextVersion draws another version of the policy.
func nextVersion(t *rapid.T, name string) *policy.Policy {
	p := policy.Default().With(name, "version")
	for _, c := range rapid.SliceOfNDistinct(rapid.SampledFrom(changes()), 0, 5, change.path).Draw(t, name) {
		p = p.With(c.value, c.at...)
	}
	return p
}

func (c change) path() string {
	if c.at[0] == "tables" {
		return c.at[1] // one change of a table at a time, so that they do not contradict each other
	}
	return c.at[0] + c.at[1] + c.at[len(c.at)-1]
}

// checkRebased holds what every rebase must respect.
func checkRebased(t interface {
	Helper()
	Errorf(string, ...any)
}, p *policy.Policy, was, is recoup.Error) {
	t.Helper()
	table, _ := p.Table(is.Table)
	held := was.State == recoup.Parked || was.State == recoup.Escalated
	switch parks := table.Allows(recoup.ActionPark); {
	case is.PolicyVersion != p.Version || !is.UpdatedAt.After(is.CreatedAt) && !is.UpdatedAt.Equal(is.CreatedAt):
		t.Errorf("version %s, updated %v", is.PolicyVersion, is.UpdatedAt)
	case is.RetryCount != was.RetryCount || is.RetryCount > is.MaxRetries || is.RetryExhausted != (is.RetryCount >= is.MaxRetries):
		t.Errorf("%d of %d retries, were %d", is.RetryCount, is.MaxRetries, was.RetryCount)
	case is.State == recoup.RetryPending && (is.RetryExhausted || is.NextRetryAt.IsZero()):
		t.Errorf("retried after %d of %d, due %v", is.RetryCount, is.MaxRetries, is.NextRetryAt)
	case held && parks && (is.State != was.State || is.EscalationLevel < was.EscalationLevel || is.Parking != was.Parking):
		t.Errorf("%s tier %d %+v, was %s tier %d", is.State, is.EscalationLevel, is.Parking, was.State, was.EscalationLevel)
	case held && !parks && (is.State != recoup.Active || is.Disposition != "ARCHIVE" || is.ParkReason != was.ParkReason):
		t.Errorf("%s %s %s where PARK is not allowed", is.State, is.Disposition, is.ParkReason)
	case is.State != recoup.RetryPending && (!is.LeaseToken.IsZero() || !is.NextRetryAt.IsZero()):
		t.Errorf("%s with a lease or a retry: %+v", is.State, is.Lease)
	case is.State == recoup.RetryPending && is.Lease != was.Lease:
		t.Errorf("the lease moved: %+v", is.Lease)
	case (is.State == recoup.Parked) != (is.EscalationLevel > 0) && is.State != recoup.Escalated:
		t.Errorf("%s on tier %d", is.State, is.EscalationLevel)
	case is.Blocking != (table.Blocks && is.Disposition.Blocks()):
		t.Errorf("blocking %v", is.Blocking)
	}
}

// Whatever the next version says, nothing is given back and everything is where
// it may be; and the one after that finds it in order.
func TestRebaseGivesNothingBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t)
		for range rapid.IntRange(0, 15).Draw(t, "length") {
			l.tick()
			l.step()
		}
		from := l.policy
		for _, name := range []string{"8.0.0", "9.0.0"} {
			in := lifecycle.Rebase{By: "ada"}
			if rapid.Bool().Draw(t, "known") {
				in.From = from
			}
			p := nextVersion(t, name)
			next, effects, err := lifecycle.Step(p, &l.e, in, l.now)
			if !l.e.State.Open() || l.e.Table == masterLog {
				var refusal *lifecycle.Refusal
				if !errors.As(err, &refusal) || next != l.e {
					t.Fatalf("%s in %s: %v", l.e.State, l.e.Table, err)
				}
				return
			}
			if err != nil || effects.History.Input != "rebase" {
				t.Fatalf("%v, history %+v", err, effects.History)
			}
			checkRebased(t, p, l.e, next)
			l.e, from = next, p
			l.tick()
		}
	})
}

// A version that says nothing new moves nothing but the version.
func TestRebaseToTheSameRules(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := begin(t)
		for range rapid.IntRange(0, 25).Draw(t, "length") {
			l.tick()
			l.step()
		}
		if l.e.State == recoup.RetryPending && !l.e.WindowEndsAt.IsZero() && l.now.After(l.e.WindowEndsAt) {
			return // overdue: the rebase parks it as the sweep would
		}
		p := *l.policy
		p.Version = "3.0.0"
		next, effects, err := lifecycle.Step(&p, &l.e, lifecycle.Rebase{By: "ada", From: l.policy}, l.now)
		if err != nil {
			return // not open any more, or kept for ever
		}
		want := l.e
		want.PolicyVersion, want.UpdatedAt = p.Version, l.now
		if next != want || len(effects.Notices.All()) > 0 {
			t.Fatalf("notified %v\nwas %+v\nis  %+v", effects.Notices.All(), l.e, next)
		}
	})
}
