package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"recoup"
	"recoup/client"
)

func noticesCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "notices",
		Short: "Show what people were told, and send again what could not be delivered",
		Long: `What happens to errors and alerts is told to teams through the channels that the policy
names. A notice waits, is delivered, or is given up when its channel has refused it or has
failed for a day. One that goes to several channels is passed on: it counts as delivered,
and has a copy for each of them.`,
		Example: `  recoup notices list --state given_up
  recoup notices resend --given-up --to platform-team`,
		Args: noArgs,
		RunE: group,
	}
	cmd.AddCommand(noticesList(streams), noticesResend(streams))
	return cmd
}

// noticeFlags are the flags that select notices.
func noticeFlags(cmd *cobra.Command, f *client.NoticeFilter) {
	cmd.Flags().StringVar(&f.To, "to", "", "only to this `TEAM`")
	cmd.Flags().StringVar((*string)(&f.Kind), "kind", "", "only of this `KIND`: "+join(recoup.NoticeKinds()))
}

// noticeStates are how a notice can stand.
func noticeStates() []string {
	return []string{client.NoticeWaiting, client.NoticeDelivered, client.NoticeGivenUp}
}

func noticesList(streams Streams) *cobra.Command {
	var filter client.NoticeFilter
	var p client.Page
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List notices, newest first",
		Example: `  recoup notices list
  recoup notices list --state waiting --to platform-team --json`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&filter.State, "state", "", "only those that are `STATE`: "+join(noticeStates()))
	noticeFlags(cmd, &filter)
	cmd.Flags().IntVar(&p.Limit, "limit", 50, "at most `N` notices")
	cmd.Flags().StringVar(&p.Cursor, "cursor", "", "go on `AFTER` the last page")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if p.Limit < 1 || p.Limit > maxRows {
			return usagef("--limit is %d: expected a number from 1 to %d", p.Limit, maxRows)
		}
		var err error
		if filter.State, err = oneOf("state", filter.State, noticeStates()); err != nil {
			return err
		}
		if filter.Kind, err = oneOf("kind", string(filter.Kind), recoup.NoticeKinds()); err != nil {
			return err
		}
		list, err := s.Notices(ctx, filter, p)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, list)
		case len(list.Notices) == 0:
			fmt.Fprintln(s.Err, "There is no such notice.")
			return nil
		}
		t := newTable(s.Streams, "ID", "KIND", "TO", "STATE", "MADE", "TRIES", "CHANNEL", "LAST ERROR")
		for i := range list.Notices {
			n := &list.Notices[i]
			t.add(n.ID.String(), string(n.Kind), n.To, noticeState(s.Streams, n), s.relative(n.CreatedAt), fmt.Sprint(n.Attempts), n.Channel, n.LastError)
		}
		fmt.Fprint(s.Out, t)
		if list.Next != "" {
			fmt.Fprintf(s.Err, "There are more: --cursor %s\n", list.Next)
		}
		return nil
	})
}

// noticeState says how it stands, and of one that waits until when.
func noticeState(s Streams, n *client.Notice) string {
	if n.State == client.NoticeWaiting {
		return n.State + ", due " + s.relative(n.DueAt)
	}
	return n.State
}

func noticesResend(streams Streams) *cobra.Command {
	var filter client.NoticeFilter
	var ask client.NoticeResend
	var givenUp bool
	cmd := &cobra.Command{
		Use:   "resend [ID...]",
		Short: "Put notices that were given up in again",
		Long: `Puts notices that were given up in again, as new ones. Each is put in once, however often
that is asked for; if the new one is given up too, that has an ID to be named by.`,
		Example: `  recoup notices resend 019c1d95-74e0-7008-ae62-7d4d1bae47e6
  recoup notices resend --given-up --to platform-team --reason "the pager works again"`,
		Args: cobra.ArbitraryArgs,
	}
	cmd.Flags().BoolVar(&givenUp, "given-up", false, "all that were given up, or those that --to and --kind select")
	noticeFlags(cmd, &filter)
	cmd.Flags().StringVar(&ask.Reason, "reason", "", "why, as `TEXT` for the audit")
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		if givenUp == (len(args) > 0) {
			return usagef("expected IDs of notices, or --given-up for all")
		}
		if !givenUp && (filter.To != "" || filter.Kind != "") {
			return usagef("--to and --kind select among --given-up, and IDs are given")
		}
		var err error
		if filter.Kind, err = oneOf("kind", string(filter.Kind), recoup.NoticeKinds()); err != nil {
			return err
		}
		filter.State = client.NoticeGivenUp
		resent, err := s.resend(ctx, ask, filter, args)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, resent)
		}
		fmt.Fprintf(s.Out, "%s put in again\n", count(resent.Resent, "notice"))
		return nil
	})
}

// resend puts in what is named, or all that a filter selects, a page at a time.
func (s *session) resend(ctx context.Context, ask client.NoticeResend, filter client.NoticeFilter, args []string) (_ client.NoticeResent, err error) {
	if ask.IDs, err = parseIDs(args); err != nil {
		return client.NoticeResent{}, err
	}
	if len(args) > 0 {
		return s.ResendNotices(ctx, ask)
	}
	var total client.NoticeResent
	page := client.Page{Limit: maxRows}
	for {
		list, err := s.Notices(ctx, filter, page)
		if err != nil || len(list.Notices) == 0 {
			return total, err
		}
		ask.IDs = nil
		for i := range list.Notices {
			ask.IDs = append(ask.IDs, list.Notices[i].ID)
		}
		resent, err := s.ResendNotices(ctx, ask)
		if total.Resent += resent.Resent; err != nil || list.Next == "" {
			return total, err
		}
		page.Cursor = list.Next
	}
}
