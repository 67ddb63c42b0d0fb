package lifecycle

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Kind names an input; it is the word that history rows carry.
type Kind string

// The inputs of the machine.
const (
	Reported     Kind = "report"
	Claimed      Kind = "claim"
	Extended     Kind = "extend"
	Succeeded    Kind = "succeed"
	Failed       Kind = "fail"
	LeaseLapsed  Kind = "lapse"
	WindowClosed Kind = "close_window"
	Reminding    Kind = "remind"
	Expiring     Kind = "expire"
	Rebasing     Kind = "rebase"
	Replaying    Kind = "replay"
	Returning    Kind = "return"
	FailingAgain Kind = "fail_again"
	Verifying    Kind = "verify"

	Parking    = Kind(recoup.ActPark)
	Unparking  = Kind(recoup.ActUnpark)
	Resolving  = Kind(recoup.ActResolve)
	Escalating = Kind(recoup.ActEscalate)
	Assigning  = Kind(recoup.ActAssign)
	Reviewing  = Kind(recoup.ActReview)
	Archiving  = Kind(recoup.ActArchive)
)

// ofWorker reports whether k comes from the holder of a lease, for whom a state
// that moved on means a lost lease rather than a forbidden move.
func (k Kind) ofWorker() bool { return k == Extended || k == Succeeded || k == Failed }

// silent reports whether k leaves no history row: leases come and go, and the
// row of their result names them.
func (k Kind) silent() bool { return k == Claimed || k == Extended }

// Input is something that happens to an error: a [Report], a [Claim], a [Park]
// and so on.
type Input interface{ apply(s *step) error }

// Failure is what went wrong, classified. Class is concrete: a conditional
// code arrives here as retryable or as fatal.
type Failure struct {
	Code       recoup.Code
	Class      recoup.Class
	Category   recoup.Category
	RetryAfter time.Duration // what the failing side asked for, or zero

	// Exhausted says that its budget was spent where it ran, outside of the machine:
	// what could be retried is parked for that.
	Exhausted bool

	// Streak is how many failures of this code's family were already counted
	// for the entity, over all its errors.
	Streak int
}
