package store

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What errors and their history consist of.
var (
	// Errors are what errors have in their table and in the archive.
	Errors = sqldb.Table[recoup.Error]{Name: "recoup.error", Columns: []sqldb.Column[recoup.Error]{
		sqldb.ID("error_id", func(e *recoup.Error) *recoup.ID { return &e.ID }).Key(),
		sqldb.Text("table_name", func(e *recoup.Error) *string { return &e.Table }),
		sqldb.Text("reported_table", func(e *recoup.Error) *string { return &e.ReportedTable }),
		sqldb.Text("entity_id", func(e *recoup.Error) *string { return &e.EntityID }),
		sqldb.Text("code", func(e *recoup.Error) *string { return (*string)(&e.Code) }),
		sqldb.Text("severity", func(e *recoup.Error) *string { return (*string)(&e.Severity) }),
		sqldb.Text("category", func(e *recoup.Error) *string { return (*string)(&e.Category) }),
		sqldb.Text("class", func(e *recoup.Error) *string { return (*string)(&e.Class) }),
		sqldb.Text("message", func(e *recoup.Error) *string { return &e.Message }),
		sqldb.ID("correlation_id", func(e *recoup.Error) *recoup.ID { return &e.CorrelationID }),
		sqldb.ID("group_id", func(e *recoup.Error) *recoup.ID { return &e.GroupID }),
		sqldb.Text("policy_version", func(e *recoup.Error) *string { return &e.PolicyVersion }),
		sqldb.Text("state", func(e *recoup.Error) *string { return (*string)(&e.State) }),
		sqldb.Text("disposition", func(e *recoup.Error) *string { return (*string)(&e.Disposition) }),
		sqldb.Bool("blocking", func(e *recoup.Error) *bool { return &e.Blocking }),
		sqldb.Bool("replaceable", func(e *recoup.Error) *bool { return &e.Replaceable }),
		sqldb.Time("created_at", func(e *recoup.Error) *time.Time { return &e.CreatedAt }),
		sqldb.Time("updated_at", func(e *recoup.Error) *time.Time { return &e.UpdatedAt }),
		sqldb.Time("expires_at", func(e *recoup.Error) *time.Time { return &e.ExpiresAt }),
		sqldb.Int("retry_count", func(e *recoup.Error) *int { return &e.RetryCount }),
		sqldb.Int("max_retries", func(e *recoup.Error) *int { return &e.MaxRetries }),
		sqldb.Time("last_retry_at", func(e *recoup.Error) *time.Time { return &e.LastRetryAt }),
		sqldb.Time("next_retry_at", func(e *recoup.Error) *time.Time { return &e.NextRetryAt }),
		sqldb.Bool("retry_exhausted", func(e *recoup.Error) *bool { return &e.RetryExhausted }),
		sqldb.Time("retry_window_ends_at", func(e *recoup.Error) *time.Time { return &e.WindowEndsAt }),
		sqldb.Text("last_failure_code", func(e *recoup.Error) *string { return (*string)(&e.LastFailureCode) }),
		sqldb.Text("streak_family", func(e *recoup.Error) *string { return &e.StreakFamily }),
		sqldb.Int("streak_count", func(e *recoup.Error) *int { return &e.StreakCount }),
		sqldb.ID("last_attempt", func(e *recoup.Error) *recoup.ID { return &e.LastAttempt }),
		sqldb.Text("last_result", func(e *recoup.Error) *string { return &e.LastResult }),
		sqldb.Time("parked_at", func(e *recoup.Error) *time.Time { return &e.ParkedAt }),
		sqldb.Text("parked_by", func(e *recoup.Error) *string { return &e.ParkedBy }),
		sqldb.Text("park_reason", func(e *recoup.Error) *string { return (*string)(&e.ParkReason) }),
		sqldb.Text("assigned_to", func(e *recoup.Error) *string { return &e.AssignedTo }),
		sqldb.Time("last_reviewed_at", func(e *recoup.Error) *time.Time { return &e.LastReviewedAt }),
		sqldb.Int("escalation_level", func(e *recoup.Error) *int { return &e.EscalationLevel }),
		sqldb.Time("escalated_at", func(e *recoup.Error) *time.Time { return &e.EscalatedAt }),
		sqldb.Text("escalated_to", func(e *recoup.Error) *string { return &e.EscalatedTo }),
		sqldb.Text("escalation_reason", func(e *recoup.Error) *string { return &e.EscalationReason }),
		sqldb.Time("next_escalation_at", func(e *recoup.Error) *time.Time { return &e.NextEscalationAt }),
		sqldb.Time("review_due_at", func(e *recoup.Error) *time.Time { return &e.ReviewDueAt }),
		sqldb.Time("next_reminder_at", func(e *recoup.Error) *time.Time { return &e.NextReminderAt }),
		sqldb.Time("reminded_at", func(e *recoup.Error) *time.Time { return &e.RemindedAt }),
		sqldb.Time("resolved_at", func(e *recoup.Error) *time.Time { return &e.ResolvedAt }),
		sqldb.Text("resolved_by", func(e *recoup.Error) *string { return &e.ResolvedBy }),
		sqldb.Text("resolution_reason", func(e *recoup.Error) *string { return &e.ResolutionReason }),
	}}

	// Leases are what a worker holds of an error that waits for its retry.
	Leases = []sqldb.Column[recoup.Error]{
		sqldb.ID("lease_token", func(e *recoup.Error) *recoup.ID { return &e.LeaseToken }),
		sqldb.Text("lease_worker", func(e *recoup.Error) *string { return &e.LeaseWorker }),
		sqldb.Time("leased_at", func(e *recoup.Error) *time.Time { return &e.LeasedAt }),
		sqldb.Time("lease_ends_at", func(e *recoup.Error) *time.Time { return &e.LeaseEndsAt }),
	}

	// Marks are what metrics count an open error by. The archive has none: what is
	// archived has been counted.
	Marks = []sqldb.Column[recoup.Error]{
		sqldb.Time("retried_at", func(e *recoup.Error) *time.Time { return &e.RetriedAt }),
		sqldb.Time("exhausted_at", func(e *recoup.Error) *time.Time { return &e.ExhaustedAt }),
		sqldb.Time("last_parked_at", func(e *recoup.Error) *time.Time { return &e.LastParkedAt }),
		sqldb.Time("unparked_at", func(e *recoup.Error) *time.Time { return &e.UnparkedAt }),
		sqldb.Time("deescalated_at", func(e *recoup.Error) *time.Time { return &e.DeescalatedAt }),
		sqldb.Bool("historic", func(e *recoup.Error) *bool { return &e.Historic }),
	}

	// OpenErrors are the errors that are not archived, with their marks.
	OpenErrors = sqldb.Table[recoup.Error]{Name: Errors.Name, Columns: slices.Concat(Errors.Columns, Marks)}

	// Archiving is what archiving adds (spec 000, 7.3).
	Archiving = []sqldb.Column[recoup.Error]{
		sqldb.Time("archived_at", func(e *recoup.Error) *time.Time { return &e.ArchivedAt }),
		sqldb.Text("archived_by", func(e *recoup.Error) *string { return &e.ArchivedBy }),
		sqldb.Text("archive_reason", func(e *recoup.Error) *string { return (*string)(&e.ArchiveReason) }),
		sqldb.Text("final_disposition", func(e *recoup.Error) *string { return (*string)(&e.FinalDisposition) }),
		sqldb.ID("superseded_by", func(e *recoup.Error) *recoup.ID { return &e.SupersededBy }),
		sqldb.Time("purge_at", func(e *recoup.Error) *time.Time { return &e.PurgeAt }),
	}

	// History is what happened to errors, but for the number of its rows.
	History = sqldb.Table[recoup.Transition]{Name: "recoup.error_history", Columns: slices.Concat([]sqldb.Column[recoup.Transition]{
		sqldb.ID("error_id", func(t *recoup.Transition) *recoup.ID { return &t.ErrorID }),
		sqldb.Time("at", func(t *recoup.Transition) *time.Time { return &t.At }),
		sqldb.Text("input", func(t *recoup.Transition) *string { return &t.Input }),
		sqldb.Text("actor", func(t *recoup.Transition) *string { return &t.Actor }),
		sqldb.Text("reason", func(t *recoup.Transition) *string { return &t.Reason }),
		sqldb.Text("policy_version", func(t *recoup.Transition) *string { return &t.PolicyVersion }),
		sqldb.Text("worker", func(t *recoup.Transition) *string { return &t.Worker }),
		sqldb.Time("claimed_at", func(t *recoup.Transition) *time.Time { return &t.ClaimedAt }),
		sqldb.ID("attempt", func(t *recoup.Transition) *recoup.ID { return &t.Attempt }),
	},
		sqldb.Within("was_", snapshots, func(t *recoup.Transition) *recoup.Snapshot { return &t.Before }),
		sqldb.Within("", snapshots, func(t *recoup.Transition) *recoup.Snapshot { return &t.After }))}
)

// snapshots are errors as they were before or after.
var snapshots = []sqldb.Column[recoup.Snapshot]{
	sqldb.Text("state", func(s *recoup.Snapshot) *string { return (*string)(&s.State) }),
	sqldb.Text("disposition", func(s *recoup.Snapshot) *string { return (*string)(&s.Disposition) }),
	sqldb.Bool("blocking", func(s *recoup.Snapshot) *bool { return &s.Blocking }),
	sqldb.Int("escalation_level", func(s *recoup.Snapshot) *int { return &s.EscalationLevel }),
	sqldb.Int("retry_count", func(s *recoup.Snapshot) *int { return &s.RetryCount }),
	sqldb.Time("next_retry_at", func(s *recoup.Snapshot) *time.Time { return &s.NextRetryAt }),
	sqldb.Time("expires_at", func(s *recoup.Snapshot) *time.Time { return &s.ExpiresAt }),
	sqldb.Text("owner", func(s *recoup.Snapshot) *string { return &s.Owner }),
}
