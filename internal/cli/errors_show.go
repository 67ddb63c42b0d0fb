package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"recoup"
)

func errorsShow(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "show ID",
		Short: "Show one error, open or archived",
		Example: `  recoup errors show 0198c0de-0000-7000-8000-000000000001
  recoup errors show 0198c0de-0000-7000-8000-000000000001 --json`,
		Args: exactArgs("ID"),
	}
	return onServer(streams, cmd, func(ctx context.Context, s *session, args []string) error {
		id, err := oneID(args)
		if err != nil {
			return err
		}
		e, err := s.Error(ctx, id)
		switch {
		case err != nil:
			return err
		case s.json:
			return printJSON(s.Out, e)
		}
		var p page
		s.describe(&p, &e)
		fmt.Fprint(s.Out, p.String())
		return nil
	})
}

// fact is a name and a value; one without a value is left out.
type fact struct{ name, value string }

// known prints the facts that there are.
func (p *page) known(facts ...fact) {
	var rows [][]string
	for _, f := range facts {
		if f.value != "" {
			rows = append(rows, []string{f.name, printable(f.value)})
		}
	}
	if len(rows) > 0 {
		p.columns(rows...)
	}
}

// describe prints what is known of an error, in the order of its life.
func (s Streams) describe(p *page, e *recoup.Error) {
	owner, expires := e.Owner(), e.ExpiresAt
	if !e.State.Open() {
		owner, expires = "", time.Time{}
	}
	p.heading(string(e.Code))
	if e.Message != "" {
		p.text(printable(e.Message))
		p.WriteByte('\n')
	}
	p.known(
		fact{"id", e.ID.String()}, fact{"table", e.Table}, fact{"reported to", e.ReportedTable},
		fact{"entity", e.EntityID}, fact{"blocks it", yes(e.Blocking)}, fact{"state", string(e.State)},
		fact{"owner", owner}, fact{"severity", string(e.Severity)}, fact{"category", string(e.Category)},
		fact{"class", string(e.Class)}, fact{"policy", e.PolicyVersion}, fact{"correlation", id(e.CorrelationID)},
		fact{"created", s.when(e.CreatedAt)}, fact{"expires", s.when(expires)},
	)
	s.describeRetries(p, e)
	if !e.ParkedAt.IsZero() {
		p.heading("PARKED")
		p.known(
			fact{"since", s.when(e.ParkedAt)}, fact{"by", e.ParkedBy}, fact{"why", string(e.ParkReason)},
			fact{"assigned to", e.AssignedTo}, fact{"tier", number(e.EscalationLevel)}, fact{"escalated to", e.EscalatedTo},
			fact{"escalated for", e.EscalationReason}, fact{"next tier", s.when(e.NextEscalationAt)},
			fact{"review due", s.when(e.ReviewDueAt)}, fact{"last reviewed", s.when(e.LastReviewedAt)},
		)
	}
	if e.State.Open() {
		return
	}
	p.heading("ENDED")
	p.known(
		fact{"resolved", s.when(e.ResolvedAt)}, fact{"by", e.ResolvedBy}, fact{"how", e.ResolutionReason},
		fact{"archived", s.when(e.ArchivedAt)}, fact{"archived by", e.ArchivedBy}, fact{"archived for", string(e.ArchiveReason)},
		fact{"superseded by", id(e.SupersededBy)}, fact{"purged", s.when(e.PurgeAt)},
	)
}

func (s Streams) describeRetries(p *page, e *recoup.Error) {
	if e.MaxRetries == 0 && e.RetryCount == 0 {
		return
	}
	p.heading("RETRIES")
	used := fmt.Sprintf("%d of %d", e.RetryCount, e.MaxRetries)
	if e.RetryExhausted {
		used += ", exhausted"
	}
	p.known(
		fact{"used", used}, fact{"last", s.when(e.LastRetryAt)}, fact{"last failure", string(e.LastFailureCode)},
		fact{"next", s.when(e.NextRetryAt)}, fact{"window ends", s.when(e.WindowEndsAt)},
		fact{"worker", e.LeaseWorker}, fact{"lease ends", s.when(e.LeaseEndsAt)},
	)
}

// yes, id and number write nothing for nothing.
func yes(b bool) string {
	if !b {
		return ""
	}
	return "yes"
}

func id(i recoup.ID) string {
	if i.IsZero() {
		return ""
	}
	return i.String()
}

func number(n int) string {
	if n == 0 {
		return ""
	}
	return fmt.Sprint(n)
}
