package gatezero

import (
	"cmp"
	"context"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lease"
)

// How long a worker holds what it has claimed.
const (
	DefaultLease = 5 * time.Minute
	MaxLease     = time.Hour
)

// ClaimAny is work of both kinds: eligible recoveries, then new intakes.
const ClaimAny = ""

// Claim leases work: recoveries that are eligible, the longest waiting first, and
// where there are too few, intakes that nobody has verified yet. A case without a
// recovery is such an intake; its result needs no token, because only the first
// one counts. Nothing of a killed batch is handed out, no recovery before its
// time, and none of a frozen batch.
func (s *Service) Claim(ctx context.Context, in recoup.GateZeroClaim) ([]Case, error) {
	if err := CheckClaim(in); err != nil {
		return nil, err
	}
	limit, lasts := lease.Limit(in.Limit), cmp.Or(lease.Seconds(in.LeaseSeconds), DefaultLease)
	var cases []Case
	if in.What != recoup.ClaimIntakes {
		gate := s.gate()
		claimed, err := s.store.ClaimEligible(ctx, RecoveryClaim{Batch: in.BatchID, Limit: limit,
			Decide: func(current Case, now time.Time) (Case, CaseEffects, error) {
				return Step(gate, current, Claim{Token: s.ids.New(now), Worker: in.Worker, Lease: lasts}, now)
			}})
		if err != nil {
			return nil, err
		}
		cases = claimed
	}
	if in.What == recoup.ClaimRecoveries || len(cases) >= limit {
		return cases, nil
	}
	intakes, at, err := s.store.ClaimPending(ctx, IntakeClaim{
		Batch: in.BatchID, Worker: in.Worker, Limit: limit - len(cases), Lease: lasts,
	})
	for i := range intakes {
		cases = append(cases, Case{Intake: intakes[i], Lease: RecoveryLease{
			Lease: recoup.NewLease(recoup.ID{}, in.Worker, at, lasts),
		}})
	}
	return cases, err
}

// CheckClaim says what is wrong with a claim, all of it.
func CheckClaim(in recoup.GateZeroClaim) error {
	var f check.Fields
	lease.CheckClaim(&f, in.Worker, in.Limit, in.LeaseSeconds, 0)
	f.Identifier("batch_id", in.BatchID)
	if lease.Seconds(in.LeaseSeconds) > MaxLease {
		f.Addf("lease_seconds", "range", "a lease lasts an hour at most")
	}
	if in.What != ClaimAny && in.What != recoup.ClaimIntakes && in.What != recoup.ClaimRecoveries {
		f.Addf("what", "enum", "what must be %s or %s, or left out", recoup.ClaimRecoveries, recoup.ClaimIntakes)
	}
	return f.Err()
}

// Record records results in order; each succeeds or fails on its own. The error of an outcome
// is a *[Refusal], a *[fault.Error] about what the result lacks, or
// sqldb.ErrNotFound. What was recorded already is refused and changes nothing.
func (s *Service) Record(ctx context.Context, results []recoup.GateZeroResult) ([]CaseOutcome, error) {
	now, out := s.now(), make([]CaseOutcome, len(results))
	var first, retried batch.Part[CaseStep]
	for i := range results {
		r := &results[i]
		in, err := s.input(r, now)
		switch {
		case err != nil:
			out[i].Err = err
		case r.RecoveryID.IsZero():
			first.Add(i, CaseStep{ID: r.IntakeID, Decide: s.decide(in)})
		default:
			retried.Add(i, CaseStep{ID: r.RecoveryID, Decide: s.decide(in)})
		}
	}
	take := func(i int, o *CaseOutcome) error { out[i] = *o; return nil }
	err := batch.Do(ctx, &first, s.store.RecordResults, take)
	if err == nil {
		err = batch.Do(ctx, &retried, s.store.FinishRecoveries, take)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

// GiveBack ends the lease of a retry that could not be made, through no fault of the
// company: no attempt is used, and it can be claimed again at once.
func (s *Service) GiveBack(ctx context.Context, id, token recoup.ID) error {
	done, err := s.store.FinishRecoveries(ctx, []CaseStep{{ID: id, Decide: s.decide(GiveBack{Token: token})}})
	if err != nil {
		return err
	}
	return done[0].Err
}

// GiveBackIntake ends the turn of a first verification as it was claimed: others can
// claim it at once. If it is another's by now nothing happens.
func (s *Service) GiveBackIntake(ctx context.Context, c *Case) error {
	return s.store.ReturnPending(ctx, c.Intake.ID, c.Lease.LeaseWorker, c.Lease.LeaseEndsAt)
}

// input is what a result is to the state machine.
func (s *Service) input(r *recoup.GateZeroResult, now time.Time) (Input, error) {
	if err := s.CheckResult(r); err != nil {
		return nil, err
	}
	if r.Verdict == recoup.VerdictPass {
		return Pass{Token: r.LeaseToken, Worker: r.Worker, NewIntakeID: s.ids.New(now)}, nil
	}
	return Fail{Token: r.LeaseToken, Worker: r.Worker, Reason: r.Reason, RecoveryID: s.ids.New(now)}, nil
}

// CheckResult says what is wrong with a result, all of it.
func (s *Service) CheckResult(r *recoup.GateZeroResult) error {
	var f check.Fields
	f.Identifier("worker", r.Worker)
	if r.IntakeID.IsZero() && r.RecoveryID.IsZero() {
		f.Addf("intake_id", "required", "intake_id or recovery_id is required")
	}
	if r.Verdict == recoup.VerdictFail && !known(s.gate(), r.Reason) {
		f.Addf("reason", "enum", "reason must be one of %s", strings.Join(reasons(s.gate()), ", "))
	}
	if r.Verdict == recoup.VerdictPass && r.Reason != "" {
		f.Addf("reason", "unexpected", "a PASS has no reason")
	}
	if r.Verdict != recoup.VerdictPass && r.Verdict != recoup.VerdictFail {
		f.Addf("verdict", "enum", "verdict must be PASS or FAIL")
	}
	return f.Err()
}

// Fault is a refusal in the contract that callers see.
func (r *Refusal) Fault() *fault.Error {
	e := fault.Wrap(r, r.Code, "%s", strings.TrimPrefix(r.Error(), string(r.Code)+": ")).With("input", string(r.Input))
	if r.Status != none {
		e = e.With("status", string(r.Status))
	}
	return e
}
