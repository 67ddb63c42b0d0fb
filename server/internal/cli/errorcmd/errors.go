// Package errorcmd is 'recoup errors', and what goes with it: reporting a failure,
// and asking whether an entity may be promoted.
package errorcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	cmd := command.Group(&cobra.Command{
		Use:   "errors",
		Short: "List, inspect and act on errors",
		Long: `An error is one failure of one entity, with a lifecycle of its own: it is retried, parked for
a person, escalated, and resolved or archived in the end. These commands talk to a server.
Those that act take ids, or a filter. With a filter they preview what would change and ask for
a confirmation.`,
		Example: `  recoup errors list --parked
  recoup errors resolve ` + command.AnID + ` --reason "invoice corrected"`,
	}, list(streams), show(streams), explain(streams), history(streams))
	for _, kind := range recoup.Acts() {
		cmd.AddCommand(actCommand(streams, kind))
	}
	imports := command.Group(&cobra.Command{
		Use:     "import",
		Short:   "Import past failures",
		Long:    `Imports failures that were recorded elsewhere.`,
		Example: `  recoup import errors history.csv --table app.errors --dry-run`,
	}, importCommand(streams))
	return []*cobra.Command{cmd, groups(streams), views(streams), operations(streams), report(streams), promotion(streams), promote(streams), imports}
}

// filter selects open errors, by the same conditions as the API.
type filter struct {
	recoup.ErrorFilter
	state, before, after string
	group, view          string // as given; a server knows them
}

func (f *filter) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.Table, "table", "", "only errors of this `TABLE`")
	flags.StringVar(&f.Hub, "hub", "", "only errors of the tables of this `HUB`")
	flags.StringVar(&f.state, "state", "", "only errors in this `STATE`: "+command.Join(listedStates()))
	flags.StringVar(&f.EntityID, "entity", "", "only errors of this `ENTITY`")
	flags.StringVar(&f.Code, "code", "", "only errors with this `CODE`")
	flags.StringVar(&f.AssignedTo, "assigned-to", "", "only errors assigned to this `PERSON`")
	flags.IntVar(&f.Tier, "tier", 0, "only errors escalated to tier `N`, 1 to 3")
	command.Either(flags, &f.Blocking, "blocking", "only errors that block their entity; --blocking=false: only the others")
	command.Either(flags, &f.Parked, "parked", "only errors that wait for a person, PARKED or ESCALATED; --parked=false: only the others")
	flags.StringVar(&f.Text, "text", "", "only errors whose messages contain these `WORDS`; numbers, ids and quoted text stand for any other")
	flags.StringVar(&f.group, "group", "", "only errors of this `GROUP`, by its id")
	flags.StringVar(&f.view, "view", "", "only errors of this saved `VIEW`; takes no other filter")
	flags.StringVar(&f.before, "before", "", "only errors created before this `TIME`, or older than an age such as 48h")
	flags.StringVar(&f.after, "after", "", "only errors created since this `TIME`, or younger than an age such as 48h")
}

// listedStates are those in which an error has not been archived.
func listedStates() []recoup.State {
	return []recoup.State{recoup.Active, recoup.RetryPending, recoup.Parked, recoup.Escalated, recoup.Resolved}
}

// read turns the flags into a filter of the API.
func (f *filter) read(now time.Time) (recoup.ErrorFilter, error) {
	var err error
	if f.State, err = command.OneOf("state", f.state, listedStates()); err != nil {
		return recoup.ErrorFilter{}, err
	}
	if f.After, f.Before, err = command.Span(now, "after", f.after, "before", f.before); err != nil {
		return recoup.ErrorFilter{}, err
	}
	if f.view != "" && (f.ErrorFilter != recoup.ErrorFilter{} || f.group != "") {
		return recoup.ErrorFilter{}, command.Usagef("--view and another filter are given: expected one of the two; 'recoup views show' prints the filter of a view")
	}
	return f.ErrorFilter, checkTier("tier", f.Tier)
}

// asks reports whether a server has to be asked what is selected.
func (f *filter) asks() bool { return f.group != "" || f.view != "" }

// find completes a filter by what a server knows: the id of a group, what a view selects.
func (f *filter) find(ctx context.Context, s *command.Session, out recoup.ErrorFilter) (recoup.ErrorFilter, error) {
	var err error
	if f.group != "" {
		out.Group, err = groupID(ctx, s, f.group)
	}
	if f.view != "" {
		var view wire.View
		if view, err = findView(ctx, s, f.view); err == nil {
			out, err = wire.TokenFilter(view.Tokens, s.Clock())
		}
	}
	return out, err
}

// checkTier refuses a tier that there is not; 0 is none given.
func checkTier(flag string, tier int) error {
	if tier == 0 {
		return nil
	}
	return command.Within(flag, tier, 1, recoup.MaxTier)
}

// standing says where an error stands, whose it is and what comes next.
func standing(s command.Streams, e *recoup.Error) string {
	text := string(e.State)
	if e.State.Open() {
		text += ", owned by " + command.Printable(e.Owner())
	}
	if next := upNext(s, e); next != "" {
		text += "; " + command.Printable(next)
	}
	return text
}

// upNext says in a few words what happens to an open error by itself.
func upNext(s command.Streams, e *recoup.Error) string {
	now := s.Clock()
	if e.Leased(now) {
		return "leased by " + e.LeaseWorker + " for " + s.Left(e.LeaseEndsAt)
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
	case !soonest.After(now):
		return said + " due"
	}
	return said + " " + s.Relative(soonest)
}
