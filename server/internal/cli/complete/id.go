package complete

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// ids are the newest of what a command is about.
func ids(cmd *cobra.Command) source {
	page := client.Page{Limit: recent}
	switch {
	case under(cmd, "errors"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Error, error) {
			found, err := s.Errors(ctx, client.Filter{}, page)
			return found.Errors, err
		}, func(e *recoup.Error) string {
			return described(e.ID.String(), string(e.State)+" "+string(e.Code)+" in "+e.Table+" "+e.EntityID)
		})
	case under(cmd, "groups"):
		return errorGroups
	case under(cmd, "dead-letters"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.DeadLetter, error) {
			found, err := s.DeadLetters(ctx, recoup.DeadLetterFilter{}, page)
			return found.DeadLetters, err
		}, func(d *recoup.DeadLetter) string {
			return described(d.ErrorID.String(), string(d.Step)+" "+string(d.Class)+" in "+d.Pipeline+"/"+d.Stage)
		})
	case under(cmd, "replays"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Replay, error) {
			found, err := s.Replays(ctx, "", page)
			return found.Replays, err
		}, func(r *recoup.Replay) string { return described(r.ID.String(), string(r.State)+" "+r.Reason) })
	case under(cmd, "operations"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Operation, error) {
			found, err := s.Operations(ctx, "", page)
			return found.Operations, err
		}, func(o *recoup.Operation) string {
			return described(o.ID.String(), string(o.State)+" "+o.Act+" "+o.Input.Reason)
		})
	case under(cmd, "alerts unsilence"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Silence, error) {
			found, err := s.Silences(ctx, false, page)
			return found.Silences, err
		}, func(q *recoup.Silence) string { return described(q.ID.String(), q.Rule+" "+q.Scope+" "+q.Reason) })
	case under(cmd, "alerts"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Alert, error) {
			found, err := s.Alerts(ctx, client.AlertFilter{}, page)
			return found.Alerts, err
		}, func(a *recoup.Alert) string {
			return described(a.ID.String(), string(a.State)+" "+a.Rule+" "+a.Scope)
		})
	}
	return idsOfPlatform(cmd, page)
}

// idsOfPlatform are those of what is no failure itself.
func idsOfPlatform(cmd *cobra.Command, page client.Page) source {
	switch {
	case under(cmd, "notifications"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Notice, error) {
			found, err := s.Notices(ctx, recoup.NoticeFilter{State: recoup.NoticeGivenUp}, page)
			return found.Notices, err
		}, func(n *recoup.Notice) string { return described(n.ID.String(), string(n.Kind)+" for "+n.To) })
	case under(cmd, "keys rotate"), under(cmd, "keys revoke"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Key, error) {
			found, err := s.Keys(ctx, page)
			return found.Keys, err
		}, func(k *recoup.Key) string { return described(k.ID.String(), k.Role+" "+k.Name) })
	case under(cmd, "gate-zero show"):
		return each(func(ctx context.Context, s *command.Session) ([]recoup.Intake, error) {
			found, err := s.Intakes(ctx, recoup.IntakeFilter{}, page)
			return found.Intakes, err
		}, func(i *recoup.Intake) string { return described(i.ID.String(), i.CompanyName+" "+i.Domain) })
	}
	return nil
}

// jobs are the names of the scheduled jobs.
func jobs(ctx context.Context, s *command.Session) (all []string, err error) {
	found, err := s.Jobs(ctx)
	for _, j := range found.Jobs {
		all = append(all, described(j.Name, j.About))
	}
	return all, err
}

// pipelines are those that have had a dead letter.
func pipelines(ctx context.Context, s *command.Session) (all []string, err error) {
	found, err := s.DeadLetterGroups(ctx, client.DeadLetterGroupFilter{}, client.Page{Limit: command.MaxRows})
	for i := range found.Groups {
		if name := command.Printable(found.Groups[i].Pipeline); !slices.Contains(all, name) {
			all = append(all, name)
		}
	}
	return all, err
}
