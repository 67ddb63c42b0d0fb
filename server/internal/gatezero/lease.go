package gatezero

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Claim leases an eligible recovery to a worker. Claiming one whose last lease expired
// counts that first; if it used an attempt, the recovery comes back without a lease.
type Claim struct {
	Token  recoup.ID
	Worker string
	Lease  time.Duration
}

func (Claim) kind() Kind { return Claimed }

func (in Claim) apply(s *step) error {
	switch {
	case s.Batch.Stopped():
		return s.refuse(BatchKilled, "its batch is stopped by the kill switch")
	case s.Batch.Frozen(s.now):
		return s.refuse(InvalidTransition, "its batch is frozen")
	case s.now.Before(s.Recovery.NextEligibleAt):
		return s.refuse(InvalidTransition, "it is not eligible yet")
	case s.Lease.Leased(s.now):
		return s.refuse(InvalidTransition, "a worker holds it")
	case in.Token.IsZero() || in.Lease <= 0:
		return s.refuse(ValidationError, "a lease needs a token and a length")
	}
	if s.Lease.Lapsed(s.now) && s.lapse() {
		return nil
	}
	s.Lease.Lease = recoup.NewLease(in.Token, in.Worker, s.now, in.Lease)
	return nil
}

// lapse counts an expired lease, and reports whether that used an attempt.
func (s *step) lapse() (used bool) {
	worker := s.Lease.LeaseWorker
	s.Lease.Lapses++
	s.endLease()
	if s.Lease.Lapses < MaxLapses {
		s.emit(recoup.AIRLapse, "", worker)
		return false
	}
	s.attempt(Timeout, worker)
	return true
}

// GiveBack ends the lease of a worker that could not verify anything, through no
// fault of the company. It counts neither as an attempt nor as an expired lease.
type GiveBack struct{ Token recoup.ID }

func (GiveBack) kind() Kind { return GivenBack }

func (in GiveBack) apply(s *step) error {
	if _, err := s.holds(in.Token); err != nil {
		return err
	}
	s.endLease()
	return nil
}

// holds checks the fence: only the token of the present lease may speak, and in
// a killed batch there is none. A lease that ran out is lost only when somebody
// notices. A result is never older than its claim, whatever the clocks of two
// nodes say.
func (s *step) holds(token recoup.ID) (worker string, err error) {
	switch {
	case s.Batch.Stopped():
		return "", s.refuse(BatchKilled, "its batch is stopped by the kill switch; no attempt was used")
	case !s.Lease.HeldBy(token):
		return "", s.refuse(LeaseLost, "the lease is gone, and the result with it")
	}
	if s.now.Before(s.Lease.LeasedAt) {
		s.now = s.Lease.LeasedAt
	}
	return s.Lease.LeaseWorker, nil
}
