package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup/client"
)

func alertsSilence(streams Streams) *cobra.Command {
	var ask client.NewSilence
	var last, until string
	cmd := &cobra.Command{
		Use:   "silence [RULE]",
		Short: "Have nobody told of a rule, a scope or both, for a time",
		Long: `Keeps alerts from being told: those of a rule, of a scope (a hub, a service or a provider),
of a rule for a scope, or with --all every one. They fire all the same, and switch providers;
who has not been told is told when the silence is over and they still fire.`,
		Example: `  recoup alerts silence park-rate --scope dol-filings --for 2h --reason "being repaired"
  recoup alerts silence --scope zerobounce --until 2026-02-06 --reason "maintenance"`,
		Args: atMostArg,
	}
	cmd.Flags().StringVar(&ask.Scope, "scope", "", "only for this hub, service or provider, the `SCOPE`")
	cmd.Flags().BoolVar(&ask.All, "all", false, "every alert there is")
	cmd.Flags().StringVar(&last, "for", "", "it lasts so `LONG`: 90m, 48h, 7d; 30 days at most")
	cmd.Flags().StringVar(&until, "until", "", "it lasts until this `TIME`")
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for others to read; required")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if len(args) > 0 {
			ask.Rule = args[0]
		}
		var err error
		switch ask.Until, err = silenceEnd(last, until, s.now()); {
		case err != nil:
			return err
		case ask.Reason == "":
			return usagef("--reason is missing: expected why nobody is to hear of it")
		case (ask.Rule == "" && ask.Scope == "") != ask.All:
			return usagef("expected a RULE, a --scope or both, or else --all")
		}
		made, err := s.AddSilence(ctx, ask)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, made)
		}
		fmt.Fprintf(s.Out, "%s silences %s until %s.\n", made.ID, silenced(&made), s.when(made.Until))
		return nil
	})
}

// atMostArg takes one argument, or none.
func atMostArg(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		return stray(cmd, args[1])
	}
	return nil
}

// silenced says what a silence covers.
func silenced(s *client.Silence) string {
	switch {
	case s.Rule == "" && s.Scope == "":
		return "everything"
	case s.Rule == "":
		return printable(s.Scope)
	case s.Scope == "":
		return printable(s.Rule)
	}
	return printable(s.Rule + " for " + s.Scope)
}

func alertsSilences(streams Streams) *cobra.Command {
	var past bool
	var pages paging
	cmd := &cobra.Command{
		Use:   "silences",
		Short: "List the silences that hold, newest first",
		Example: `  recoup alerts silences
  recoup alerts silences --past --limit 200`,
		Args: noArgs,
	}
	cmd.Flags().BoolVar(&past, "past", false, "those that are over too")
	cmd.Flags().IntVar(&pages.limit, "limit", defaultRows, "at most `N` rows, up to 1000")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if pages.limit < 1 || pages.limit > maxRows {
			return usagef("--limit is %d: expected a number from 1 to %d", pages.limit, maxRows)
		}
		list, err := s.Silences(ctx, past, client.Page{Limit: pages.limit})
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.Silences) == 0:
			fmt.Fprintln(s.Err, "Nothing is silenced.")
			return nil
		}
		t := newTable(s.Streams, "ID", "SILENCED", "UNTIL", "BY", "REASON")
		for i := range list.Silences {
			n := &list.Silences[i]
			until := s.relative(n.Until)
			if !n.EndedAt.IsZero() {
				until = "ended " + s.relative(n.EndedAt) + " by " + n.EndedBy
			}
			t.add(n.ID.String(), silenced(n), until, n.By, n.Reason)
		}
		fmt.Fprint(s.Out, t)
		return nil
	})
}

func alertsUnsilence(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:     "unsilence ID",
		Short:   "End a silence before its time",
		Example: `  recoup alerts unsilence 0198c0de-0000-7000-8000-000000000001`,
		Args:    exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		ended, err := s.EndSilence(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, ended)
		}
		fmt.Fprintf(s.Out, "%s is over: %s is told again.\n", ended.ID, silenced(&ended))
		return nil
	})
}
