package deadletters

import (
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
)

// sighting is what a person has seen of a dead letter or a group, which triage
// confirms. It is never taken from the dead letter itself: whoever did not look has
// confirmed nothing.
type sighting struct{ class, stage, exhausted string }

func (v *sighting) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.class, "class", "", "confirm the `CLASS` of the failure")
	cmd.Flags().StringVar(&v.stage, "stage", "", "confirm the `STAGE` that failed")
	cmd.Flags().StringVar(&v.exhausted, "exhausted", "", "confirm whether its retries were exhausted: `yes` or no")
}

// spent is whether the retries were exhausted.
func (v *sighting) spent() *bool {
	yes := v.exhausted == "yes"
	return &yes
}

// complete asks for what no flag has said, below what there is to be seen.
func (v *sighting) complete(ctx context.Context, s *command.Session, t *target, args []string) error {
	if _, err := t.id(s, args); err != nil {
		return err
	}
	var missing []string
	for _, part := range v.parts() {
		if *part.said == "" {
			missing = append(missing, "--"+part.flag)
		}
	}
	if len(missing) == 0 {
		return v.checkExhausted()
	}
	if !s.Interactive {
		return fmt.Errorf("triage confirms what was inspected, and standard input is not a terminal: %s missing", lacking(missing))
	}
	if err := v.show(ctx, s, t, args); err != nil {
		return err
	}
	for _, part := range v.parts() {
		if *part.said == "" {
			*part.said = s.Ask(part.question)
		}
		if *part.said == "" {
			return stream.ErrNotConfirmed
		}
	}
	return v.checkExhausted()
}

// lacking joins names of flags, with the verb that fits.
func lacking(names []string) string {
	if len(names) == 1 {
		return names[0] + " is"
	}
	return strings.Join(names[:len(names)-1], ", ") + " and " + names[len(names)-1] + " are"
}

func (v *sighting) checkExhausted() (err error) {
	v.exhausted, err = command.OneOf("exhausted", v.exhausted, []string{"yes", "no"})
	return err
}

// part is something to be confirmed.
type part struct {
	flag, question string
	said           *string
}

func (v *sighting) parts() []part {
	return []part{
		{"class", "Class of the failure: ", &v.class},
		{"stage", "Stage that failed: ", &v.stage},
		{"exhausted", "Were its retries exhausted, yes or no? ", &v.exhausted},
	}
}

// show prints what there is to be seen.
func (v *sighting) show(ctx context.Context, s *command.Session, t *target, args []string) error {
	p := command.Page{Width: s.Width}
	id, err := t.id(s, args)
	if err != nil {
		return err
	}
	if t.group == "" {
		d, err := s.DeadLetters.Get(ctx, id)
		if err != nil {
			return err
		}
		describe(s, &p, &d)
		s.Notef("%s", p.String())
		return nil
	}
	g, err := s.DeadLetterGroups.Get(ctx, id)
	if err != nil {
		return err
	}
	page, err := s.DeadLetters.List(ctx, recoup.DeadLetterFilter{GroupID: id}, client.Page{Limit: command.MaxRows})
	if err != nil {
		return err
	}
	spent := 0
	for i := range page.DeadLetters {
		if page.DeadLetters[i].Exhausted {
			spent++
		}
	}
	p.Heading(string(g.Class) + " at " + g.Stage)
	p.Facts("group", g.ID.String(), "pipeline", g.Pipeline, "error", g.Signature, "open", fmt.Sprint(g.Open),
		"exhausted", fmt.Sprintf("%d of %d looked at", spent, len(page.DeadLetters)), "owner", g.Owner, "note", g.Note)
	s.Notef("%s", p.String())
	return nil
}
