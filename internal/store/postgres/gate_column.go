package postgres

import (
	"encoding/json"
	"fmt"
	"time"

	"recoup"
	"recoup/internal/store"
)

// The columns of Gate Zero's tables and where each belongs.
var (
	batchColumns = func() []column[store.Batch] {
		type b = store.Batch
		return []column[b]{
			text("batch_id", func(b *b) *string { return &b.ID }),
			stamp("created_at", func(b *b) *time.Time { return &b.CreatedAt }),
			stamp("completed_at", func(b *b) *time.Time { return &b.CompletedAt }),
			stamp("batch_freeze_at", func(b *b) *time.Time { return &b.FreezeAt }),
			stamp("frozen_at", func(b *b) *time.Time { return &b.FrozenAt }),
			stamp("killed_at", func(b *b) *time.Time { return &b.KilledAt }),
			text("killed_by", func(b *b) *string { return &b.KilledBy }),
			text("kill_reason", func(b *b) *string { return &b.KillReason }),
		}
	}()

	intakeColumns = func() []column[store.Intake] {
		type i = store.Intake
		return []column[i]{
			id("intake_id", func(i *i) *recoup.ID { return &i.ID }),
			text("status", func(i *i) *store.IntakeStatus { return &i.Status }),
			stamp("updated_at", func(i *i) *time.Time { return &i.UpdatedAt }),
			text("batch_id", func(i *i) *string { return &i.BatchID }),
			text("import_key", func(i *i) *string { return &i.ImportKey }),
			text("company_name", func(i *i) *string { return &i.CompanyName }),
			text("domain", func(i *i) *string { return &i.Domain }),
			text("linkedin_url", func(i *i) *string { return &i.LinkedInURL }),
			text("state", func(i *i) *string { return &i.State }),
			id("previous_intake_id", func(i *i) *recoup.ID { return &i.PreviousID }),
			stamp("created_at", func(i *i) *time.Time { return &i.CreatedAt }),
		}
	}()

	recoveryColumns = func() []column[store.Recovery] {
		type r = store.Recovery
		return []column[r]{
			id("recovery_id", func(r *r) *recoup.ID { return &r.ID }),
			id("intake_id", func(r *r) *recoup.ID { return &r.IntakeID }),
			text("batch_id", func(r *r) *string { return &r.BatchID }),
			text("failure_reason", func(r *r) *string { return &r.FailureReason }),
			number("attempt_count", func(r *r) *int { return &r.AttemptCount }),
			stamp("next_eligible_at", func(r *r) *time.Time { return &r.NextEligibleAt }),
			text("status", func(r *r) *store.RecoveryStatus { return &r.Status }),
			stamp("created_at", func(r *r) *time.Time { return &r.CreatedAt }),
			stamp("updated_at", func(r *r) *time.Time { return &r.UpdatedAt }),
		}
	}()

	leaseColumns = func() []column[store.LeaseOf] {
		type l = store.LeaseOf
		return []column[l]{
			id("recovery_id", func(l *l) *recoup.ID { return &l.RecoveryID }),
			id("token", func(l *l) *recoup.ID { return &l.LeaseToken }),
			text("worker", func(l *l) *string { return &l.LeaseWorker }),
			stamp("leased_at", func(l *l) *time.Time { return &l.LeasedAt }),
			stamp("ends_at", func(l *l) *time.Time { return &l.LeaseEndsAt }),
			number("lapses", func(l *l) *int { return &l.Lapses }),
		}
	}()

	airColumns = func() []column[store.AIR] {
		type a = store.AIR
		return []column[a]{
			id("intake_id", func(a *a) *recoup.ID { return &a.IntakeID }),
			id("recovery_id", func(a *a) *recoup.ID { return &a.RecoveryID }),
			text("batch_id", func(a *a) *string { return &a.BatchID }),
			text("event", func(a *a) *store.AIREvent { return &a.Event }),
			text("reason", func(a *a) *string { return &a.Reason }),
			number("attempt_count", func(a *a) *int { return &a.Attempt }),
			text("actor", func(a *a) *string { return &a.Actor }),
			id("new_intake_id", func(a *a) *recoup.ID { return &a.NewIntakeID }),
			stamp("at", func(a *a) *time.Time { return &a.At }),
		}
	}()

	// caseColumns reads all of a case from a join of the four tables.
	caseColumns = func() []column[store.Case] {
		type c = store.Case
		list := within("b.", batchColumns, func(c *c) *store.Batch { return &c.Batch })
		list = append(list, within("i.", intakeColumns, func(c *c) *store.Intake { return &c.Intake })...)
		list = append(list, within("r.", recoveryColumns, func(c *c) *store.Recovery { return &c.Recovery })...)
		return append(list,
			id("l.token", func(c *c) *recoup.ID { return &c.Lease.LeaseToken }),
			text("l.worker", func(c *c) *string { return &c.Lease.LeaseWorker }),
			stamp("l.leased_at", func(c *c) *time.Time { return &c.Lease.LeasedAt }),
			stamp("l.ends_at", func(c *c) *time.Time { return &c.Lease.LeaseEndsAt }),
			number("l.lapses", func(c *c) *int { return &c.Lease.Lapses }),
		)
	}()

	// statusColumns reads a batch with its counts.
	statusColumns = append(within("b.", batchColumns, func(s *store.BatchStatus) *store.Batch { return &s.Batch }),
		column[store.BatchStatus]{name: "counts", read: readCounts})
)

// within makes columns of a part, as they are read, into columns of the whole.
func within[W, P any](prefix string, columns []column[P], part func(*W) *P) []column[W] {
	list := make([]column[W], len(columns))
	for i, c := range columns {
		list[i] = column[W]{name: prefix + c.name, read: func(w *W, value []byte) error { return c.read(part(w), value) }}
	}
	return list
}

// readCounts tells the statuses of intakes and recoveries apart, which share no
// word.
func readCounts(s *store.BatchStatus, value []byte) error {
	var counts map[string]int64
	if err := json.Unmarshal(value, &counts); err != nil {
		return fmt.Errorf("column counts: %w", err)
	}
	for status, n := range counts {
		switch r := store.RecoveryStatus(status); r {
		case store.RecoveryActive, store.RecoveryExhausted, store.RecoverySucceeded:
			s.Recoveries[r] = n
		default:
			s.Intakes[store.IntakeStatus(status)] = n
		}
	}
	return nil
}
