package lifecycle

import (
	"cmp"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
)

// Claim leases a due error to a worker. Claiming an error whose last lease ran
// out counts that attempt as failed first; if it was the last one, the error
// comes back parked and without a lease.
type Claim struct {
	Token  recoup.ID
	Worker string
	Lease  time.Duration // zero: the policy's default; never above its maximum
	Paused bool          // the table's retries are paused
}

func (in Claim) apply(s *step) error {
	if err := s.begin(Claimed, in.Worker, ""); err != nil {
		return err
	}
	e := &s.next
	switch {
	case in.Token.IsZero():
		return s.refuse("a lease needs a token")
	case in.Paused:
		return s.refuse("retries of this table are paused")
	case e.Leased(s.now):
		return s.refuse("a worker holds it")
	case e.NextRetryAt.After(s.now):
		return s.refuse("its next retry is not due yet")
	case expired(e, s.now):
		return s.refuse("its TTL is over")
	}
	if e.Lapsed(s.now) {
		s.actor = recoup.System
		s.workerLost()
	}
	if e.State != recoup.RetryPending {
		return nil
	}
	if windowOver(e, s.now) {
		return s.refuse("its retry window is over")
	}
	e.Lease = recoup.NewLease(in.Token, in.Worker, s.now, s.policy.Leases.Length(in.Lease))
	e.LastRetryAt, e.NextRetryAt = s.now, e.LeaseEndsAt
	return nil
}

// Extend prolongs a lease from now on.
type Extend struct {
	Token recoup.ID
	Lease time.Duration
}

func (in Extend) apply(s *step) error {
	if err := s.begin(Extended, "", ""); err != nil {
		return err
	}
	if _, err := s.holds(in.Token); err != nil {
		return err
	}
	e := &s.next
	e.LeaseEndsAt = s.now.Add(s.policy.Leases.Length(in.Lease))
	e.NextRetryAt = e.LeaseEndsAt
	return nil
}

// Lapse ends a lease that has expired.
type Lapse struct{}

func (Lapse) apply(s *step) error {
	if err := s.begin(LeaseLapsed, "", ""); err != nil {
		return err
	}
	if !s.next.Lapsed(s.now) {
		return s.refuse("no lease of it has run out")
	}
	s.workerLost()
	return nil
}

// holds checks the fence: only the token of the present lease may speak. done
// is true if this very result was already accepted, so that sending it again
// changes nothing and is no error. A result that came too late for the lease
// that ended last is worth a history row; any other token is noise.
func (s *step) holds(token recoup.ID) (done bool, err error) {
	e := s.current
	switch {
	case e.HeldBy(token):
		s.actor = cmp.Or(e.LeaseWorker, recoup.System)
		return false, nil
	case !token.IsZero() && token == e.LastAttempt && e.LastResult == string(s.kind):
		s.repeated = true
		return true, nil
	case !token.IsZero() && token == e.LastAttempt && s.kind != Extended:
		s.effects.History = recoup.Transition{
			ErrorID: e.ID, At: s.now, Input: string(s.kind), Actor: recoup.System, Reason: string(LeaseLost),
			Before: s.before, After: s.before, PolicyVersion: s.policy.Version, Attempt: token,
		}
	}
	return false, &Refusal{
		Code: LeaseLost, Input: s.kind, State: e.State,
		Reason: "the lease is gone: " + instead(e), SupersededBy: e.SupersededBy,
	}
}

// instead says what became of an error that a worker no longer holds.
func instead(e *recoup.Error) string {
	switch e.State {
	case recoup.Archived:
		return fmt.Sprintf("archived by %s as %s", e.ArchivedBy, e.ArchiveReason)
	case recoup.Resolved:
		return "resolved by " + e.ResolvedBy
	case recoup.Parked, recoup.Escalated:
		return fmt.Sprintf("parked by %s, %s", e.ParkedBy, e.ParkReason)
	}
	if e.LeaseWorker != "" {
		return "now held by " + e.LeaseWorker
	}
	return "it ran out, or was never given"
}

// workerLost counts the attempt of an expired lease as failed. The lease was a
// wait of its own, so the error is simply due again.
func (s *step) workerLost() {
	spent := s.countAttempt(LeaseLapsed, Failure{Code: "WORKER_LOST", Class: recoup.ClassShortDelay, Category: recoup.Transient})
	s.retryOrHold(s.now, spent)
}

// endAttempt takes the lease away, if there is one, remembers its token and how
// it ended, and notes in the history whose it was.
func (s *step) endAttempt(result Kind) {
	e, h := &s.next, &s.effects.History
	if e.LeaseToken.IsZero() {
		return
	}
	h.Worker, h.ClaimedAt, h.Attempt = e.LeaseWorker, e.LeasedAt, e.LeaseToken
	e.LastAttempt, e.LastResult = e.LeaseToken, string(result)
	e.Lease = recoup.Lease{}
}
