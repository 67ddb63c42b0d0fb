package lifecycle

import (
	"slices"

	"github.com/recoup-dev/recoup"
)

// Transition is one row of the transition table: an input, the states it is
// accepted in and the states it can lead to.
type Transition struct {
	Input Kind
	From  []recoup.State // empty: there is no error yet
	To    []recoup.State
	Note  string
}

// none stands for "no error yet" in the table.
const none recoup.State = ""

// Transitions returns the transition table. A move that is not in it is refused
// with INVALID_TRANSITION and changes nothing.
func Transitions() []Transition { return slices.Clone(transitions) }

var transitions = []Transition{
	{
		Reported,
		[]recoup.State{none, recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		"by policy; takes the place of an open error for the same table, entity and code",
	},
	{
		Claimed,
		[]recoup.State{recoup.RetryPending},
		[]recoup.State{recoup.RetryPending, recoup.Parked, recoup.Active},
		"due, not leased, not paused; a lapsed lease counts first and may spend the budget",
	},
	{Extended, []recoup.State{recoup.RetryPending}, []recoup.State{recoup.RetryPending}, "with the token"},
	{Succeeded, []recoup.State{recoup.RetryPending}, []recoup.State{recoup.Resolved}, "with the token"},
	{
		Failed,
		[]recoup.State{recoup.RetryPending},
		[]recoup.State{recoup.RetryPending, recoup.Parked, recoup.Active},
		"with the token; budget or window spent, or not retryable: parked",
	},
	{
		LeaseLapsed,
		[]recoup.State{recoup.RetryPending},
		[]recoup.State{recoup.RetryPending, recoup.Parked, recoup.Active},
		"a lease ran out: a failed attempt",
	},
	{
		WindowClosed,
		[]recoup.State{recoup.RetryPending},
		[]recoup.State{recoup.Parked, recoup.Active},
		"the retry window is over",
	},
	{
		Parking,
		[]recoup.State{recoup.Active, recoup.RetryPending},
		[]recoup.State{recoup.Parked},
		"with a reason",
	},
	{
		Unparking,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.RetryPending},
		"fresh budget and window, due now",
	},
	{
		Resolving,
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Resolved},
		"by hand",
	},
	{
		Escalating,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Escalated},
		"by a person, or by the clock",
	},
	{
		Assigning,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Parked, recoup.Escalated},
		"the state stays",
	},
	{
		Reviewing,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Parked, recoup.Escalated},
		"the state stays",
	},
	{
		Reminding,
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		"the state stays: a review was missed, or an expiry that unblocks is near",
	},
	{
		Archiving,
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated, recoup.Resolved},
		[]recoup.State{recoup.Archived},
		"by hand, or because it is resolved",
	},
	{
		Expiring,
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated, recoup.Resolved},
		[]recoup.State{recoup.Archived},
		"its TTL is over; a live lease holds it up for a while",
	},
	{
		Rebasing,
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated},
		"another version of the policy judges it; what is parked stays so, unless its table no longer allows PARK",
	},
	{
		Replaying,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Parked, recoup.Escalated},
		"a dead letter, the state stays: it does not expire while it is replayed",
	},
	{
		Returning,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Parked, recoup.Escalated},
		"a dead letter, the state stays: its replay worked, or was cancelled",
	},
	{
		FailingAgain,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Parked, recoup.Escalated},
		"a dead letter whose replay failed: parked anew, on no lower tier",
	},
	{
		Verifying,
		[]recoup.State{recoup.Parked, recoup.Escalated},
		[]recoup.State{recoup.Resolved},
		"a dead letter whose replay is seen to have worked",
	},
}

func allowed(k Kind, from recoup.State) bool {
	for i := range transitions {
		if transitions[i].Input == k {
			return slices.Contains(transitions[i].From, from)
		}
	}
	return false
}
