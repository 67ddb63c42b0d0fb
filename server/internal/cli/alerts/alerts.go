// Package alerts is 'recoup alerts' and 'recoup providers': what fires, silences,
// unit tests of alert rules, and the providers that rules switch.
package alerts

import (
	"context"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{
		command.Group(&cobra.Command{
			Use:   "alerts",
			Short: "List and silence alerts, and test alert rules",
			Long: `An alert is pending once a rule of the policy holds, fires and notifies when it has held for as
long as the rule says, and is resolved when the rule no longer holds. All commands but test talk
to a server.`,
			Example: `  recoup alerts list
  recoup alerts silence park-rate --for 2h --reason "being repaired"
  recoup alerts test examples/alerts/alerts.yaml`,
		}, list(streams), show(streams), silence(streams), silences(streams), unsilence(streams), test(streams)),
		providers(streams),
	}
}

func states() []wire.AlertState {
	return []wire.AlertState{wire.AlertPending, wire.AlertFiring, wire.AlertResolved}
}

func list(streams command.Streams) *cobra.Command {
	var f wire.AlertFilter
	var state string
	var past bool
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List pending and firing alerts, newest first",
		Example: `  recoup alerts list
  recoup alerts list --past --rule error-rate --all --json`,
	}
	cmd.Flags().StringVar(&state, "state", "", "only alerts in this `STATE`: "+command.Join(states()))
	cmd.Flags().StringVar(&f.Rule, "rule", "", "only alerts of this `RULE`")
	cmd.Flags().StringVar(&f.Scope, "scope", "", "only alerts of this `SCOPE`: a hub, service or provider")
	cmd.Flags().BoolVar(&past, "past", false, "include resolved alerts")
	return command.List[wire.Alert]{
		Noun: "alert", Key: "alerts",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "RULE"}, {Name: "SCOPE"}, {Name: "STATE", State: true}, {Name: "SEVERITY", Drop: 4}, {Name: "VALUE", Drop: 1},
			{Name: "CONDITION", Drop: 5}, {Name: "SINCE", Drop: 2}, {Name: "NOTIFIED", Drop: 3},
		},
		Read: func(*command.Session, []string) error {
			chosen, err := command.OneOf("state", state, states())
			f.State, f.Open = chosen, chosen == "" && !past
			return err
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]wire.Alert, string, error) {
			page, err := admin.New(s.Client).Alerts.List(ctx, f, p)
			return page.Alerts, page.Next, err
		},
		Row: row,
	}.Command(streams, cmd)
}

func row(_ *command.Session, a *wire.Alert) command.Cells {
	var notified any = command.At(a.NotifiedAt).Or("not yet")
	if a.Silenced {
		notified = "silenced"
	}
	return command.Cells{a.ID, a.Rule, a.Scope, a.State, a.Severity, value(a), a.Condition, command.Since(a.PendingAt), notified}
}

// value writes a value as the condition does: in percent, or as a number.
func value(a *wire.Alert) string {
	if strings.Contains(a.Condition, "%") {
		return strconv.FormatFloat(a.Value*100, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(a.Value, 'f', -1, 64)
}

func show(streams command.Streams) *cobra.Command {
	return command.ShowID(streams, &cobra.Command{
		Use:     "show ID",
		Short:   "Show one alert",
		Example: `  recoup alerts show ` + command.AnID,
	}, recoup.AlertIDs, func(ctx context.Context, s *command.Session, id recoup.ID) (wire.Alert, error) {
		return admin.New(s.Client).Alerts.Get(ctx, id)
	},
		func(s *command.Session, p *command.Page, a *wire.Alert) {
			notified := "not yet"
			if a.Notified > 0 {
				notified = command.Count(a.Notified, "time")
			}
			p.Heading(strings.ToUpper(a.Rule))
			p.Facts(
				"id", a.ID.String(), "scope", a.Scope, "state", string(a.State), "severity", string(a.Severity), "action", string(a.Action),
				"condition", a.Condition, "value", value(a), "samples", strconv.FormatInt(a.Samples, 10),
				"pending since", s.When(a.PendingAt), "fired", s.When(a.FiredAt), "resolved", s.When(a.ResolvedAt),
				"notified", notified, "last notified", s.When(a.NotifiedAt), "silenced", command.Yes(a.Silenced),
			)
		})
}
