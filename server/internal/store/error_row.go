package store

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/row"
)

// What errors and their history consist of.
var (
	// Errors are what errors have in their table and in the archive.
	Errors = row.Table[recoup.Error]{Name: "recoup.error", Columns: []row.Column[recoup.Error]{
		row.ID("error_id", func(e *recoup.Error) *recoup.ID { return &e.ID }).Key(),
		row.Text("table_name", func(e *recoup.Error) *string { return &e.Table }),
		row.Text("reported_table", func(e *recoup.Error) *string { return &e.ReportedTable }),
		row.Text("entity_id", func(e *recoup.Error) *string { return &e.EntityID }),
		row.Text("code", func(e *recoup.Error) *string { return (*string)(&e.Code) }),
		row.Text("severity", func(e *recoup.Error) *string { return (*string)(&e.Severity) }),
		row.Text("category", func(e *recoup.Error) *string { return (*string)(&e.Category) }),
		row.Text("class", func(e *recoup.Error) *string { return (*string)(&e.Class) }),
		row.Text("message", func(e *recoup.Error) *string { return &e.Message }),
		row.ID("correlation_id", func(e *recoup.Error) *recoup.ID { return &e.CorrelationID }),
		row.ID("group_id", func(e *recoup.Error) *recoup.ID { return &e.GroupID }),
		row.Text("policy_version", func(e *recoup.Error) *string { return &e.PolicyVersion }),
		row.Text("state", func(e *recoup.Error) *string { return (*string)(&e.State) }),
		row.Text("disposition", func(e *recoup.Error) *string { return (*string)(&e.Disposition) }),
		row.Bool("blocking", func(e *recoup.Error) *bool { return &e.Blocking }),
		row.Bool("replaceable", func(e *recoup.Error) *bool { return &e.Replaceable }),
		row.Time("created_at", func(e *recoup.Error) *time.Time { return &e.CreatedAt }),
		row.Time("updated_at", func(e *recoup.Error) *time.Time { return &e.UpdatedAt }),
		row.Time("expires_at", func(e *recoup.Error) *time.Time { return &e.ExpiresAt }),
		row.Int("retry_count", func(e *recoup.Error) *int { return &e.RetryCount }),
		row.Int("max_retries", func(e *recoup.Error) *int { return &e.MaxRetries }),
		row.Time("last_retry_at", func(e *recoup.Error) *time.Time { return &e.LastRetryAt }),
		row.Time("next_retry_at", func(e *recoup.Error) *time.Time { return &e.NextRetryAt }),
		row.Bool("retry_exhausted", func(e *recoup.Error) *bool { return &e.RetryExhausted }),
		row.Time("retry_window_ends_at", func(e *recoup.Error) *time.Time { return &e.WindowEndsAt }),
		row.Text("last_failure_code", func(e *recoup.Error) *string { return (*string)(&e.LastFailureCode) }),
		row.Text("streak_family", func(e *recoup.Error) *string { return &e.StreakFamily }),
		row.Int("streak_count", func(e *recoup.Error) *int { return &e.StreakCount }),
		row.ID("last_attempt", func(e *recoup.Error) *recoup.ID { return &e.LastAttempt }),
		row.Text("last_result", func(e *recoup.Error) *string { return &e.LastResult }),
		row.Time("parked_at", func(e *recoup.Error) *time.Time { return &e.ParkedAt }),
		row.Text("parked_by", func(e *recoup.Error) *string { return &e.ParkedBy }),
		row.Text("park_reason", func(e *recoup.Error) *string { return (*string)(&e.ParkReason) }),
		row.Text("assigned_to", func(e *recoup.Error) *string { return &e.AssignedTo }),
		row.Time("last_reviewed_at", func(e *recoup.Error) *time.Time { return &e.LastReviewedAt }),
		row.Int("escalation_level", func(e *recoup.Error) *int { return &e.EscalationLevel }),
		row.Time("escalated_at", func(e *recoup.Error) *time.Time { return &e.EscalatedAt }),
		row.Text("escalated_to", func(e *recoup.Error) *string { return &e.EscalatedTo }),
		row.Text("escalation_reason", func(e *recoup.Error) *string { return &e.EscalationReason }),
		row.Time("next_escalation_at", func(e *recoup.Error) *time.Time { return &e.NextEscalationAt }),
		row.Time("review_due_at", func(e *recoup.Error) *time.Time { return &e.ReviewDueAt }),
		row.Time("next_reminder_at", func(e *recoup.Error) *time.Time { return &e.NextReminderAt }),
		row.Time("reminded_at", func(e *recoup.Error) *time.Time { return &e.RemindedAt }),
		row.Time("resolved_at", func(e *recoup.Error) *time.Time { return &e.ResolvedAt }),
		row.Text("resolved_by", func(e *recoup.Error) *string { return &e.ResolvedBy }),
		row.Text("resolution_reason", func(e *recoup.Error) *string { return &e.ResolutionReason }),
	}}

	// Leases are what a worker holds of an error that waits for its retry.
	Leases = []row.Column[recoup.Error]{
		row.ID("lease_token", func(e *recoup.Error) *recoup.ID { return &e.LeaseToken }),
		row.Text("lease_worker", func(e *recoup.Error) *string { return &e.LeaseWorker }),
		row.Time("leased_at", func(e *recoup.Error) *time.Time { return &e.LeasedAt }),
		row.Time("lease_ends_at", func(e *recoup.Error) *time.Time { return &e.LeaseEndsAt }),
	}

	// Marks are what metrics count an open error by. The archive has none: what is
	// archived has been counted.
	Marks = []row.Column[recoup.Error]{
		row.Time("retried_at", func(e *recoup.Error) *time.Time { return &e.RetriedAt }),
		row.Time("exhausted_at", func(e *recoup.Error) *time.Time { return &e.ExhaustedAt }),
		row.Time("last_parked_at", func(e *recoup.Error) *time.Time { return &e.LastParkedAt }),
		row.Time("unparked_at", func(e *recoup.Error) *time.Time { return &e.UnparkedAt }),
		row.Time("deescalated_at", func(e *recoup.Error) *time.Time { return &e.DeescalatedAt }),
		row.Bool("historic", func(e *recoup.Error) *bool { return &e.Historic }),
	}

	// OpenErrors are the errors that are not archived, with their marks.
	OpenErrors = row.Table[recoup.Error]{Name: Errors.Name, Columns: slices.Concat(Errors.Columns, Marks)}

	// Archiving is what archiving adds (spec 000, 7.3).
	Archiving = []row.Column[recoup.Error]{
		row.Time("archived_at", func(e *recoup.Error) *time.Time { return &e.ArchivedAt }),
		row.Text("archived_by", func(e *recoup.Error) *string { return &e.ArchivedBy }),
		row.Text("archive_reason", func(e *recoup.Error) *string { return (*string)(&e.ArchiveReason) }),
		row.Text("final_disposition", func(e *recoup.Error) *string { return (*string)(&e.FinalDisposition) }),
		row.ID("superseded_by", func(e *recoup.Error) *recoup.ID { return &e.SupersededBy }),
		row.Time("purge_at", func(e *recoup.Error) *time.Time { return &e.PurgeAt }),
	}

	// History is what happened to errors, but for the number of its rows.
	History = row.Table[recoup.Transition]{Name: "recoup.error_history", Columns: slices.Concat([]row.Column[recoup.Transition]{
		row.ID("error_id", func(t *recoup.Transition) *recoup.ID { return &t.ErrorID }),
		row.Time("at", func(t *recoup.Transition) *time.Time { return &t.At }),
		row.Text("input", func(t *recoup.Transition) *string { return &t.Input }),
		row.Text("actor", func(t *recoup.Transition) *string { return &t.Actor }),
		row.Text("reason", func(t *recoup.Transition) *string { return &t.Reason }),
		row.Text("policy_version", func(t *recoup.Transition) *string { return &t.PolicyVersion }),
		row.Text("worker", func(t *recoup.Transition) *string { return &t.Worker }),
		row.Time("claimed_at", func(t *recoup.Transition) *time.Time { return &t.ClaimedAt }),
		row.ID("attempt", func(t *recoup.Transition) *recoup.ID { return &t.Attempt }),
	},
		row.Within("was_", snapshots, func(t *recoup.Transition) *recoup.Snapshot { return &t.Before }),
		row.Within("", snapshots, func(t *recoup.Transition) *recoup.Snapshot { return &t.After }))}
)

// snapshots are errors as they were before or after.
var snapshots = []row.Column[recoup.Snapshot]{
	row.Text("state", func(s *recoup.Snapshot) *string { return (*string)(&s.State) }),
	row.Text("disposition", func(s *recoup.Snapshot) *string { return (*string)(&s.Disposition) }),
	row.Bool("blocking", func(s *recoup.Snapshot) *bool { return &s.Blocking }),
	row.Int("escalation_level", func(s *recoup.Snapshot) *int { return &s.EscalationLevel }),
	row.Int("retry_count", func(s *recoup.Snapshot) *int { return &s.RetryCount }),
	row.Time("next_retry_at", func(s *recoup.Snapshot) *time.Time { return &s.NextRetryAt }),
	row.Time("expires_at", func(s *recoup.Snapshot) *time.Time { return &s.ExpiresAt }),
	row.Text("owner", func(s *recoup.Snapshot) *string { return &s.Owner }),
}
