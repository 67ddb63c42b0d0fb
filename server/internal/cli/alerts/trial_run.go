package alerts

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func test(streams command.Streams) *cobra.Command {
	var file command.PolicyFlags
	cmd := &cobra.Command{
		Use:   "test FILE…",
		Short: "Unit-test alert rules: given series, expected alerts",
		Long: `Runs unit tests of alert rules, without a server. A file names the policy under test, or the
rules themselves, and has tests such as this one:

  tests:
    - name: a park rate above a fifth fires at once
      given:
        - {metric: park_rate, scope: app, values: "10%x5 25%x10 0%"}
      expect:
        - {at: 4m, alerts: []}
        - at: 5m
          alerts:
            - {rule: park-rate, scope: app, state: FIRING}
          notified: [ALERT app-team park-rate]

Values follow each other by the minute, or by the file's step; the last one stays. 5x3 is 5 three
times, 0+10x5 grows, _ is no value. Rates have enough samples unless samples: says how many. Notified
lists the notifications of that minute. Pending alerts count too. The policy is the file's own,
else --policy.`,
		Example: `  recoup alerts test examples/alerts/alerts.yaml
  recoup alerts test --policy policy.yaml examples/alerts/alerts.yaml --json`,
		Args: command.SomeArgs("FILE"),
	}
	return command.Act[trialReport]{
		On: file.Offline,
		Call: func(_ context.Context, _ *command.Session, args []string) (all trialReport, err error) {
			for _, name := range args {
				if err := all.run(name, &file, streams); err != nil {
					return all, err
				}
			}
			return all, nil
		},
		Say:    func(s *command.Session, all trialReport) { all.print(s.Streams) },
		Failed: func(all trialReport) bool { return all.Failed > 0 },
	}.Command(streams, cmd)
}

// trialReport is how the tests went.
type trialReport struct {
	Passed int           `json:"passed"`
	Failed int           `json:"failed"`
	Tests  []trialResult `json:"tests"`
}

type trialResult struct {
	File     string         `json:"file"`
	Name     string         `json:"name"`
	Passed   bool           `json:"passed"`
	Failures []trialFailure `json:"failures,omitempty"`
}

// trialFailure is what was otherwise than expected at a time.
type trialFailure struct {
	At         string   `json:"at"`
	What       string   `json:"what"` // alerts, notified or providers
	Missing    []string `json:"missing,omitempty"`
	Unexpected []string `json:"unexpected,omitempty"`
}

// run runs the tests of a file.
func (r *trialReport) run(name string, file *command.PolicyFlags, streams command.Streams) error {
	f, p, err := readTrials(name, file, streams)
	if err != nil {
		return err
	}
	step, err := trialTime("step", cmp.Or(f.Step, "1m"))
	if err != nil || step < time.Second {
		return fmt.Errorf("%s: step: expected a second or more", name)
	}
	for i := range f.Tests {
		test := &f.Tests[i]
		failures, err := test.run(p, step)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", name, cmp.Or(test.Name, fmt.Sprintf("test %d", i+1)), err)
		}
		r.Tests = append(r.Tests, trialResult{name, cmp.Or(test.Name, fmt.Sprintf("test %d", i+1)), len(failures) == 0, failures})
		if len(failures) > 0 {
			r.Failed++
		} else {
			r.Passed++
		}
	}
	return nil
}

// run plays the test until its last expectation.
func (t *trialTest) run(p *policy.Policy, step time.Duration) ([]trialFailure, error) {
	trial, err := t.trial(p, step)
	if err != nil {
		return nil, err
	}
	expected := map[time.Duration]*trialExpect{}
	for i := range t.Expect {
		at, err := trialTime("at", t.Expect[i].At)
		switch {
		case err != nil:
			return nil, err
		case at%step != 0 || at > maxPoints*step:
			return nil, fmt.Errorf("at %s nothing is evaluated: expected a multiple of %s, at most %s",
				t.Expect[i].At, policy.FormatDuration(step), policy.FormatDuration(maxPoints*step))
		case expected[at] != nil:
			return nil, fmt.Errorf("at %s something is expected twice", t.Expect[i].At)
		}
		expected[at] = &t.Expect[i]
	}
	if len(expected) == 0 {
		return nil, fmt.Errorf("nothing is expected")
	}
	var failures []trialFailure
	err = trial.Run(slices.Max(slices.Collect(maps.Keys(expected))), func(s alert.Scene) {
		if want := expected[s.At]; want != nil {
			failures = append(failures, want.compare(s)...)
		}
	})
	return failures, err
}

// compare returns what differs.
func (x *trialExpect) compare(s alert.Scene) []trialFailure {
	var list []trialFailure
	note := func(what string, want, got []string) {
		missing, unexpected := without(want, got), without(got, want)
		if len(missing)+len(unexpected) > 0 {
			list = append(list, trialFailure{x.At, what, missing, unexpected})
		}
	}
	if x.Alerts != nil {
		var want, got []string
		for _, a := range *x.Alerts {
			want = append(want, describeAlert(a.Rule, a.Scope, cmp.Or(a.State, string(wire.AlertFiring)), a.Severity))
		}
		for _, a := range s.Open {
			severity := string(a.Severity)
			if x.plain(&a) {
				severity = "" // the test does not say which
			}
			got = append(got, describeAlert(a.Rule, a.Scope, string(a.State), severity))
		}
		note("alerts", want, got)
	}
	if x.Notified != nil {
		var got []string
		for _, heard := range s.Notified {
			got = append(got, describeHeard(heard))
		}
		note("notified", *x.Notified, got)
	}
	var want, got []string
	for _, group := range slices.Sorted(maps.Keys(x.Providers)) {
		want, got = append(want, group+" "+x.Providers[group]), append(got, group+" "+s.Providers[group])
	}
	note("providers", want, got)
	return list
}

// plain reports whether the test expects an alert without its severity.
func (x *trialExpect) plain(a *wire.Alert) bool {
	return slices.ContainsFunc(*x.Alerts, func(w trialAlert) bool { return w.Rule == a.Rule && w.Scope == a.Scope && w.Severity == "" })
}

func describeAlert(rule, scope, state, severity string) string {
	return strings.Join(strings.Fields(strings.Join([]string{rule, scope, state, severity}, " ")), " ")
}

// describeHeard writes a notice: its kind, its recipient, the rules it is about and
// the providers it switches to.
func describeHeard(h alert.Heard) string {
	words := []string{string(h.Kind), h.To}
	if h.Page {
		words = append(words, "page")
	}
	for _, line := range h.Alerts {
		if !slices.Contains(words[2:], line.Rule) {
			words = append(words, line.Rule)
		}
	}
	for _, s := range h.Switches {
		words = append(words, s.From+"->"+s.To)
	}
	return strings.Join(words, " ")
}

// without returns what is in a and not in b, one for one.
func without(a, b []string) []string {
	left := slices.Clone(b)
	var list []string
	for _, s := range a {
		if i := slices.Index(left, s); i >= 0 {
			left = slices.Delete(left, i, i+1)
			continue
		}
		list = append(list, s)
	}
	return list
}

func (r *trialReport) print(streams command.Streams) {
	for _, t := range r.Tests {
		if t.Passed {
			continue
		}
		fmt.Fprintf(streams.Out, "FAIL  %s: %s\n", t.File, command.Printable(t.Name))
		for _, f := range t.Failures {
			fmt.Fprintf(streams.Out, "  at %s, %s:\n", f.At, f.What)
			for _, s := range f.Missing {
				fmt.Fprintf(streams.Out, "    - %s\n", command.Printable(s))
			}
			for _, s := range f.Unexpected {
				fmt.Fprintf(streams.Out, "    + %s\n", command.Printable(s))
			}
		}
	}
	if r.Failed > 0 {
		fmt.Fprintf(streams.Out, "\n%s failed, %d passed. Lines with - were expected and are missing, lines with + were not expected.\n", command.Count(r.Failed, "test"), r.Passed)
		return
	}
	fmt.Fprintf(streams.Out, "%s passed.\n", command.Count(r.Passed, "test"))
}
