package lifecycle

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// The codes a refusal carries.
const (
	InvalidTransition recoup.Code = "INVALID_TRANSITION"
	LeaseLost         recoup.Code = "LEASE_LOST"
)

// Refusal is the answer to an input that changes nothing, with the way out.
type Refusal struct {
	Code   recoup.Code
	Input  Kind
	State  recoup.State // empty: there is no error
	Reason string
	Exits  []Kind // what a person can do instead

	// SupersededBy is the error that has taken the place of this one, if that is
	// why a worker has lost its lease.
	SupersededBy recoup.ID
}

func (r *Refusal) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: cannot %s", r.Code, strings.ReplaceAll(string(r.Input), "_", " "))
	if r.State != "" {
		fmt.Fprintf(&b, " an error that is %s", r.State)
	}
	if r.Reason != "" {
		b.WriteString(": " + r.Reason)
	}
	for i, exit := range r.Exits {
		b.WriteString([...]string{"; possible now: ", ", "}[min(i, 1)] + string(exit))
	}
	return b.String()
}

// Fault returns the failure that a caller of the API gets: why the state machine refused, and
// the way out.
func (r *Refusal) Fault() *fault.Error {
	e := fault.Wrap(r, r.Code, "%s", strings.TrimPrefix(r.Error(), string(r.Code)+": ")).With("input", string(r.Input))
	if r.State != "" {
		e = e.With("state", string(r.State))
	}
	if len(r.Exits) > 0 {
		e = e.With("exits", r.Exits)
	}
	if !r.SupersededBy.IsZero() {
		e = e.With("superseded_by", r.SupersededBy.String())
	}
	return e
}

func (s *step) refuse(reason string) error {
	r := &Refusal{Code: InvalidTransition, Input: s.kind, Reason: reason}
	if s.current != nil {
		r.State = s.current.State
		r.Exits = s.exits()
	}
	return r
}

// exits lists what people can do with the error as it stands. A rebase asks
// another policy than the one that would answer that.
func (s *step) exits() []Kind {
	table, ok := s.policy.Table(s.current.Table)
	if !ok || table.Infinite() || s.kind == Rebasing || s.current.PolicyVersion == "" {
		return nil
	}
	var exits []Kind
	for _, act := range Exits() {
		if k := Kind(act.Name); k != s.kind && allowed(k, s.current.State) && permits(s.policy, table, s.current, k) {
			exits = append(exits, k)
		}
	}
	return exits
}
