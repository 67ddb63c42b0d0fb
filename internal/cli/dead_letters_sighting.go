package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"recoup/client"
)

// sighting is what a person has seen of a dead letter or a group, which triage
// confirms. It is never taken from the dead letter itself: whoever did not look has
// confirmed nothing.
type sighting struct{ class, stage, exhausted string }

func (v *sighting) add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&v.class, "class", "", "the `CLASS` of the failure that was seen")
	cmd.Flags().StringVar(&v.stage, "stage", "", "the `STAGE` that was seen to have failed")
	cmd.Flags().StringVar(&v.exhausted, "exhausted", "", "whether its retries were exhausted, as `ANSWER`: yes or no")
}

// spent is whether the retries were exhausted.
func (v *sighting) spent() *bool {
	yes := v.exhausted == "yes"
	return &yes
}

// complete asks for what no flag has said, below what there is to be seen.
func (v *sighting) complete(ctx context.Context, s *session, t *letterTarget, args []string) error {
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
		return fmt.Errorf("triage confirms what was seen, and there is no terminal to ask on: %s missing", lacking(missing))
	}
	if err := v.show(ctx, s, t, args); err != nil {
		return err
	}
	for _, part := range v.parts() {
		if *part.said == "" {
			*part.said = s.ask(part.question)
		}
		if *part.said == "" {
			return errors.New("not confirmed: nothing was done")
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
	v.exhausted, err = oneOf("exhausted", v.exhausted, []string{"yes", "no"})
	return err
}

// part is something to be confirmed.
type part struct {
	flag, question string
	said           *string
}

func (v *sighting) parts() []part {
	return []part{
		{"class", "The class of its failure: ", &v.class},
		{"stage", "The stage that failed: ", &v.stage},
		{"exhausted", "Its retries were exhausted, yes or no: ", &v.exhausted},
	}
}

// show prints what there is to be seen.
func (v *sighting) show(ctx context.Context, s *session, t *letterTarget, args []string) error {
	var p page
	if t.group == "" {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		d, err := s.DeadLetter(ctx, id)
		if err != nil {
			return err
		}
		s.describeLetter(&p, &d)
		fmt.Fprintf(s.Err, "%s\n", p.String())
		return nil
	}
	id, err := groupID(t.group)
	if err != nil {
		return err
	}
	g, err := s.DeadLetterGroup(ctx, id)
	if err != nil {
		return err
	}
	letters, err := s.DeadLetters(ctx, client.DeadLetterFilter{GroupID: id}, client.Page{Limit: maxRows})
	if err != nil {
		return err
	}
	spent := 0
	for i := range letters.DeadLetters {
		if letters.DeadLetters[i].Exhausted {
			spent++
		}
	}
	p.heading(string(g.Class) + " at " + g.Stage)
	p.known(
		fact{"group", g.ID.String()}, fact{"pipeline", g.Pipeline}, fact{"error", g.Signature}, fact{"open", fmt.Sprint(g.Open)},
		fact{"exhausted", fmt.Sprintf("%d of %d looked at", spent, len(letters.DeadLetters))}, fact{"owner", g.Owner}, fact{"note", g.Note},
	)
	fmt.Fprintf(s.Err, "%s\n", p.String())
	return nil
}
