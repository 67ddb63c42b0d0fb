package status

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/stream"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// whole is a page as large as the server gives.
var whole = client.Page{Limit: command.MaxRows}

func alerts(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "alerts", State: "none firing", Way: "recoup alerts list"}
	page, err := admin.New(s.Client).Alerts.List(ctx, wire.AlertFilter{State: wire.AlertFiring}, whole)
	loud := slices.DeleteFunc(page.Alerts, func(a wire.Alert) bool { return a.Silenced })
	if silenced := len(page.Alerts) - len(loud); len(loud) == 0 && silenced > 0 {
		l.State = fmt.Sprintf("%d firing, silenced", silenced)
	}
	if len(loud) > 0 {
		l.State, l.Needs = fmt.Sprintf("%d firing", len(loud)), true
		l.Detail = some(loud, func(a *wire.Alert) string {
			if a.Scope == "" {
				return fmt.Sprintf("%s for %s", a.Rule, s.Ago(a.FiredAt))
			}
			return fmt.Sprintf("%s of %s for %s", a.Rule, a.Scope, s.Ago(a.FiredAt))
		})
	}
	return l, err
}

func parked(ctx context.Context, s *command.Session, r *report) (line, error) {
	l := line{What: "park queue", State: "empty", Way: "recoup errors list --parked"}
	counts, err := s.Errors.Counts(ctx)
	if err != nil {
		return l, err
	}
	var n int64
	for _, c := range counts {
		if waiting(c.State) {
			n += c.N
		}
	}
	if n == 0 {
		return l, nil
	}
	l.State = fmt.Sprintf("%d parked", n)
	f, err := r.forecast(ctx, s)
	if err != nil {
		return l, err
	}
	late, since := overdue(f)
	if l.Needs, l.Detail = late > 0, "no review is overdue"; late > 0 {
		l.Detail = fmt.Sprintf("%d overdue for review, the first for %s", late, s.Ago(since))
	}
	if f.Partial {
		l.Detail = "at least " + l.Detail
	}
	return l, nil
}

func deadLetters(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "dead letters", State: "none open", Way: "recoup dead-letters groups"}
	page, err := s.DeadLetterGroups.List(ctx, client.DeadLetterGroupFilter{}, whole)
	open := slices.DeleteFunc(page.Groups, func(g recoup.DeadLetterGroup) bool { return g.Open == 0 })
	if len(open) == 0 {
		return l, err
	}
	var n int64
	for i := range open {
		n += open[i].Open
	}
	l.State = fmt.Sprintf("%d open in %s", n, command.Count(len(open), "group"))
	l.Detail = some(open, func(g *recoup.DeadLetterGroup) string { return fmt.Sprintf("%s in %s", g.Class, g.Pipeline) })
	nobodys := slices.ContainsFunc(open, func(g recoup.DeadLetterGroup) bool { return g.Owner == "" && g.Note == "" })
	l.Needs = nobodys
	return l, err
}

func replays(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "replays", State: "none under way", Way: "recoup replays list"}
	var under, paused []recoup.Replay
	for _, state := range []recoup.ReplayState{recoup.ReplayCollecting, recoup.ReplayRunning, recoup.ReplayPaused} {
		page, err := s.Replays.List(ctx, string(state), whole)
		if err != nil {
			return l, err
		}
		under = append(under, page.Replays...)
		if state == recoup.ReplayPaused {
			paused = page.Replays
		}
	}
	if len(under) > 0 {
		l.State = fmt.Sprintf("%d under way", len(under)-len(paused))
		l.Detail = some(under, func(r *recoup.Replay) string {
			return fmt.Sprintf("%s %s, %d of %d ended", r.Reason, r.State, r.Counts.Ended(), r.Members)
		})
	}
	if len(paused) > 0 {
		l.State += fmt.Sprintf(", %d paused", len(paused))
		l.Needs = true
	}
	return l, nil
}

// operations are bulk acts that are under way. What is paused waits for a person.
func operations(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "operations", State: "none under way", Way: "recoup operations list"}
	var under, paused []recoup.Operation
	for _, state := range []recoup.OperationState{recoup.OperationRunning, recoup.OperationPaused} {
		page, err := s.Operations.List(ctx, string(state), whole)
		if err != nil {
			return l, err
		}
		under, paused = append(under, page.Operations...), page.Operations
	}
	if len(under) > 0 {
		l.State = fmt.Sprintf("%d under way", len(under)-len(paused))
		l.Detail = some(under, func(o *recoup.Operation) string {
			return fmt.Sprintf("%s %s, %d of %d done", o.Act, o.State, o.Members-o.Pending(), o.Members)
		})
	}
	if len(paused) > 0 {
		l.State += fmt.Sprintf(", %d paused", len(paused))
		l.Needs = true
	}
	return l, nil
}

func jobs(ctx context.Context, s *command.Session, r *report) (line, error) {
	l := line{What: "jobs", State: "on time", Way: "recoup jobs list"}
	found, err := admin.New(s.Client).Jobs.List(ctx)
	if err == nil {
		r.Leader = cmp.Or(found.Leader, "none")
	}
	late := slices.DeleteFunc(found.Jobs, func(j wire.Job) bool { return !j.Late && j.Error == "" })
	switch {
	case err != nil:
	case found.Leader == "":
		l.State, l.Needs, l.Detail = "none runs", true, "no node is the leader"
	case len(late) > 0:
		l.State, l.Needs = fmt.Sprintf("%d late or failing", len(late)), true
		l.Detail = some(late, func(j *wire.Job) string {
			return fmt.Sprintf("%s %s behind", j.Name, stream.Age(time.Duration(j.Lag)*time.Second))
		})
	}
	return l, err
}

func notices(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "notifications", State: "delivered", Way: "recoup notifications list --state GIVEN_UP"}
	page, err := admin.New(s.Client).Notifications.List(ctx, wire.NoticeFilter{State: "GIVEN_UP"}, whole)
	recent := slices.DeleteFunc(page.Notices, func(n wire.Notice) bool { return s.Clock().Sub(n.GivenUpAt) > 24*time.Hour })
	if len(recent) > 0 {
		l.State, l.Needs = fmt.Sprintf("%d given up", len(recent)), true
		l.Detail = fmt.Sprintf("since yesterday; the last for %s: %s", recent[0].To, recent[0].LastError)
	}
	return l, err
}

func channels(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "channels", State: "up", Way: "recoup channels list"}
	found, err := admin.New(s.Client).Notifications.Channels(ctx)
	down := slices.DeleteFunc(found.Channels, func(c wire.Channel) bool { return !c.Down() })
	if len(down) > 0 {
		l.State, l.Needs = fmt.Sprintf("%d failing or missing", len(down)), true
		l.Detail = some(down, func(c *wire.Channel) string {
			if c.State == wire.ChannelMissing {
				return c.Name + " is not configured on " + found.Node
			}
			return fmt.Sprintf("%s for %s with %d undelivered: %s", c.Name, s.Ago(c.FailingSince), c.Undelivered, c.LastFailure)
		})
	}
	return l, err
}

func tables(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "tables", State: "all adopted", Way: "recoup doctor"}
	found, err := admin.New(s.Client).System.Tables(ctx)
	var taken []wire.TableName
	for i := range found {
		taken = append(taken, slices.DeleteFunc(found[i].Names, func(n wire.TableName) bool { return n.Adopted() })...)
	}
	if len(taken) > 0 {
		l.State, l.Needs = fmt.Sprintf("%s not adopted", command.Count(len(taken), "name")), true
		l.Detail = some(taken, func(n *wire.TableName) string {
			if n.Owner == "" {
				return n.Name + ": " + n.Obstacle()
			}
			return fmt.Sprintf("%s: %s (owner %s)", n.Name, n.Obstacle(), n.Owner)
		})
	}
	return l, err
}

// adoptions looks at adopted tables some of whose partitions have no triggers.
func adoptions(ctx context.Context, s *command.Session, _ *report) (line, error) {
	l := line{What: "adoptions", State: "governed", Way: "recoup doctor"}
	found, err := admin.New(s.Client).AdoptedTables.List(ctx)
	bare := slices.DeleteFunc(found.Adoptions, func(a wire.Adoption) bool { return len(a.Unseen) == 0 })
	if len(bare) > 0 {
		l.State, l.Needs = fmt.Sprintf("%d partly governed", len(bare)), true
		l.Detail = some(bare, func(a *wire.Adoption) string {
			return fmt.Sprintf("%d of %d partitions of %s have no triggers since %s: run recoup adopt %[3]s --apply", len(a.Unseen), a.Partitions, a.Source, stream.Stamp(a.UnseenSince))
		})
	}
	return l, err
}
