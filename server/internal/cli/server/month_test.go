package server_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/demo"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A demo has a month behind it: alerts that fire and that are over, errors in every
// state and of every age, a replay under way, notices that a channel did not take.
func TestDemoMonth(t *testing.T) {
	t.Parallel()
	tuesday := time.Date(2026, 11, 17, 9, 30, 0, 0, time.UTC)
	clock := demo.NewClock(func() time.Time { return tuesday })
	var days int
	n := live.Start(t, app.Options{Demo: true, Now: clock.Now, First: demo.Policy(), Channels: []notify.Config{demo.Channel()}},
		func(n *app.Node, ctx context.Context) error {
			return n.PlayDemo(ctx, clock, func(played, _ int) { days = played })
		})
	if days != 30 || clock.Playing() || !clock.Now().Equal(tuesday) {
		t.Errorf("%d days were played, and it is %s", days, clock.Now())
	}
	c, whole := n.Client(), client.Page{Limit: 1000}
	alerts, err := admin.New(c).Alerts.List(t.Context(), wire.AlertFilter{}, whole)
	if err != nil {
		t.Fatal(err)
	}
	states := map[wire.AlertState]int{}
	for _, a := range alerts.Alerts {
		states[a.State]++
		if a.Rule == "nobody-claims" {
			t.Error("nobody claimed while the month was played")
		}
	}
	if states[wire.AlertFiring] == 0 || states[wire.AlertResolved] < 2 {
		t.Errorf("the alerts are %v", states)
	}
	counts, err := c.Errors.Counts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	open := map[recoup.State]int64{}
	for _, count := range counts {
		open[count.State] += count.N
	}
	for _, state := range []recoup.State{recoup.RetryPending, recoup.Parked, recoup.Escalated} {
		if open[state] == 0 {
			t.Errorf("no error is %s: %v", state, open)
		}
	}
	parked, err := c.Errors.Parked(t.Context(), recoup.ParkedFilter{}, whole)
	if err != nil || tuesday.Sub(parked.Errors[0].ParkedAt) < 14*24*time.Hour || tuesday.Sub(parked.Errors[len(parked.Errors)-1].ParkedAt) > time.Hour {
		t.Errorf("what is parked is not between minutes and weeks old: %v", err)
	}
	archived, err := c.Errors.Archived(t.Context(), "outreach.dol_errors", whole)
	if err != nil || len(archived.Errors) < 20 {
		t.Errorf("%d errors are in the archive: %v", len(archived.Errors), err)
	}
	person := clitest.At(t, n.URL)
	person.Clock = node.NewClock(tuesday)
	status := person.Run("status").Out
	for _, want := range []string{"! alerts", "! park queue", "! notifications", "1 under way"} {
		if !strings.Contains(status, want) {
			t.Errorf("status says nothing of %q:\n%s", want, status)
		}
	}
	if got := person.Must("replays", "list"); !strings.Contains(got, "DONE") || !strings.Contains(got, "RUNNING") {
		t.Errorf("the replays are\n%s", got)
	}
	if got := person.Must("notifications", "list", "--all", "--json"); strings.Contains(got, "JOB_LATE") {
		t.Error("a job was late while the month was played")
	}
	if got := person.Must("audit"); strings.Count(got, "errors.resolve") < 10 {
		t.Errorf("the audit is\n%s", got)
	}
}
