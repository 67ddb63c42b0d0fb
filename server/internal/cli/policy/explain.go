package policy

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/codes"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

func explain(streams command.Streams) *cobra.Command {
	var ask asked
	cmd := &cobra.Command{
		Use:   "explain --table TABLE --code CODE",
		Short: "Explain what happens to a failure, with the policy's lines",
		Example: `  recoup policy explain --policy policy.yaml --table app.errors --code CONFLICT
  recoup policy explain --table people.people_errors --code MISSING_NAME`,
	}
	cmd.Flags().StringVar(&ask.table, "table", "", "error `TABLE` that the failure is reported to; required")
	cmd.Flags().StringVar(&ask.code, "code", "", "error `CODE`; required")
	cmd.Flags().StringVar(&ask.severity, "severity", "", "the report's `SEVERITY`: "+command.Join(recoup.Severities())+" (default: the code's)")
	cmd.Flags().BoolVar(&ask.entity, "entity", true, "the report names an entity; if not, --entity=false")
	cmd.Flags().BoolVar(&ask.proven, "proven", false, "the condition of a conditional code is proven; 'codes show' names it")
	cmd.Args = command.NoArgs
	cmd.PreRunE = func(*cobra.Command, []string) error { return ask.check() }
	var from command.PolicyFlags
	return from.Offline(streams, cmd, command.One, func(_ context.Context, s *command.Session, _ []string) error {
		x := ask.question(streams, from.Policy.Registry())
		x.answer(from.Policy)
		if s.Machine() {
			return s.Print(x.view())
		}
		return x.print(s.Streams, from.Name)
	})
}

// asked is a question as the flags put it.
type asked struct {
	table, code, severity string
	entity, proven        bool
}

// explanation is a question with its answer.
type explanation struct {
	policy.Question
	code      *fault.Definition // what the failure's code counts as
	proven    bool
	effective policy.Effective
	reasons   []recoup.Rule
	next      []policy.Moment
}

// check refuses what is no question.
func (a *asked) check() error {
	switch {
	case a.table == "":
		return command.Usagef("--table is missing: expected an error table such as app.errors")
	case a.code == "":
		return command.Usagef("--code is missing: expected a code such as NETWORK_TIMEOUT")
	}
	if _, err := recoup.ParseCode(a.code); err != nil {
		return command.UsageError{Err: err}
	}
	severity, err := command.OneOf("severity", a.severity, recoup.Severities())
	a.severity = string(severity)
	return err
}

// question looks the code up. A code that nobody registered is treated as the
// server would treat it, and the output says so.
func (a *asked) question(streams command.Streams, registry *fault.Registry) *explanation {
	def, code, _ := registry.Fold(a.code) // check has read it
	if def.Code != code {
		fmt.Fprintf(streams.Err, "%s is not registered and counts as %s.\n\n", code, def.Code)
	}
	if a.proven && def.Class != recoup.ClassConditional {
		fmt.Fprintf(streams.Err, "%s is not conditional: --proven changes nothing.\n\n", def.Code)
	}
	return &explanation{
		Question: policy.Question{
			Table: a.table, Entity: a.entity, Code: code, Class: def.Effective(a.proven), Category: def.Category,
			Severity: cmp.Or(recoup.Severity(a.severity), def.Severity),
		},
		code: def, proven: a.proven,
	}
}

// answer asks the policy, as whoever stores the error does.
func (x *explanation) answer(p *policy.Policy) {
	x.effective, x.reasons = p.Explain(x.Question)
	x.next = p.Outlook(x.effective)
}

func (x *explanation) print(s command.Streams, name string) error {
	b := command.Page{Width: s.Width}
	b.Heading(string(x.Code))
	entity := "with an entity"
	if !x.Entity {
		entity = "without an entity"
	}
	b.Text(fmt.Sprintf("reported to %s %s: severity %s, class %s, category %s", x.Table, entity, x.Severity, x.code.Class, x.Category))
	b.Text(x.condition())
	b.Heading("DECIDED")
	rows := [][]string{{"WHAT", "VALUE", "LINE", "WHY"}}
	for _, r := range x.reasons {
		value, line := r.Value, ""
		if r.Overruled {
			value = "(" + value + ")"
		}
		if r.Line > 0 {
			line = fmt.Sprint(r.Line)
		}
		rows = append(rows, []string{command.Words(r.Field), value, line, r.Why})
	}
	b.Columns(rows...)
	b.Text(fmt.Sprintf("Lines are those of %s. A value in brackets was overridden by the next.", name))
	if !x.effective.Table.Allows(recoup.ActionRetry) {
		b.Text(fmt.Sprintf("Nothing is retried in %s: the table does not allow RETRY.", x.effective.Table.Name))
	}
	b.Heading("WHAT HAPPENS NEXT, IF EVERY RETRY FAILS AND NOBODY ACTS")
	rows = nil
	for _, m := range x.next {
		rows = append(rows, []string{moment(m.After), m.What})
	}
	b.Columns(rows...)
	_, err := io.WriteString(s.Out, b.String())
	return err
}

// condition says what a conditional code is taken as, and why; of other codes
// nothing.
func (x *explanation) condition() string {
	switch {
	case x.code.Class != recoup.ClassConditional:
		return ""
	case x.proven:
		return fmt.Sprintf("Class conditional is taken as %s, because --proven says that %s.", x.Class, codes.ConditionMeaning(x.code.Condition))
	}
	return fmt.Sprintf("Class conditional is taken as %s, because nothing proves that %s; --proven explains the other case.",
		x.Class, codes.ConditionMeaning(x.code.Condition))
}

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
	Question  questionView  `json:"question"`
	Effective effectiveView `json:"effective"`
	Reasons   []recoup.Rule `json:"reasons"`
	Next      []momentView  `json:"next"`
}

type questionView struct {
	Table     string           `json:"table"`
	Entity    bool             `json:"entity"`
	Code      recoup.Code      `json:"code"`
	Class     recoup.Class     `json:"class"` // what it is taken as
	Condition recoup.Condition `json:"condition,omitempty"`
	Proven    bool             `json:"proven,omitempty"`
	Category  recoup.Category  `json:"category"`
	Severity  recoup.Severity  `json:"severity,omitempty"`
}

type momentView struct {
	AfterSeconds float64 `json:"after_seconds"`
	What         string  `json:"what"`
}

func (x *explanation) view() explanationView {
	v := explanationView{
		Question: questionView{
			Table: x.Table, Entity: x.Entity, Code: x.Code, Class: x.Class, Condition: x.code.Condition,
			Proven: x.proven, Category: x.Category, Severity: x.Severity,
		},
		Effective: viewEffective(x.effective), Reasons: x.reasons,
	}
	for _, m := range x.next {
		v.Next = append(v.Next, momentView{m.After.Seconds(), m.What})
	}
	return v
}
