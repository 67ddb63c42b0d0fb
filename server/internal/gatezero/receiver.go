package gatezero

import (
	"cmp"
	"context"
	"net/http"
	"strconv"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/push"
)

// ReceiverKind is the name of the kind of receivers that verify companies.
const ReceiverKind = "gate_zero"

// The outcomes of deliveries that are results.
const (
	outcomePass = "pass"
	outcomeFail = "fail"
)

// Receivers returns the kind of receivers that verify companies.
func Receivers() push.Kind {
	return push.Kind{
		Name:     ReceiverKind,
		Noun:     "the verifications of Gate Zero",
		Fields:   []notify.Field{{Name: "batch", Help: "the only batch whose companies it verifies"}},
		Outcomes: []string{outcomePass, outcomeFail},
	}
}

// Deliver returns how the verifications of a service are delivered. Read reads a result as
// strictly as the API does.
func Deliver(gate *Service, read func(document []byte, into any) error) push.OpenSource {
	return func(worker string, values map[string]string) push.Source {
		return &gateSource{gate, read, worker, values["batch"]}
	}
}

// gateSource is verifications of Gate Zero, of one batch or of all.
type gateSource struct {
	gate   *Service
	read   func(document []byte, into any) error
	worker string
	batch  string
}

func (s *gateSource) Claim(ctx context.Context, limit, lease int) ([]push.Delivery, error) {
	cases, err := s.gate.Claim(ctx, recoup.GateZeroClaim{Worker: s.worker, Limit: limit, LeaseSeconds: lease, BatchID: s.batch})
	list := make([]push.Delivery, len(cases))
	for i := range cases {
		list[i] = &gateParcel{s, &cases[i]}
	}
	return list, err
}

// gateParcel is the verification of a company.
type gateParcel struct {
	*gateSource
	company *Case
}

// Key is that of the intake for its first verification, and of the recovery and how
// often it has failed for a retry.
func (p *gateParcel) Key() string {
	if r := &p.company.Recovery; !r.ID.IsZero() {
		return "recovery/" + r.ID.String() + "/" + strconv.Itoa(r.AttemptCount)
	}
	return "intake/" + p.company.Intake.ID.String()
}

func (p *gateParcel) Message() any     { return p.company.Work() }
func (p *gateParcel) Until() time.Time { return p.company.Lease.LeaseEndsAt }

// Aside: what is given back is the longest waiting, and would be claimed again before
// all others. It is kept for the rest of its lease, a minute at most.
func (p *gateParcel) Aside() (time.Time, bool) {
	lease := &p.company.Lease
	end, enough := lease.LeaseEndsAt.Add(-push.RecordTime), lease.LeasedAt.Add(time.Minute)
	if enough.Before(end) {
		return enough, true
	}
	return end, true
}

func (p *gateParcel) Record(ctx context.Context, a *push.Answer) (string, error) {
	if a.Status == http.StatusNoContent {
		return "", push.Unusable(fault.New(fault.CodeValidationError, "a status of 204 does not say whether the company passed."), recoup.GateZeroResult{})
	}
	var result recoup.GateZeroResult
	if err := p.read(a.Body, &result); err != nil {
		return "", push.Unusable(err, recoup.GateZeroResult{})
	}
	c := p.company
	if !push.Same(result.IntakeID, c.Intake.ID) || !push.Same(result.RecoveryID, c.Recovery.ID) || !push.Same(result.LeaseToken, c.Lease.LeaseToken) {
		return "", push.Unusable(push.Other(), recoup.GateZeroResult{})
	}
	result.IntakeID, result.RecoveryID, result.LeaseToken = c.Intake.ID, c.Recovery.ID, c.Lease.LeaseToken
	result.Worker = cmp.Or(result.Worker, p.worker)
	out, err := p.gate.Record(ctx, []recoup.GateZeroResult{result})
	if err != nil {
		return "", err
	}
	if err := out[0].Err; err != nil && !push.Lost(err) {
		return "", push.Unusable(err, recoup.GateZeroResult{})
	}
	if result.Verdict == recoup.VerdictPass {
		return outcomePass, out[0].Err
	}
	return outcomeFail, out[0].Err
}

// GiveBack ends the lease of a retry, or the turn of a first verification.
func (p *gateParcel) GiveBack(ctx context.Context) error {
	if p.company.Recovery.ID.IsZero() {
		return p.gate.GiveBackIntake(ctx, p.company)
	}
	return p.gate.GiveBack(ctx, p.company.Recovery.ID, p.company.Lease.LeaseToken)
}
