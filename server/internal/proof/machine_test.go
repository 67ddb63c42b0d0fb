package proof

import (
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// lean is the default policy without the codes it names, which makes the space
// an order of magnitude smaller.
func lean() *policy.Policy {
	return policy.Default().With(nil, "parking", "conditions").With(nil, "hubs", "company-target", "overrides", "auto_park")
}

// The loader refuses these policies. The proof does not rely on that.
func TestVariantsThatBreakARule(t *testing.T) {
	for _, row := range []struct {
		name, rule string
		variant    func(*policy.Policy) *policy.Policy
		message    string
	}{
		{"a severity that never ends", deadEnd, func(p *policy.Policy) *policy.Policy {
			return p.With("INFINITE", "severities", "HIGH", "ttl").With([]any{"ARCHIVE"}, "tables", discovery, "allowed")
		}, "errors in outreach.dol_errors never end if nobody does anything"},
		{"a hub without a team", owner, func(p *policy.Policy) *policy.Policy {
			return p.With("", "hubs", "dol-filings", "team")
		}, "nobody owns what is parked in outreach.dol_errors"},
		{"retries without a way out", retryExit, func(p *policy.Policy) *policy.Policy {
			return p.With([]any{"RETRY", "IGNORE"}, "tables", discovery, "allowed").With("IGNORE", "tables", discovery, "default")
		}, "an error in company.url_discovery_failures whose retries are spent has nowhere to go: the table allows neither PARK nor ARCHIVE"},
		{"nothing but retries", retryExit, func(p *policy.Policy) *policy.Policy {
			return p.With([]any{"RETRY"}, "tables", discovery, "allowed").With("RETRY", "tables", discovery, "default")
		}, "what must not be retried is retried in company.url_discovery_failures"},
		{"an endless table that retries", infinite, func(p *policy.Policy) *policy.Policy {
			return p.With("INFINITE", "tables", discovery, "ttl")
		}, "an error becomes RETRY_PENDING in company.url_discovery_failures, which keeps errors for ever as they are"},
		{"a default that is not allowed", disposition, func(p *policy.Policy) *policy.Policy {
			return p.With("IGNORE", "tables", dol, "default")
		}, "an error in outreach.dol_errors gets the disposition IGNORE, which the table does not allow"},
	} {
		t.Run(row.name, func(t *testing.T) {
			expect(t, Check(row.variant(lean()), fault.Default()), row.rule, row.message)
		})
	}
}

// A broken state machine does not pass: each of these differs from the real one
// in one way, and the proof says which.
func TestMachinesThatBreakARule(t *testing.T) {
	refused := &lifecycle.Refusal{Code: lifecycle.InvalidTransition}
	type outcome func(in lifecycle.Input, e *recoup.Error, effects *lifecycle.Effects) error
	for _, row := range []struct {
		name, rule string
		broken     outcome
		message    string
	}{
		{"the TTL is ignored", deadEnd, func(in lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			if _, is := in.(lifecycle.Expire); is && e.Table == dol {
				return refused
			}
			return nil
		}, "errors in outreach.dol_errors never end if nobody does anything"},
		{"people cannot end orphans", deadEnd, func(in lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			switch in.(type) {
			case lifecycle.Resolve, lifecycle.ArchiveNow:
				if e.Table == orphans {
					return refused
				}
			}
			return nil
		}, "no person can end what is parked in public.shq_orphan_errors"},
		{"the count runs away", budget, func(in lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			if _, is := in.(lifecycle.Fail); is && e.Table == dol && e.RetryExhausted {
				e.RetryCount = e.MaxRetries + 1
			}
			return nil
		}, "an error in outreach.dol_errors was retried more often than its budget allows"},
		{"failures do not count", budget, func(in lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			if _, is := in.(lifecycle.Fail); is && e.Table == dol && e.State == recoup.RetryPending {
				e.RetryCount--
			}
			return nil
		}, "an error in outreach.dol_errors was retried more often than its budget allows"},
		{"the gate stays shut", unblockable, func(_ lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			e.Blocking = e.Table == dol
			return nil
		}, "no person can unblock the entity of an error in outreach.dol_errors"},
		{"parking forgets the tier", owner, func(_ lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			if e.Table == dol && e.State == recoup.Parked {
				e.EscalationLevel = 0
			}
			return nil
		}, "nobody owns what is parked in outreach.dol_errors"},
		{"giving up forgets the reason", retryExit, func(in lifecycle.Input, e *recoup.Error, _ *lifecycle.Effects) error {
			if _, is := in.(lifecycle.Report); !is && e.State == recoup.Active {
				e.ParkReason = ""
			}
			return nil
		}, "an error in company.url_discovery_failures is given up and nobody hears why"},
		{"not parking forgets the reason", retryExit, func(in lifecycle.Input, e *recoup.Error, effects *lifecycle.Effects) error {
			if _, is := in.(lifecycle.Report); is && effects.Superseded == nil && e.State == recoup.Active {
				e.ParkReason = ""
			}
			return nil
		}, "an error in company.url_discovery_failures is given up and nobody hears why"},
		{"a repeat forgets the tier", owner, func(in lifecycle.Input, e *recoup.Error, effects *lifecycle.Effects) error {
			if effects.Superseded != nil && e.Table == dol {
				e.EscalationLevel = 0
			}
			return nil
		}, "nobody owns what is parked in outreach.dol_errors"},
		{"giving up tells nobody", retryExit, func(_ lifecycle.Input, e *recoup.Error, effects *lifecycle.Effects) error {
			if e.State == recoup.Active {
				effects.Notices = lifecycle.Notices{}
			}
			return nil
		}, "an error in company.url_discovery_failures is given up and nobody hears why"},
	} {
		t.Run(row.name, func(t *testing.T) {
			step := func(p *policy.Policy, e *recoup.Error, in lifecycle.Input, now time.Time) (recoup.Error, lifecycle.Effects, error) {
				next, effects, err := lifecycle.Step(p, e, in, now)
				if err == nil {
					err = row.broken(in, &next, &effects)
				}
				return next, effects, err
			}
			expect(t, check(lean(), fault.Default(), step), row.rule, row.message)
		})
	}
}

// A repeat starts a new TTL, so an error that is reported again and again climbs
// higher. That does not make a rung reachable for a failure that happens once.
func TestRepeatsDoNotReachARung(t *testing.T) {
	lateRepeats := func(p *policy.Policy, e *recoup.Error, in lifecycle.Input, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		escalate, _ := in.(lifecycle.Escalate)
		_, repeat := in.(lifecycle.Report)
		if escalate.By != "" || repeat && e != nil && now.Equal(epoch) {
			return *e, lifecycle.Effects{}, &lifecycle.Refusal{Code: lifecycle.InvalidTransition}
		}
		return lifecycle.Step(p, e, in, now)
	}
	r := check(lean(), fault.Default(), lateRepeats)
	if !slices.ContainsFunc(r.Findings, func(f Finding) bool { return f.Rule == unreachableRung }) {
		t.Errorf("tier 3 is said to be within reach:\n%s", text(r))
	}
}

// expect wants exactly one new finding, of this rule, with this message, a place
// in the file and a counterexample.
func expect(t *testing.T, r Report, rule, message string) {
	t.Helper()
	for _, f := range provokes(t, r, rule) {
		if f.Message == message && f.Level == Error && f.Line > 0 && len(f.Example) > 0 && f.Cases > 0 {
			return
		}
	}
	t.Errorf("no finding says %q:\n%s", message, text(r))
}
