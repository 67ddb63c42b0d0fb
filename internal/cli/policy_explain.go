package cli

import (
	"cmp"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/fault"
	"recoup/internal/policy"
)

func policyExplain(streams Streams) *cobra.Command {
	var file policyFlag
	var ask asked
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "explain",
		Short: "Explain what happens to one failure, and which line of the policy says so",
		Example: `  recoup policy explain --table outreach.dol_errors --code VALIDATION_ERROR
  recoup policy explain --table people.people_errors --code MISSING_NAME --severity HIGH`,
		Args: noArgs,
	}
	file.add(cmd)
	cmd.Flags().StringVar(&ask.table, "table", "", "the error table that the failure is reported to")
	cmd.Flags().StringVar(&ask.code, "code", "", "its code")
	cmd.Flags().StringVar(&ask.severity, "severity", "", "the report's severity (default: the code's)")
	cmd.Flags().BoolVar(&ask.entity, "entity", true, "the report names an entity")
	cmd.Flags().BoolVar(&ask.proven, "proven", false, "the condition of a conditional code is proven")
	cmd.Flags().BoolVar(&asJSON, "json", false, "print it as JSON")
	cmd.RunE = func(*cobra.Command, []string) error {
		q, err := ask.question(streams)
		if err != nil {
			return err
		}
		p, name, err := file.load(streams)
		if err != nil {
			return err
		}
		e, reasons := p.Explain(q)
		if asJSON {
			return printJSON(streams.Out, viewExplanation(q, e, reasons, p.Outlook(e)))
		}
		return printExplanation(streams.Out, q, name, reasons, p.Outlook(e))
	}
	return cmd
}

// asked is a question as the flags put it.
type asked struct {
	table, code, severity string
	entity, proven        bool
}

// question looks the code up. A code that nobody registered is treated as the
// server would treat it, and the asker is told.
func (a *asked) question(streams Streams) (policy.Question, error) {
	severity := recoup.Severity(strings.ToUpper(a.severity))
	switch {
	case a.table == "":
		return policy.Question{}, usagef("--table is missing: expected an error table such as outreach.dol_errors")
	case a.code == "":
		return policy.Question{}, usagef("--code is missing: expected a code such as NETWORK_TIMEOUT")
	case !severity.Valid():
		return policy.Question{}, usagef("unknown severity %q: expected one of %s", a.severity, join(recoup.Severities()))
	}
	def, code, err := fault.Default().Fold(a.code)
	if err != nil {
		return policy.Question{}, usageError{err}
	}
	if def.Code != code {
		fmt.Fprintf(streams.Err, "%s is not registered and counts as %s.\n\n", code, def.Code)
	}
	return policy.Question{
		Table: a.table, Entity: a.entity, Code: code, Class: def.Effective(a.proven), Category: def.Category,
		Severity: cmp.Or(severity, def.Severity),
	}, nil
}

func printExplanation(w io.Writer, q policy.Question, name string, reasons []policy.Reason, next []policy.Moment) error {
	var b page
	b.heading(string(q.Code))
	entity := "with an entity"
	if !q.Entity {
		entity = "without an entity"
	}
	b.text(fmt.Sprintf("reported to %s %s: severity %s, class %s, category %s", q.Table, entity, q.Severity, q.Class, q.Category))
	b.heading("DECIDED")
	rows := [][]string{{"WHAT", "VALUE", "LINE", "WHY"}}
	for _, r := range reasons {
		value, line := r.Value, ""
		if r.Overruled {
			value = "(" + value + ")"
		}
		if r.Line > 0 {
			line = fmt.Sprint(r.Line)
		}
		rows = append(rows, []string{words(r.Field), value, line, r.Why})
	}
	b.columns(rows...)
	b.text(fmt.Sprintf("Lines are those of %s. A value in brackets was overruled by the next.", name))
	b.heading("WHAT HAPPENS NEXT, IF EVERY RETRY FAILS AND NOBODY ACTS")
	rows = nil
	for _, m := range next {
		rows = append(rows, []string{moment(m.After), m.What})
	}
	b.columns(rows...)
	_, err := io.WriteString(w, b.String())
	return err
}

// words turns park_reason into "park reason".
func words(name string) string { return strings.ReplaceAll(name, "_", " ") }

func moment(after time.Duration) string {
	if after == 0 {
		return "at once"
	}
	return "after " + brief(after)
}

// brief writes a duration in its two largest units: 2d 40m, 1h 3m, 12s.
func brief(d time.Duration) string {
	var parts []string
	for _, unit := range []struct {
		name   string
		length time.Duration
	}{{"d", 24 * time.Hour}, {"h", time.Hour}, {"m", time.Minute}, {"s", time.Second}} {
		if n := d / unit.length; n > 0 && len(parts) < 2 {
			parts = append(parts, fmt.Sprintf("%d%s", n, unit.name))
			d -= n * unit.length
		}
	}
	return cmp.Or(strings.Join(parts, " "), d.String())
}

type explanationView struct {
	Question  questionView    `json:"question"`
	Effective effectiveView   `json:"effective"`
	Reasons   []policy.Reason `json:"reasons"`
	Next      []momentView    `json:"next"`
}

type questionView struct {
	Table    string          `json:"table"`
	Entity   bool            `json:"entity"`
	Code     recoup.Code     `json:"code"`
	Class    recoup.Class    `json:"class"`
	Category recoup.Category `json:"category"`
	Severity recoup.Severity `json:"severity,omitempty"`
}

type momentView struct {
	AfterSeconds float64 `json:"after_seconds"`
	What         string  `json:"what"`
}

func viewExplanation(q policy.Question, e policy.Effective, reasons []policy.Reason, next []policy.Moment) explanationView {
	v := explanationView{Question: questionView(q), Effective: viewEffective(e), Reasons: reasons}
	for _, m := range next {
		v.Next = append(v.Next, momentView{m.After.Seconds(), m.What})
	}
	return v
}
