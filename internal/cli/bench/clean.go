package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/cli/command"
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
	tag  string // of one run; empty: of all
	said string // why the server refused the last that it did
}

// ours reports whether an entity is of the run.
func (c *cleaner) ours(entity string) bool {
	if c.tag == "" {
		return strings.HasPrefix(entity, prefix)
	}
	return strings.HasPrefix(entity, prefix+c.tag+"-")
}

// clean resolves errors and archives dead letters.
func (c *cleaner) clean(ctx context.Context) (*cleanup, error) {
	done := &cleanup{}
	advance, end := c.ShowProgress("cleaning up")
	defer end()
	step := func(verb client.Verb, count *int) func([]recoup.ID) error {
		return func(ids []recoup.ID) error {
			answer, err := c.Bulk(ctx, verb, client.Bulk{Act: client.Act{Reason: message}, IDs: ids})
			*count += answer.Applied
			done.Refused += answer.NotDone
			for _, r := range answer.Refused {
				c.said = r.Reason
			}
			advance(done.Resolved+done.Archived, -1)
			return err
		}
	}
	err := errors.Join(c.errors(ctx, step(client.Resolve, &done.Resolved)), c.deadLetters(ctx, step(client.Archive, &done.Archived)))
	if err == nil && done.Refused > 0 {
		err = fmt.Errorf("%s of the benchmark could not be removed: %s", command.Count(done.Refused, "error"), command.Printable(c.said))
	}
	return done, err
}

// atOnce is how many errors one request removes.
const atOnce = 1000

// errors hands on the open errors of the run, so many at a time.
func (c *cleaner) errors(ctx context.Context, remove func([]recoup.ID) error) error {
	var ids []recoup.ID
	for e, err := range c.AllErrors(ctx, client.Filter{Text: message}) {
		if err != nil {
			return err
		}
		if !e.State.Open() || !c.ours(e.EntityID) {
			continue
		}
		if ids = append(ids, e.ID); len(ids) == atOnce {
			if err := remove(ids); err != nil {
				return err
			}
			ids = nil
		}
	}
	return last(ids, remove)
}

// deadLetters hands on the open dead letters of the run, so many at a time.
func (c *cleaner) deadLetters(ctx context.Context, remove func([]recoup.ID) error) error {
	var ids []recoup.ID
	for d, err := range c.AllDeadLetters(ctx, recoup.DeadLetterFilter{Pipeline: pipeline}) {
		if err != nil {
			return err
		}
		if !d.Open() || !c.ours(d.EntityID) {
			continue
		}
		if ids = append(ids, d.ErrorID); len(ids) == atOnce {
			if err := remove(ids); err != nil {
				return err
			}
			ids = nil
		}
	}
	return last(ids, remove)
}

func last(ids []recoup.ID, remove func([]recoup.ID) error) error {
	if len(ids) == 0 {
		return nil
	}
	return remove(ids)
}

// remains says what is left of a run.
func (b *benchmark) remains(r *result) {
	events := "Events stay in the ledger until its retention ends: recoup events --correlation-id " + r.Run.String()
	if r.Cleanup == nil {
		b.Notef("\nKept: the errors and dead letters of entities that begin with %s%s-. To remove them: %s\n%s", prefix, r.Tag, cleanCommandLine(&b.target, r.Tag), events)
		return
	}
	b.Notef("\nCleaned up: %s resolved, %s archived. %s", command.Count(r.Cleanup.Resolved, "error"), command.Count(r.Cleanup.Archived, "dead letter"), events)
}

// cleanCommandLine is the command that removes what is left of a run.
func cleanCommandLine(t *target, tag string) string {
	line := "recoup bench clean --server " + t.Server + " --run " + tag
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
		Long: `Resolves open errors and archives open dead letters that 'recoup bench' has made: those whose
entity begins with bench-, and whose message or pipeline is the benchmark's. A run cleans up by
itself unless it is killed or has --keep. Resolved errors are archived by the next sweep.
The key needs the role operator or admin.`,
		Example: `  recoup bench clean --server http://127.0.0.1:8080
  recoup bench clean --server http://127.0.0.1:8080 --run kqwzfa`,
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
	done, err := c.clean(ctx)
	switch {
	case err != nil:
		return err
	case c.Machine():
		return c.Print(done)
	}
	c.Sayf("%s resolved, %s archived", command.Count(done.Resolved, "error"), command.Count(done.Archived, "dead letter"))
	return nil
}
