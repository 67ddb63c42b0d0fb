package push

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// outcomePass is the outcome of a verification that does not fail.
const outcomePass = "pass"

// gateSource is verifications of Gate Zero, of one batch or of all.
type gateSource struct {
	*Options
	worker string
	batch  string
}

func (s *gateSource) claim(ctx context.Context, limit, lease int) ([]delivery, error) {
	cases, err := s.Gate.Claim(ctx, recoup.GateZeroClaim{Worker: s.worker, Limit: limit, LeaseSeconds: lease, BatchID: s.batch})
	list := make([]delivery, len(cases))
	for i := range cases {
		list[i] = &gateParcel{s, &cases[i]}
	}
	return list, err
}

// gateParcel is the verification of a company.
type gateParcel struct {
	*gateSource
	company *store.Case
}

// key is that of the intake for its first verification, and of the recovery and how
// often it has failed for a retry.
func (p *gateParcel) key() string {
	if r := &p.company.Recovery; !r.ID.IsZero() {
		return "recovery/" + r.ID.String() + "/" + strconv.Itoa(r.AttemptCount)
	}
	return "intake/" + p.company.Intake.ID.String()
}

func (p *gateParcel) message() any     { return p.company.Work() }
func (p *gateParcel) until() time.Time { return p.company.Lease.LeaseEndsAt }

// aside: what is given back is the longest waiting, and would be claimed again before
// all others. It is kept for the rest of its lease, a minute at most.
func (p *gateParcel) aside() (time.Time, bool) {
	lease := &p.company.Lease
	end, enough := lease.LeaseEndsAt.Add(-recordTime), lease.LeasedAt.Add(time.Minute)
	if enough.Before(end) {
		return enough, true
	}
	return end, true
}

func (p *gateParcel) record(ctx context.Context, a *answer) (string, error) {
	if a.status == http.StatusNoContent {
		return "", unusable(fault.New(fault.CodeValidationError, "a status of 204 does not say whether the company passed."))
	}
	var result recoup.GateZeroResult
	if err := p.Read(a.body, &result); err != nil {
		return "", unusable(err)
	}
	c := p.company
	if !same(result.IntakeID, c.Intake.ID) || !same(result.RecoveryID, c.Recovery.ID) || !same(result.LeaseToken, c.Lease.LeaseToken) {
		return "", unusable(other())
	}
	result.IntakeID, result.RecoveryID, result.LeaseToken = c.Intake.ID, c.Recovery.ID, c.Lease.LeaseToken
	result.Worker = cmp.Or(result.Worker, p.worker)
	out, err := p.Gate.Record(ctx, []recoup.GateZeroResult{result})
	if err != nil {
		return "", err
	}
	if err := out[0].Err; err != nil && !lost(err) {
		return "", unusable(err)
	}
	if result.Verdict == recoup.VerdictPass {
		return outcomePass, out[0].Err
	}
	return outcomeFail, out[0].Err
}

// giveBack ends the lease of a retry, or the turn of a first verification.
func (p *gateParcel) giveBack(ctx context.Context) error {
	if p.company.Recovery.ID.IsZero() {
		return p.Gate.GiveBackIntake(ctx, p.company)
	}
	return p.Gate.GiveBack(ctx, p.company.Recovery.ID, p.company.Lease.LeaseToken)
}

// same reports whether an id that an answer may leave out is the one it is about.
func same(said, is recoup.ID) bool { return said.IsZero() || said == is }

// other is what is wrong with an answer about something else.
func other() error {
	return fault.New(fault.CodeValidationError, "it is about something else than what was delivered.")
}
