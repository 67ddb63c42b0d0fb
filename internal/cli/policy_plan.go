package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
	"recoup/internal/engine"
)

// planTime is how long a server may look at all open errors, or change them.
const planTime = 2 * time.Minute

func policyPlan(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "plan FILE",
		Short: "Say what a policy would change of a server's open errors",
		Long: `Asks a server which of its open errors would change if the policy of the file applied to
them, and how: when they expire, whether they are retried or parked, whether they block,
who owns them. Nothing is changed. 'recoup policy apply FILE --rebase' does exactly this.`,
		Example: `  recoup policy plan policy.yaml
  recoup policy plan policy.yaml --json`,
		Args: exactArgs("FILE"),
	}
	return onSlowServer(streams, cmd, planTime, func(ctx context.Context, s *session, args []string) error {
		text, err := readPolicy(args[0])
		if err != nil {
			return err
		}
		plan, err := s.plan(ctx, text)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, plan)
		}
		printPlan(s.Out, &plan)
		return nil
	})
}

func readPolicy(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("the policy cannot be read: %w", err)
	}
	return string(data), nil
}

func (s *session) plan(ctx context.Context, text string) (engine.Plan, error) {
	var plan engine.Plan
	answer, err := s.PlanPolicy(ctx, text, client.NoRetry())
	if err != nil {
		return plan, err
	}
	return plan, json.Unmarshal(answer, &plan)
}

func printPlan(w io.Writer, p *engine.Plan) {
	var b page
	b.heading("PLAN FOR POLICY " + printable(p.Version))
	b.text(fmt.Sprintf("%s: %d would change, %d would only take the new version, %d have it, %d stay with theirs.",
		count(p.Open, "open error"), p.Changed, p.Moved-p.Changed, p.Current, p.Open-p.Moved-p.Current))
	if len(p.Changes) > 0 {
		b.heading("CHANGES")
		rows := [][]string{{"KIND", "ERRORS", "WHICH"}}
		for _, c := range p.Changes {
			rows = append(rows, []string{changeName(c.Kind), fmt.Sprint(c.N), someIDs(c.IDs, c.N)})
		}
		b.columns(rows...)
		b.heading("BY TABLE")
		b.figures(tableRows(p)...)
	}
	if len(p.Kept) > 0 {
		b.heading("THESE STAY WITH THEIR VERSION")
		rows := [][]string{{"TABLE", "ERRORS", "WHY AND WHICH"}}
		for _, k := range p.Kept {
			rows = append(rows, []string{printable(k.Table), fmt.Sprint(k.N), printable(k.Reason) + ": " + someIDs(k.IDs, k.N)})
		}
		b.columns(rows...)
	}
	fmt.Fprint(w, b.String())
}

// tableRows counts changes by table and kind. An error may change in several
// ways, so that the kinds can add up to more than the errors.
func tableRows(p *engine.Plan) [][]string {
	header := []string{"TABLE", "OPEN", "CHANGED"}
	for _, c := range p.Changes {
		header = append(header, changeName(c.Kind))
	}
	rows := [][]string{header}
	for _, t := range p.Tables {
		row := []string{printable(t.Table), fmt.Sprint(t.Open), fmt.Sprint(t.Changed)}
		for _, c := range p.Changes {
			row = append(row, fmt.Sprint(t.Changes[c.Kind]))
		}
		rows = append(rows, row)
	}
	return rows
}

// changeName says a kind of change in words.
func changeName(k engine.ChangeKind) string {
	switch k {
	case engine.ChangePlace:
		return "handled otherwise"
	case engine.ChangeOwner:
		return "owner or tier"
	}
	return words(printable(string(k)))
}

// shownIDs is how many ids people are shown of each kind.
const shownIDs = 3

// someIDs writes the first ids of n.
func someIDs(ids []recoup.ID, n int) string {
	shown := make([]string, min(len(ids), shownIDs))
	for i := range shown {
		shown[i] = ids[i].String()
	}
	text := strings.Join(shown, " ")
	if rest := n - len(shown); rest > 0 {
		text += fmt.Sprintf(" and %d more", rest)
	}
	return text
}
