package cli

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func errorsCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "errors",
		Short: "Look at governed errors and act on them",
		Long: `An error is one failure of one entity, with a life of its own: it is retried, parked for
a person, escalated, and resolved or archived in the end. These commands talk to a server.

Acts take ids, or a filter. A filter shows first what it would do and asks whether that is
meant.`,
		Example: `  recoup errors list --parked
  recoup errors resolve 0198c0de-0000-7000-8000-000000000001 --reason "the filing was corrected"`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(errorsList(streams), errorsShow(streams), errorsExplain(streams), errorsHistory(streams))
	for _, verb := range errorVerbs {
		cmd.AddCommand(verb.command(streams))
	}
	return cmd
}

// errorFilter selects open errors, by the same conditions as the API.
type errorFilter struct {
	client.Filter
	state, before, after string
}

func (f *errorFilter) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Table, "table", "", "only errors of this `TABLE`")
	flags.StringVar(&f.Hub, "hub", "", "only errors of the tables of this `HUB`")
	flags.StringVar(&f.state, "state", "", "only errors in this `STATE`: "+join(listedStates()))
	flags.StringVar(&f.EntityID, "entity", "", "only errors of this `ENTITY`")
	flags.StringVar(&f.Code, "code", "", "only errors of this `CODE`")
	flags.StringVar(&f.AssignedTo, "assigned-to", "", "only errors that were assigned to this `PERSON`")
	flags.IntVar(&f.Tier, "tier", 0, "only errors on rung `N` of the ladder, 1 to 3")
	either(flags, &f.Blocking, "blocking", "only errors that block their entity; --blocking=false: only the others")
	either(flags, &f.Parked, "parked", "only errors that wait for a person: PARKED or ESCALATED; --parked=false: only the others")
	flags.StringVar(&f.before, "before", "", "only errors from before this `TIME`, or older than an age such as 48h")
	flags.StringVar(&f.after, "after", "", "only errors from this `TIME` on, or not older than an age such as 48h")
}

// listedStates are those in which an error has not been archived.
func listedStates() []recoup.State {
	return []recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated, recoup.Resolved}
}

// read turns the flags into a filter of the API.
func (f *errorFilter) read(now time.Time) (client.Filter, error) {
	var err error
	if f.State, err = oneOf("state", f.state, listedStates()); err != nil {
		return client.Filter{}, err
	}
	if f.Before, err = parseInstant("before", f.before, now); err != nil {
		return client.Filter{}, err
	}
	if f.After, err = parseInstant("after", f.after, now); err != nil {
		return client.Filter{}, err
	}
	if f.Tier < 0 || f.Tier > recoup.MaxTier {
		return client.Filter{}, usagef("--tier is %d: expected a number from 1 to %d", f.Tier, recoup.MaxTier)
	}
	return f.Filter, nil
}

// standing says where an error stands, whose it is and what comes next.
func (s Streams) standing(e *recoup.Error) string {
	text := string(e.State)
	if e.State.Open() {
		text += ", owned by " + printable(e.Owner())
	}
	if next := s.upNext(e); next != "" {
		text += "; " + printable(next)
	}
	return text
}

// upNext says in a few words what happens to an open error by itself.
func (s Streams) upNext(e *recoup.Error) string {
	if e.Leased(s.now()) {
		return "with " + e.LeaseWorker + " for " + age(rounded(e.LeaseEndsAt.Sub(s.now())))
	}
	var soonest time.Time
	said := ""
	for _, next := range []struct {
		at   time.Time
		what string
	}{
		{e.NextRetryAt, "retry"}, {e.NextEscalationAt, fmt.Sprintf("tier %d", e.EscalationLevel+1)}, {e.ExpiresAt, "expires"},
	} {
		if !next.at.IsZero() && (soonest.IsZero() || next.at.Before(soonest)) {
			soonest, said = next.at, next.what
		}
	}
	switch {
	case !e.State.Open() || soonest.IsZero():
		return ""
	case !soonest.After(s.now()):
		return said + " due"
	}
	return said + " " + s.relative(soonest)
}
