package cli

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"recoup/client"
	"recoup/internal/store"
)

func alertsCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "alerts",
		Short: "See what alerts fire, silence them, and test their rules",
		Long: `An alert begins when a rule of the policy holds: it is pending until it has held for as
long as the rule wants, then it fires and people are told, and it is resolved when the rule
holds no more. All but test talk to a server.`,
		Example: `  recoup alerts list
  recoup alerts silence park-rate --scope dol-filings --for 2h --reason "being repaired"
  recoup alerts test examples/alerts/alerts.yaml`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(alertsList(streams), alertsShow(streams), alertsSilence(streams), alertsSilences(streams),
		alertsUnsilence(streams), alertsTest(streams))
	return cmd
}

func alertStates() []store.AlertState {
	return []store.AlertState{store.AlertPending, store.AlertFiring, store.AlertResolved}
}

func alertsList(streams Streams) *cobra.Command {
	var f client.AlertFilter
	var pages paging
	var state string
	var past bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List alerts that are pending or fire, newest first",
		Example: `  recoup alerts list
  recoup alerts list --past --rule error-rate --all --json`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&state, "state", "", "only alerts in this `STATE`: "+join(alertStates()))
	cmd.Flags().StringVar(&f.Rule, "rule", "", "only alerts of this `RULE`")
	cmd.Flags().StringVar(&f.Scope, "scope", "", "only alerts of this hub, service or provider, the `SCOPE`")
	cmd.Flags().BoolVar(&past, "past", false, "resolved alerts too")
	pages.add(cmd)
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if err := pages.check(); err != nil {
			return err
		}
		chosen, err := oneOf("state", state, alertStates())
		if err != nil {
			return err
		}
		f.State, f.Open = string(chosen), chosen == "" && !past
		list, err := s.alertPage(ctx, f, pages)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		}
		s.printAlerts(list)
		return nil
	})
}

func (s *session) alertPage(ctx context.Context, f client.AlertFilter, p paging) (client.AlertPage, error) {
	if !p.all {
		return s.Alerts(ctx, f, client.Page{Limit: p.limit})
	}
	page := client.AlertPage{Alerts: []client.Alert{}}
	for a, err := range s.AllAlerts(ctx, f) {
		if err != nil {
			return page, err
		}
		page.Alerts = append(page.Alerts, a)
	}
	return page, nil
}

func (s *session) printAlerts(list client.AlertPage) {
	if len(list.Alerts) == 0 {
		fmt.Fprintln(s.Err, "No alert matches.")
		return
	}
	t := newTable(s.Streams, "ID", "RULE", "SCOPE", "STATE", "SEVERITY", "VALUE", "CONDITION", "SINCE", "TOLD")
	for i := range list.Alerts {
		a := &list.Alerts[i]
		t.add(a.ID.String(), a.Rule, a.Scope, a.State, a.Severity, alertValue(a), a.Condition, s.ago(a.PendingAt), s.toldOf(a))
	}
	fmt.Fprint(s.Out, t)
	if list.Next != "" {
		fmt.Fprintln(s.Err, "\nThere are more: --limit N or --all shows them.")
	}
}

// alertValue writes a value as the condition does: in percent, or as a number.
func alertValue(a *client.Alert) string {
	if strings.Contains(a.Condition, "%") {
		return strconv.FormatFloat(a.Value*100, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(a.Value, 'f', -1, 64)
}

// toldOf says when people were told last.
func (s Streams) toldOf(a *client.Alert) string {
	switch {
	case a.Silenced:
		return "silenced"
	case a.NotifiedAt.IsZero():
		return "not yet"
	}
	return s.relative(a.NotifiedAt)
}

func alertsShow(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "show ID",
		Short:   "Show one alert",
		Example: `  recoup alerts show 0198c0de-0000-7000-8000-000000000001`,
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		a, err := s.Alert(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, a)
		}
		var p page
		p.heading(strings.ToUpper(a.Rule))
		p.known(
			fact{"id", a.ID.String()}, fact{"scope", a.Scope}, fact{"state", a.State}, fact{"severity", a.Severity},
			fact{"action", a.Action}, fact{"condition", a.Condition}, fact{"value", alertValue(&a)},
			fact{"samples", strconv.FormatInt(a.Samples, 10)}, fact{"pending since", s.when(a.PendingAt)},
			fact{"fired", s.when(a.FiredAt)}, fact{"resolved", s.when(a.ResolvedAt)}, fact{"told", told(a.Notified)},
			fact{"last told", s.when(a.NotifiedAt)}, fact{"silenced", yes(a.Silenced)},
		)
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}

func told(n int) string {
	if n == 0 {
		return "nobody yet"
	}
	return count(n, "time")
}

// silenceEnd reads until when a silence lasts: a time, or how long from now on.
func silenceEnd(last, until string, now time.Time) (time.Time, error) {
	switch {
	case (last == "") == (until == ""):
		return time.Time{}, usagef("expected one of --for and --until: silences end by themselves")
	case last != "":
		back, err := parseInstant("for", last, now)
		if err != nil || !back.Before(now) {
			return time.Time{}, usagef("--for %q is no time: expected one such as 90m, 48h or 7d", last)
		}
		return now.Add(now.Sub(back)).UTC(), nil
	}
	return parseInstant("until", until, now)
}
