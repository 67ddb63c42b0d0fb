package errorcmd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func groups(streams command.Streams) *cobra.Command {
	return command.Group(&cobra.Command{
		Use:   "groups",
		Short: "List groups of errors with one cause, note and assign them",
		Long: `Errors of one table and code whose messages differ in numbers, ids and quoted text only are a
group: one cause, usually, however many it hit. A group has an owner and a note. The acts of
'recoup errors' take --group, and act on all that is open of it.`,
		Example: `  recoup groups list --state PARKED
  recoup errors park --group ` + command.AnID + ` --reason outage`,
	}, groupsList(streams), groupsShow(streams), groupsNote(streams), groupsAssign(streams))
}

// maxGroups is how many groups are looked through for a part of an id.
const maxGroups = 10_000

// groupID reads the id of a group, or a part of it that only one has.
func groupID(ctx context.Context, s *command.Session, text string) (recoup.ID, error) {
	const list = "recoup groups list"
	id, err := s.IDBy(text, func(part string) (found wire.FoundIDs, err error) {
		wanted, err := recoup.ParseIDPart(part)
		if err != nil {
			return found, err
		}
		looked := 0
		for g, err := range s.ErrorGroups.All(ctx, recoup.ErrorGroupFilter{}) {
			if looked++; err != nil || looked > maxGroups {
				return found, err
			}
			if wanted.Of(g.ID) {
				found.IDs = append(found.IDs, wire.FoundID{ID: g.ID, Of: g.Table, What: string(g.Code), At: g.FirstSeenAt})
			}
		}
		return found, nil
	})
	if bad, ok := errors.AsType[command.BadID](err); ok {
		return id, command.BadID{Word: bad.Word, List: list}
	}
	if unknown, ok := errors.AsType[command.UnknownID](err); ok {
		return id, command.UnknownID{Part: unknown.Part, List: list}
	}
	return id, err
}

func groupsList(streams command.Streams) *cobra.Command {
	var f recoup.ErrorGroupFilter
	var state string
	var recent bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List groups of errors, those first of which most is open",
		Example: `  recoup groups list
  recoup groups list --hub app --recent`,
	}
	cmd.Flags().StringVar(&f.Table, "table", "", "only groups of this `TABLE`")
	cmd.Flags().StringVar(&f.Hub, "hub", "", "only groups of the tables of this `HUB`")
	cmd.Flags().StringVar(&f.Code, "code", "", "only groups with this `CODE`")
	cmd.Flags().StringVar(&state, "state", "", "only groups with an error in this `STATE`: "+command.Join(listedStates()))
	cmd.Flags().BoolVar(&recent, "recent", false, "those first that were seen last")
	return command.List[recoup.ErrorGroup]{
		Noun: "group", Key: "groups", Hint: "'recoup errors list --group ID' lists its errors.",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "TABLE", Drop: 1}, {Name: "CODE"}, {Name: "OPEN"}, {Name: "PARKED", Drop: 4}, {Name: "TOTAL", Drop: 6},
			{Name: "LAST", Drop: 3}, {Name: "OWNER", Drop: 5}, {Name: "MESSAGE", Drop: 2, Wrap: true},
		},
		Read: func(*command.Session, []string) (err error) {
			if recent {
				f.Sort = recoup.GroupsBySeen
			}
			f.State, err = command.OneOf("state", state, listedStates())
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]recoup.ErrorGroup, string, error) {
			page, err := s.ErrorGroups.List(ctx, f, p)
			return page.Groups, page.Next, err
		},
		Row: func(_ *command.Session, g *recoup.ErrorGroup) command.Cells {
			return command.Cells{g.ID, g.Table, g.Code, g.Open, g.Parked + g.Escalated, g.Total, command.At(g.LastSeenAt), g.Owner, g.Signature}
		},
	}.Command(streams, cmd)
}

func groupsShow(streams command.Streams) *cobra.Command {
	return command.Show(streams, &cobra.Command{
		Use:     "show ID",
		Short:   "Show a group of errors: its counts, last day and note",
		Example: "  recoup groups show " + command.AnID,
		Args:    command.ExactArgs("ID"),
	}, func(ctx context.Context, s *command.Session, args []string) (recoup.ErrorGroup, error) {
		id, err := groupID(ctx, s, args[0])
		if err != nil {
			return recoup.ErrorGroup{}, err
		}
		return s.ErrorGroups.Get(ctx, id)
	}, describeGroup)
}

func describeGroup(s *command.Session, p *command.Page, g *recoup.ErrorGroup) {
	p.Heading(string(g.Code) + " in " + g.Table)
	if g.Example != "" {
		p.Text(command.Printable(g.Example))
		p.WriteByte('\n')
	}
	hours := make([]string, len(g.Trend))
	for i, n := range g.Trend {
		hours[i] = fmt.Sprint(n)
	}
	p.Facts(
		"id", g.ID.String(), "in common", g.Signature, "owner", g.Owner, "note", g.Note,
		"open", fmt.Sprintf("%d (%d active, %d wait for a retry, %d parked, %d escalated)", g.Open, g.Active, g.RetryPending, g.Parked, g.Escalated),
		"resolved", fmt.Sprint(g.Resolved), "reports", fmt.Sprint(g.Total), "first seen", s.When(g.FirstSeenAt), "last seen", s.When(g.LastSeenAt),
		"by the hour", strings.Join(hours, " "),
	)
}

// groupAct is an act that says something of a group.
func groupAct(streams command.Streams, cmd *cobra.Command, said *recoup.GroupNote, check func() error) *cobra.Command {
	cmd.Args = command.ExactArgs("ID")
	return command.Act[recoup.ErrorGroup]{
		Check: func(*command.Session, []string) error { return check() },
		Call: func(ctx context.Context, s *command.Session, args []string) (recoup.ErrorGroup, error) {
			id, err := groupID(ctx, s, args[0])
			if err != nil {
				return recoup.ErrorGroup{}, err
			}
			return s.ErrorGroups.Note(ctx, id, *said)
		},
		Say: func(s *command.Session, g recoup.ErrorGroup) {
			s.Sayf("%s %s in %s: %s open, owned by %s", g.ID, g.Code, g.Table, command.Count(g.Open, "error"), command.Printable(cmp.Or(g.Owner, "nobody")))
		},
	}.Command(streams, cmd)
}

func groupsNote(streams command.Streams) *cobra.Command {
	var said recoup.GroupNote
	cmd := &cobra.Command{
		Use:     "note ID",
		Short:   "Note what is known of a group of errors",
		Example: "  recoup groups note " + command.AnID + ` --note "see INC-4711"`,
	}
	cmd.Flags().StringVar(&said.Note, "note", "", "what is known of it, as `TEXT` in the place of what was; required")
	return groupAct(streams, cmd, &said, func() error {
		if strings.TrimSpace(said.Note) == "" {
			return command.Usagef("--note is missing: expected what is known of the group")
		}
		return nil
	})
}

func groupsAssign(streams command.Streams) *cobra.Command {
	var said recoup.GroupNote
	cmd := &cobra.Command{
		Use:     "assign ID",
		Short:   "Say who takes care of a group of errors",
		Example: "  recoup groups assign " + command.AnID + " --to ada",
	}
	cmd.Flags().StringVar(&said.Owner, "to", "", "the new `OWNER` of the group, not of its errors; required")
	return groupAct(streams, cmd, &said, func() error {
		if said.Owner == "" {
			return command.Usagef("--to is missing: expected the new owner")
		}
		return nil
	})
}
