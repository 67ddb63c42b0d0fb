package errorcmd

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// summaries describe the commands of acts.
var summaries = map[recoup.ActName]string{
	recoup.ActPark:     "Park errors for a person",
	recoup.ActUnpark:   "Return parked errors to retries",
	recoup.ActResolve:  "Resolve errors by hand",
	recoup.ActEscalate: "Escalate parked errors to the next tier",
	recoup.ActArchive:  "Archive errors before they expire",
	recoup.ActAssign:   "Assign parked errors to a person or team",
	recoup.ActReview:   "Mark parked errors as reviewed",
}

// act is an act as its flags describe it.
type act struct {
	kind recoup.ActKind
	recoup.Act
	filter           filter
	all, yes, dryRun bool
}

func actCommand(streams command.Streams, kind recoup.ActKind) *cobra.Command {
	ask := &act{kind: kind}
	more := ""
	cmd := &cobra.Command{Use: string(kind.Name) + " [ID…]", Short: summaries[kind.Name]}
	if kind.Tier {
		cmd.Flags().IntVar(&ask.Tier, "to-tier", 0, "tier `N`, 1 to 3 (default: the next)")
	}
	if kind.Owner {
		cmd.Flags().StringVar(&ask.To, "to", "", "the new `OWNER`; required")
		more += " --to ada"
	}
	if kind.Reason {
		more += " --reason known"
	}
	cmd.Example = fmt.Sprintf("  recoup errors %s %s%s\n  recoup errors %s --code VALIDATION_ERROR%s --dry-run", kind.Name, command.AnID, more, kind.Name, more)
	cmd.Long = cmd.Short + `, given by their ids or by a filter. With a filter it previews what would change, and on a
terminal asks for a confirmation. The server then acts on exactly these errors, in an operation
('recoup operations'), and the command waits for its end.

The exit status is 1 if any of the errors could not be ` + kind.Past + `.`
	ask.filter.add(cmd)
	command.ReasonFlag(cmd, &ask.Reason, kind.Reason)
	cmd.Flags().BoolVar(&ask.all, "all", false, "every open error, if no filter is given")
	cmd.Flags().BoolVar(&ask.dryRun, "dry-run", false, "preview what would change, and change nothing")
	command.YesFlag(cmd, &ask.yes)
	return command.OnServer(streams, cmd, command.One, ask.run)
}

func (a *act) run(ctx context.Context, s *command.Session, args []string) error {
	ids, f, err := a.read(s, args)
	switch {
	case err != nil:
		return err
	case len(ids) == 1 && !a.dryRun:
		return a.one(ctx, s, ids[0])
	case len(ids) == 0:
		if f, err = a.filter.find(ctx, s, f); err != nil {
			return err
		}
		return a.filtered(ctx, s, f)
	}
	return a.show(s, a.many(ctx, s, inChunks(ids, a.dryRun), len(ids)))
}

// read checks the flags: ids or a filter, and what the verb needs.
func (a *act) read(s *command.Session, args []string) ([]recoup.ID, recoup.ErrorFilter, error) {
	ids, err := s.IDs(recoup.ErrorIDs, args...)
	if err != nil {
		return nil, recoup.ErrorFilter{}, err
	}
	f, err := a.filter.read(s.Clock())
	if err != nil {
		return nil, f, err
	}
	empty := f == recoup.ErrorFilter{} && !a.filter.asks()
	switch {
	case len(ids) > 0 && (!empty || a.all):
		return nil, f, command.Usagef("ids and a filter are given: expected one of the two")
	case len(ids) == 0 && empty && !a.all:
		return nil, f, command.Usagef("neither an id nor a filter is given: --all means every open error")
	case a.kind.Owner && a.To == "":
		return nil, f, command.Usagef("--to is missing: expected the new owner")
	case a.kind.Reason:
		err = command.NeedReason(a.Reason)
	}
	if err == nil {
		err = checkTier("to-tier", a.Tier)
	}
	return ids, f, err
}

// one acts on a single error, whose refusal says most.
func (a *act) one(ctx context.Context, s *command.Session, id recoup.ID) error {
	done, err := s.Errors.Act(ctx, a.kind.Name, id, a.Act)
	switch {
	case err != nil:
		return err
	case s.Machine():
		return s.Print(done)
	}
	s.Sayf("%s %s: %s", done.Error.ID, a.kind.Past, standing(s.Streams, &done.Error))
	if done.Warning != "" {
		s.Notef("Note: %s", command.Printable(command.Words(strings.ToLower(done.Warning))))
	}
	return nil
}

// outcome is what became of many, as far as it went.
type outcome struct {
	recoup.BulkResult
	operation *recoup.Operation // that acted on them; nil: they were named
	err       error
}

// ChunkSize is how many errors one request changes: few enough to see it go on.
const ChunkSize = 200

func inChunks(ids []recoup.ID, preview bool) (chunks []recoup.BulkAct) {
	for chunk := range slices.Chunk(ids, ChunkSize) {
		chunks = append(chunks, recoup.BulkAct{IDs: chunk, Preview: preview})
	}
	return chunks
}

// many acts on errors chunk by chunk, or previews what would happen to them.
func (a *act) many(ctx context.Context, s *command.Session, chunks []recoup.BulkAct, total int) outcome {
	what, sum := string(a.kind.Name), outcome{}
	if len(chunks) > 0 && chunks[0].Preview {
		what, sum.Preview = "previewing", true
	}
	advance, end := s.ShowProgress(what)
	defer end()
	for _, chunk := range chunks {
		chunk.Act = a.Act
		done, err := s.Errors.ActOnIDs(ctx, a.kind.Name, chunk)
		if err != nil {
			sum.err = err
			break
		}
		sum.Matched, sum.Applied, sum.NotDone = sum.Matched+done.Matched, sum.Applied+done.Applied, sum.NotDone+done.NotDone
		sum.Refused = append(sum.Refused, done.Refused...)
		advance(sum.Matched, total)
	}
	return sum
}
