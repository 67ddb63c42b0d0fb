package alerts

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func silence(streams command.Streams) *cobra.Command {
	var ask wire.NewSilence
	var last, until string
	cmd := &cobra.Command{
		Use:   "silence [RULE]",
		Short: "Silence alerts by rule, by scope or both",
		Long: `Silences the notifications of alerts: those of a rule, of a scope (a hub, a service or a
provider), of a rule for a scope, or with --all every one. The alerts still fire, and still switch
providers. Those that fire when the silence ends notify then.`,
		Example: `  recoup alerts silence park-rate --for 2h --reason "being repaired"
  recoup alerts silence --scope zerobounce --until 2026-02-06 --reason repair`,
		Args: command.AtMost(1),
	}
	cmd.Flags().StringVar(&ask.Scope, "scope", "", "only for this `SCOPE`: a hub, service or provider")
	cmd.Flags().BoolVar(&ask.All, "all", false, "every alert")
	cmd.Flags().StringVar(&last, "for", "", "`DURATION` of the silence: 90m, 48h, 7d; 30 days at most")
	cmd.Flags().StringVar(&until, "until", "", "`TIME` at which the silence ends")
	return command.Act[wire.Silence]{
		Reason: &ask.Reason, Need: true,
		Check: func(s *command.Session, args []string) (err error) {
			if len(args) > 0 {
				ask.Rule = args[0]
			}
			if (ask.Rule == "" && ask.Scope == "") != ask.All {
				return command.Usagef("expected a RULE, a --scope or both, or else --all")
			}
			ask.Until, err = command.ParseEnd(last, until, s.Clock())
			return err
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.Silence, error) {
			return admin.New(s.Client).Alerts.Silence(ctx, ask)
		},
		Say: func(s *command.Session, made wire.Silence) {
			s.Sayf("%s silences %s until %s.", made.ID, silenced(&made), s.When(made.Until))
		},
	}.Command(streams, cmd)
}

// silenced says what a silence covers.
func silenced(s *wire.Silence) string {
	switch {
	case s.Rule == "" && s.Scope == "":
		return "every alert"
	case s.Rule == "":
		return command.Printable(s.Scope)
	case s.Scope == "":
		return command.Printable(s.Rule)
	}
	return command.Printable(s.Rule + " for " + s.Scope)
}

func silences(streams command.Streams) *cobra.Command {
	var past bool
	cmd := &cobra.Command{
		Use:   "silences",
		Short: "List active silences, newest first",
		Example: `  recoup alerts silences
  recoup alerts silences --past --limit 200`,
	}
	cmd.Flags().BoolVar(&past, "past", false, "include those that have ended")
	return command.List[wire.Silence]{
		Noun: "silence", Key: "silences", Empty: "No alert is silenced.",
		Columns: []command.Column{
			{Name: "ID"}, {Name: "SILENCED", Wrap: true}, {Name: "UNTIL", Wrap: true}, {Name: "BY", Drop: 1}, {Name: "REASON", Wrap: true},
		},
		Fetch: func(ctx context.Context, s *command.Session, p client.Page) ([]wire.Silence, string, error) {
			page, err := admin.New(s.Client).Alerts.Silences(ctx, past, p)
			return page.Silences, page.Next, err
		},
		Row: func(s *command.Session, n *wire.Silence) command.Cells {
			var until any = command.At(n.Until)
			if !n.EndedAt.IsZero() {
				until = "ended " + s.Relative(n.EndedAt) + " by " + n.EndedBy
			}
			return command.Cells{n.ID, silenced(n), until, n.By, n.Reason}
		},
	}.Command(streams, cmd)
}

func unsilence(streams command.Streams) *cobra.Command {
	var id recoup.ID
	return command.Act[wire.Silence]{
		Check: func(s *command.Session, args []string) (err error) {
			id, err = s.ID(recoup.SilenceIDs, args)
			return err
		},
		Call: func(ctx context.Context, s *command.Session, _ []string) (wire.Silence, error) {
			return admin.New(s.Client).Alerts.EndSilence(ctx, id)
		},
		Say: func(s *command.Session, ended wire.Silence) {
			s.Sayf("%s ended: %s notifies again.", ended.ID, silenced(&ended))
		},
	}.Command(streams, &cobra.Command{
		Use:     "unsilence ID",
		Short:   "End a silence early",
		Example: `  recoup alerts unsilence ` + command.AnID,
		Args:    command.ExactArgs("ID"),
	})
}
