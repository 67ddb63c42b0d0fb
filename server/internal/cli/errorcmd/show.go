package errorcmd

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

func show(streams command.Streams) *cobra.Command {
	return command.ShowID(streams, &cobra.Command{
		Use:   "show ID",
		Short: "Show one error, open or archived",
		Example: `  recoup errors show ` + command.AnID + `
  recoup errors show ` + command.AnID + ` --json`,
	}, recoup.ErrorIDs, func(ctx context.Context, s *command.Session, id recoup.ID) (recoup.Error, error) {
		return s.Errors.Get(ctx, id)
	},
		func(s *command.Session, p *command.Page, e *recoup.Error) { describe(s.Streams, p, e) })
}

// describe prints what is known of an error, in the order of its life.
func describe(s command.Streams, p *command.Page, e *recoup.Error) {
	owner, expires := e.Owner(), e.ExpiresAt
	if !e.State.Open() {
		owner, expires = "", time.Time{}
	}
	p.Heading(string(e.Code))
	if e.Message != "" {
		p.Text(command.Printable(e.Message))
		p.WriteByte('\n')
	}
	p.Facts(
		"id", e.ID.String(), "table", e.Table, "reported to", e.ReportedTable, "entity", e.EntityID,
		"blocks it", command.Yes(e.Blocking), "state", string(e.State), "owner", owner,
		"severity", string(e.Severity), "category", string(e.Category), "class", string(e.Class),
		"policy", e.PolicyVersion, "correlation", command.ID(e.CorrelationID),
		"created", s.When(e.CreatedAt), "expires", s.When(expires),
	)
	describeRetries(s, p, e)
	if !e.ParkedAt.IsZero() {
		p.Heading("PARKED")
		p.Facts(
			"since", s.When(e.ParkedAt), "by", e.ParkedBy, "reason", string(e.ParkReason), "assigned to", e.AssignedTo,
			"tier", command.Number(e.EscalationLevel), "escalated to", e.EscalatedTo, "escalated for", e.EscalationReason,
			"next tier", s.When(e.NextEscalationAt), "review due", s.When(e.ReviewDueAt), "last reviewed", s.When(e.LastReviewedAt),
		)
	}
	if e.State.Open() {
		return
	}
	p.Heading("ENDED")
	p.Facts(
		"resolved", s.When(e.ResolvedAt), "by", e.ResolvedBy, "reason", e.ResolutionReason,
		"archived", s.When(e.ArchivedAt), "archived by", e.ArchivedBy, "archived for", string(e.ArchiveReason),
		"superseded by", command.ID(e.SupersededBy), "purged", s.When(e.PurgeAt),
	)
}

func describeRetries(s command.Streams, p *command.Page, e *recoup.Error) {
	if e.MaxRetries == 0 && e.RetryCount == 0 {
		return
	}
	p.Heading("RETRIES")
	used := fmt.Sprintf("%d of %d", e.RetryCount, e.MaxRetries)
	if e.RetryExhausted {
		used += ", exhausted"
	}
	p.Facts(
		"used", used, "last", s.When(e.LastRetryAt), "last failure", string(e.LastFailureCode),
		"next", s.When(e.NextRetryAt), "window ends", s.When(e.WindowEndsAt),
		"worker", e.LeaseWorker, "lease ends", s.When(e.LeaseEndsAt),
	)
}
