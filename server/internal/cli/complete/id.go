package complete

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// ids are the newest of what a command is about.
func ids(cmd *cobra.Command) Source {
	page := client.Page{Limit: Recent}
	switch {
	case under(cmd, "errors"):
		return Each(func(ctx context.Context, s *command.Session) ([]recoup.Error, error) {
			found, err := s.Errors.List(ctx, recoup.ErrorFilter{}, page)
			return found.Errors, err
		}, func(e *recoup.Error) string {
			return Described(e.ID.String(), string(e.State)+" "+string(e.Code)+" in "+e.Table+" "+e.EntityID)
		})
	case under(cmd, "groups"):
		return errorGroups
	case under(cmd, "dead-letters"):
		return Each(func(ctx context.Context, s *command.Session) ([]recoup.DeadLetter, error) {
			found, err := s.DeadLetters.List(ctx, recoup.DeadLetterFilter{}, page)
			return found.DeadLetters, err
		}, func(d *recoup.DeadLetter) string {
			return Described(d.ErrorID.String(), string(d.Step)+" "+string(d.Class)+" in "+d.Pipeline+"/"+d.Stage)
		})
	case under(cmd, "replays"):
		return Each(func(ctx context.Context, s *command.Session) ([]recoup.Replay, error) {
			found, err := s.Replays.List(ctx, "", page)
			return found.Replays, err
		}, func(r *recoup.Replay) string { return Described(r.ID.String(), string(r.State)+" "+r.Reason) })
	case under(cmd, "operations"):
		return Each(func(ctx context.Context, s *command.Session) ([]recoup.Operation, error) {
			found, err := s.Operations.List(ctx, "", page)
			return found.Operations, err
		}, func(o *recoup.Operation) string {
			return Described(o.ID.String(), string(o.State)+" "+o.Act+" "+o.Input.Reason)
		})
	case under(cmd, "alerts unsilence"):
		return Each(func(ctx context.Context, s *command.Session) ([]wire.Silence, error) {
			found, err := admin.New(s.Client).Alerts.Silences(ctx, false, page)
			return found.Silences, err
		}, func(q *wire.Silence) string { return Described(q.ID.String(), q.Rule+" "+q.Scope+" "+q.Reason) })
	case under(cmd, "alerts"):
		return Each(func(ctx context.Context, s *command.Session) ([]wire.Alert, error) {
			found, err := admin.New(s.Client).Alerts.List(ctx, wire.AlertFilter{}, page)
			return found.Alerts, err
		}, func(a *wire.Alert) string {
			return Described(a.ID.String(), string(a.State)+" "+a.Rule+" "+a.Scope)
		})
	}
	return idsOfPlatform(cmd, page)
}

// idsOfPlatform are those of what is no failure itself.
func idsOfPlatform(cmd *cobra.Command, page client.Page) Source {
	switch {
	case under(cmd, "notifications"):
		return Each(func(ctx context.Context, s *command.Session) ([]wire.Notice, error) {
			found, err := admin.New(s.Client).Notifications.List(ctx, wire.NoticeFilter{State: wire.NoticeGivenUp}, page)
			return found.Notices, err
		}, func(n *wire.Notice) string { return Described(n.ID.String(), string(n.Kind)+" for "+n.To) })
	case under(cmd, "keys rotate"), under(cmd, "keys revoke"):
		return Each(func(ctx context.Context, s *command.Session) ([]wire.Key, error) {
			found, err := admin.New(s.Client).Keys.List(ctx, page)
			return found.Keys, err
		}, func(k *wire.Key) string { return Described(k.ID.String(), k.Role+" "+k.Name) })
	}
	return nil
}

// jobs are the names of the scheduled jobs.
func jobs(ctx context.Context, s *command.Session) (all []string, err error) {
	found, err := admin.New(s.Client).Jobs.List(ctx)
	for _, j := range found.Jobs {
		all = append(all, Described(j.Name, j.About))
	}
	return all, err
}

// pipelines are those that have had a dead letter.
func pipelines(ctx context.Context, s *command.Session) (all []string, err error) {
	found, err := s.DeadLetterGroups.List(ctx, client.DeadLetterGroupFilter{}, client.Page{Limit: command.MaxRows})
	for i := range found.Groups {
		if name := command.Printable(found.Groups[i].Pipeline); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, err
}
