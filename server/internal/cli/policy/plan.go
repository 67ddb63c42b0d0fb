package policy

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/engine"
)

// planTime is how long a server may look at all open errors, or change them.
const planTime = 2 * time.Minute

func plan(streams command.Streams) *cobra.Command {
	return command.Act[engine.Plan]{
		On: command.Slow(planTime),
		Call: func(ctx context.Context, s *command.Session, args []string) (engine.Plan, error) {
			text, err := readPolicy(args[0])
			if err != nil {
				return engine.Plan{}, err
			}
			return fetchPlan(ctx, s, text)
		},
		Say: func(s *command.Session, p engine.Plan) { printPlan(s.Out, s.Width, &p) },
	}.Command(streams, &cobra.Command{
		Use:   "plan FILE",
		Short: "Preview what a policy would change of a server's open errors",
		Long: `Asks a server which of its open errors would change if the policy of the file applied to them,
and how: when they expire, whether they are retried or parked, whether they block, who owns them.
Nothing is changed. 'recoup policy apply FILE --reason TEXT --rebase' does exactly this.`,
		Example: `  recoup policy plan policy.yaml
  recoup policy plan policy.yaml --json`,
		Args: command.ExactArgs("FILE"),
	})
}

func readPolicy(file string) (string, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("cannot read the policy: %w", err)
	}
	return string(data), nil
}

func fetchPlan(ctx context.Context, s *command.Session, text string) (engine.Plan, error) {
	var plan engine.Plan
	answer, err := admin.New(s.Client).Policy.Plan(ctx, text, client.NoRetry())
	if err != nil {
		return plan, err
	}
	return plan, json.Unmarshal(answer, &plan)
}

func printPlan(w io.Writer, width int, p *engine.Plan) {
	b := command.Page{Width: width}
	b.Heading("PLAN FOR POLICY " + command.Printable(p.Version))
	b.Text(fmt.Sprintf("%s: %d would change, %d would only take the new version, %d have it, %d stay with theirs.",
		command.Count(p.Open, "open error"), p.Changed, p.Moved-p.Changed, p.Current, p.Open-p.Moved-p.Current))
	if len(p.Changes) > 0 {
		b.Heading("CHANGES")
		rows := [][]string{{"KIND", "ERRORS", "WHICH"}}
		for _, c := range p.Changes {
			rows = append(rows, []string{changeName(c.Kind), fmt.Sprint(c.N), command.SomeIDs(c.IDs, c.N)})
		}
		b.Columns(rows...)
		b.Heading("BY TABLE")
		b.Figures(tableRows(p)...)
	}
	if len(p.Kept) > 0 {
		b.Heading("THESE STAY WITH THEIR VERSION")
		rows := [][]string{{"TABLE", "ERRORS", "WHY AND WHICH"}}
		for _, k := range p.Kept {
			rows = append(rows, []string{command.Printable(k.Table), fmt.Sprint(k.N), command.Printable(k.Reason) + ": " + command.SomeIDs(k.IDs, k.N)})
		}
		b.Columns(rows...)
	}
	if len(p.Adopted) > 0 {
		b.Heading("ADOPTED TABLES THAT THE POLICY LACKS: IT IS REFUSED UNTIL THEY ARE MOVED OR RELEASED")
		rows := [][]string{{"TABLE", "ADOPTED"}}
		for _, a := range p.Adopted {
			rows = append(rows, []string{command.Printable(a.Table), command.Printable(a.Source)})
		}
		b.Columns(rows...)
	}
	if len(p.Codes) > 0 {
		b.Heading("CODES THAT THE POLICY TAKES OVER")
		rows := [][]string{{"CODE", "ALIASES THAT IT LOSES"}}
		for _, c := range p.Codes {
			var lost []string
			for _, alias := range c.LostAliases {
				lost = append(lost, command.Printable(string(alias)))
			}
			rows = append(rows, []string{command.Printable(string(c.Code)), cmp.Or(strings.Join(lost, ", "), "none")})
		}
		b.Columns(rows...)
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
		row := []string{command.Printable(t.Table), fmt.Sprint(t.Open), fmt.Sprint(t.Changed)}
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
		return "other action"
	case engine.ChangeOwner:
		return "owner or tier"
	}
	return command.Words(command.Printable(string(k)))
}
