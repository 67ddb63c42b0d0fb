package benchcli

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// cleanup is what was removed of one run, or of all.
type cleanup struct {
	Resolved int `json:"resolved"` // errors
	Archived int `json:"archived"` // dead letters
	Refused  int `json:"refused"`  // both, that the server would not
}

// cleaner finds what benchmarks have written by its names, so that nothing has to be
// remembered: not by a run that was killed, and not of requests whose answer was lost.
type cleaner struct {
	*command.Session
	cleanup
	table string // that the run reported to; empty: any
	tag   string // of one run; empty: of all
	said  string // why the server refused the last that it did
}

// ours reports whether an entity is of the run.
func (c *cleaner) ours(entity string) bool {
	if c.tag == "" {
		return strings.HasPrefix(entity, prefix)
	}
	return strings.HasPrefix(entity, prefix+c.tag+"-")
}

// clean archives dead letters and resolves errors.
func (c *cleaner) clean(ctx context.Context) error {
	advance, end := c.ShowProgress("cleaning up")
	defer end()
	remove := func(ctx context.Context, verb recoup.ActName, count *int) func([]recoup.ID) error {
		return func(ids []recoup.ID) error {
			answer, err := c.Errors.ActOnIDs(ctx, verb, recoup.BulkAct{Act: recoup.Act{Reason: message}, IDs: ids})
			*count += answer.Applied
			c.Refused += answer.NotDone
			for _, r := range answer.Refused {
				c.said = r.Reason
			}
			advance(c.Resolved+c.Archived, -1)
			return err
		}
	}
	// Dead letters are errors, too, that cannot be resolved.
	err := patiently(ctx, c.Session, func(ctx context.Context) error {
		return c.deadLetters(ctx, remove(ctx, recoup.ActArchive, &c.Archived))
	})
	if err == nil {
		err = patiently(ctx, c.Session, func(ctx context.Context) error { return c.errors(ctx, remove(ctx, recoup.ActResolve, &c.Resolved)) })
	}
	if err == nil && c.Refused > 0 {
		err = fmt.Errorf("%s of the benchmark could not be removed: %s", command.Count(c.Refused, "error"), command.Printable(c.said))
	}
	return err
}

// maxWaits is how often a server is waited for that asks for fewer requests.
const maxWaits = 30

// patiently does something again and again while the server asks for fewer requests, as it
// may just before and after a load. It must be something that can be repeated.
func patiently(ctx context.Context, s *command.Session, do func(context.Context) error) error {
	sleep := s.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	for n := 0; ; n++ {
		err := do(ctx)
		o := outcome(0, err)
		if err == nil || !o.Limited || n == maxWaits || sleep(ctx, max(o.RetryAfter, time.Second)) != nil {
			return err
		}
	}
}

// atOnce is how many errors one request removes.
const atOnce = 1000

// errors removes the open errors of the run. They are looked for by their code and not by
// their message: a search of messages finds what came in the last seconds only later.
func (c *cleaner) errors(ctx context.Context, remove func([]recoup.ID) error) error {
	return inPieces(c.Errors.All(ctx, recoup.ErrorFilter{Table: c.table, Code: string(failureCode)}), remove, func(e *recoup.Error) (recoup.ID, bool) {
		return e.ID, e.State.Open() && made(e) && c.ours(e.EntityID)
	})
}

// deadLetters removes the open dead letters of the run, which are found by their pipeline.
func (c *cleaner) deadLetters(ctx context.Context, remove func([]recoup.ID) error) error {
	return inPieces(c.DeadLetters.All(ctx, recoup.DeadLetterFilter{Pipeline: pipeline}), remove, func(d *recoup.DeadLetter) (recoup.ID, bool) {
		return d.ErrorID, d.Open() && c.ours(d.EntityID)
	})
}

// inPieces removes those of a list that are meant, so many at a time.
func inPieces[T any](list iter.Seq2[T, error], remove func([]recoup.ID) error, meant func(*T) (recoup.ID, bool)) error {
	var ids []recoup.ID
	for thing, err := range list {
		if err != nil {
			return err
		}
		id, ok := meant(&thing)
		if !ok {
			continue
		}
		if ids = append(ids, id); len(ids) == atOnce {
			if err := remove(ids); err != nil {
				return err
			}
			ids = nil
		}
	}
	if len(ids) == 0 {
		return nil
	}
	return remove(ids)
}

// remains says what is left of a run.
func (b *benchmark) remains(r *result) {
	events := "Events stay in the ledger until its retention ends: recoup events --correlation-id " + r.Run.String()
	switch {
	case !b.writes() && !b.mix.Has(opEvents):
		return
	case !b.writes():
		b.Notef("\n%s", events)
		return
	case r.Cleanup == nil:
		b.Notef("\nKept: the errors and dead letters of entities that begin with %s%s-. To remove them: %s\n%s", prefix, r.Tag, cleanCommandLine(&b.target, r.Tag), events)
		return
	}
	b.Notef("\nCleaned up: %s resolved, %s archived. %s", command.Count(r.Cleanup.Resolved, "error"), command.Count(r.Cleanup.Archived, "dead letter"), events)
}

// cleanCommandLine is the command that removes what is left of a run.
func cleanCommandLine(t *target, tag string) string {
	line := "recoup-bench clean --server " + t.Server + " --run " + tag
	if t.allowed != "" {
		line += " --allow-host " + t.allowed
	}
	return line
}

func cleanCommand(streams command.Streams) *cobra.Command {
	var t target
	c := &cleaner{Session: &command.Session{Streams: streams}}
	cmd := &cobra.Command{
		Use:   "clean",
		Short: "Remove what benchmarks have left on a server",
		Long: `Resolves open errors and archives open dead letters that 'recoup-bench' has made: those whose
entity begins with bench-, and whose message or pipeline is the benchmark's. A run cleans up by
itself unless it is killed or has --keep. Resolved errors are archived by the next sweep.
The key needs the role operator or admin.`,
		Example: `  recoup-bench clean --server http://127.0.0.1:8080
  recoup-bench clean --server http://127.0.0.1:8080 --run kqwzfa`,
		Args: command.NoArgs,
	}
	t.add(cmd)
	cmd.Flags().StringVar(&c.tag, "run", "", "only of the run with this `TAG`, which it has printed")
	c.Flags(cmd, command.One)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if err := t.check(); err != nil {
			return err
		}
		own, err := t.Connect(streams.Now, 0)
		if err != nil {
			return err
		}
		defer own.Close()
		c.Client = own
		return t.Explain(cmd, args, c.main(cmd.Context()))
	}
	return cmd
}

func (c *cleaner) main(ctx context.Context) error {
	err := c.clean(ctx)
	switch {
	case err != nil:
		return err
	case c.Machine():
		return c.Print(c.cleanup)
	}
	c.Sayf("%s resolved, %s archived", command.Count(c.Resolved, "error"), command.Count(c.Archived, "dead letter"))
	return nil
}
