// Package deadletters is 'recoup dead-letters', 'recoup replays' and 'recoup work':
// how failed work of a pipeline goes back to its workers.
package deadletters

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{
		command.Group(&cobra.Command{
			Use:   "dead-letters",
			Short: "Triage, remediate and replay dead letters",
			Long: `A dead letter is work that a stage of a pipeline could not finish. It goes back in five steps,
none of which can be skipped: triage records the root cause, remediate what was done about it,
validate that a replay is safe, replay sends it back to the stage that failed, and verify closes
it once the result has arrived.

All but replay take an id, or --group for all dead letters with the same cause.`,
			Example: `  recoup dead-letters list --pipeline newsletter
  recoup dead-letters triage ` + command.AnID + ` --cause data
  recoup dead-letters replay --pipeline newsletter --rate 5 --dry-run`,
		}, list(streams), groups(streams), show(streams), triage(streams), remediate(streams), validate(streams), replay(streams), verify(streams)),
		replays(streams), work(streams),
	}
}

// filter selects dead letters, by the same conditions as the API.
type filter struct{ pipeline, stage, class, group, before, after string }

func (f *filter) add(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.StringVar(&f.pipeline, "pipeline", "", "only of this `PIPELINE`")
	flags.StringVar(&f.stage, "stage", "", "only those that failed at this `STAGE`")
	flags.StringVar(&f.class, "class", "", "only failures with this `CODE`")
	flags.StringVar(&f.group, "group", "", "only of the group with this `ID`")
	flags.StringVar(&f.before, "before", "", "only from before this `TIME`, or older than an age such as 48h")
	flags.StringVar(&f.after, "after", "", "only since this `TIME`, or younger than an age such as 48h")
}

func (f *filter) read(s *command.Session) (out recoup.DeadLetterFilter, err error) {
	out = recoup.DeadLetterFilter{Pipeline: f.pipeline, Stage: f.stage, Class: recoup.Code(f.class)}
	if f.group != "" {
		if out.GroupID, err = groupID(s, f.group); err != nil {
			return out, err
		}
	}
	out.After, out.Before, err = command.Span(s.Clock(), "after", f.after, "before", f.before)
	return out, err
}

// groupID reads the id of a group of dead letters.
func groupID(s *command.Session, text string) (recoup.ID, error) {
	const list = "recoup dead-letters groups"
	ids, err := s.IDs(recoup.DeadLetterGroupIDs, text)
	if _, bad := errors.AsType[command.BadID](err); bad {
		return recoup.ID{}, command.BadID{Word: text, List: list}
	}
	if _, unknown := errors.AsType[command.UnknownID](err); unknown {
		return recoup.ID{}, command.UnknownID{Part: text, List: list}
	}
	if err != nil {
		return recoup.ID{}, err
	}
	return ids[0], nil
}
