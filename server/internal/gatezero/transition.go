package gatezero

import (
	"slices"

	"github.com/recoup-dev/recoup"
)

// Kind names an input.
type Kind string

// The inputs of the machine.
const (
	Passed    Kind = "pass"
	Failed    Kind = "fail"
	Claimed   Kind = "claim"
	GivenBack Kind = "give back"
	Frozen    Kind = "freeze"
	Killed    Kind = "kill"
	Released  Kind = "release"
	Completed Kind = "complete"
)

// Input is something that happens to a case: a [Pass], a [Claim] and so on.
type Input interface {
	kind() Kind
	apply(s *step) error
}

// Transition is one row of the transition table: an input, the statuses of a
// recovery in which it is accepted, and those that it can lead to.
type Transition struct {
	Input Kind
	From  []recoup.RecoveryStatus
	To    []recoup.RecoveryStatus
	Note  string
}

// none stands for "no recovery": the intake has not failed, or the input is to a
// batch as a whole.
const none recoup.RecoveryStatus = ""

// Transitions returns the transition table. What is not in it is refused and
// changes nothing.
func Transitions() []Transition { return slices.Clone(transitions) }

var transitions = []Transition{
	{
		Passed,
		[]recoup.RecoveryStatus{none, recoup.RecoveryActive},
		[]recoup.RecoveryStatus{none, recoup.RecoverySucceeded},
		"of a pending intake, or of a retry with the token; also in a frozen batch, not in a killed one",
	},
	{
		Failed,
		[]recoup.RecoveryStatus{none, recoup.RecoveryActive},
		[]recoup.RecoveryStatus{recoup.RecoveryActive, recoup.RecoveryExhausted},
		"as above; after the last wait, or in a frozen batch, there is no further retry",
	},
	{
		Claimed,
		[]recoup.RecoveryStatus{recoup.RecoveryActive},
		[]recoup.RecoveryStatus{recoup.RecoveryActive, recoup.RecoveryExhausted},
		"eligible, held by nobody, batch neither killed nor frozen; a lease that ran out counts first, and the third in a row is a failed attempt",
	},
	{
		GivenBack,
		[]recoup.RecoveryStatus{recoup.RecoveryActive},
		[]recoup.RecoveryStatus{recoup.RecoveryActive},
		"with the token, not in a killed batch; no attempt is used and no lapse is counted",
	},
	{
		Frozen,
		[]recoup.RecoveryStatus{none, recoup.RecoveryActive},
		[]recoup.RecoveryStatus{none, recoup.RecoveryExhausted},
		"the batch's time is over and nobody holds the recovery; killed or not",
	},
	{
		Killed,
		[]recoup.RecoveryStatus{none, recoup.RecoveryActive},
		[]recoup.RecoveryStatus{none, recoup.RecoveryActive},
		"leases are taken away, no attempt is used",
	},
	{Released, []recoup.RecoveryStatus{none}, []recoup.RecoveryStatus{none}, "the batch goes on"},
	{Completed, []recoup.RecoveryStatus{none}, []recoup.RecoveryStatus{none}, "the batch's time begins to run"},
}

// known checks the transition table.
func (s *step) known() error {
	for i := range transitions {
		if transitions[i].Input != s.kind {
			continue
		}
		if slices.Contains(transitions[i].From, s.Recovery.Status) {
			return nil
		}
	}
	return s.refuse(InvalidTransition, "")
}
