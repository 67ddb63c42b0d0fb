package postgres

import (
	"strings"
	"time"

	"recoup"
)

// errorColumns lists the columns of recoup.error and where each belongs in an
// error. What moves with a claim is in recoup.due: see [currentColumns].
func errorColumns() []column[recoup.Error] {
	type e = recoup.Error
	return []column[e]{
		id("error_id", func(e *e) *recoup.ID { return &e.ID }),
		text("table_name", func(e *e) *string { return &e.Table }),
		text("reported_table", func(e *e) *string { return &e.ReportedTable }),
		text("entity_id", func(e *e) *string { return &e.EntityID }),
		text("code", func(e *e) *recoup.Code { return &e.Code }),
		text("severity", func(e *e) *recoup.Severity { return &e.Severity }),
		text("category", func(e *e) *recoup.Category { return &e.Category }),
		text("class", func(e *e) *recoup.Class { return &e.Class }),
		text("message", func(e *e) *string { return &e.Message }),
		id("correlation_id", func(e *e) *recoup.ID { return &e.CorrelationID }),
		text("policy_version", func(e *e) *string { return &e.PolicyVersion }),
		text("state", func(e *e) *recoup.State { return &e.State }),
		text("disposition", func(e *e) *recoup.Disposition { return &e.Disposition }),
		flag("blocking", func(e *e) *bool { return &e.Blocking }),
		flag("replaceable", func(e *e) *bool { return &e.Replaceable }),
		stamp("created_at", func(e *e) *time.Time { return &e.CreatedAt }),
		stamp("updated_at", func(e *e) *time.Time { return &e.UpdatedAt }),
		stamp("expires_at", func(e *e) *time.Time { return &e.ExpiresAt }),

		number("retry_count", func(e *e) *int { return &e.RetryCount }),
		number("max_retries", func(e *e) *int { return &e.MaxRetries }),
		stamp("last_retry_at", func(e *e) *time.Time { return &e.LastRetryAt }),
		stamp("next_retry_at", func(e *e) *time.Time { return &e.NextRetryAt }),
		flag("retry_exhausted", func(e *e) *bool { return &e.RetryExhausted }),
		stamp("retry_window_ends_at", func(e *e) *time.Time { return &e.WindowEndsAt }),
		text("last_failure_code", func(e *e) *recoup.Code { return &e.LastFailureCode }),
		text("streak_family", func(e *e) *string { return &e.StreakFamily }),
		number("streak_count", func(e *e) *int { return &e.StreakCount }),
		id("last_attempt", func(e *e) *recoup.ID { return &e.LastAttempt }),
		text("last_result", func(e *e) *string { return &e.LastResult }),

		stamp("parked_at", func(e *e) *time.Time { return &e.ParkedAt }),
		text("parked_by", func(e *e) *string { return &e.ParkedBy }),
		text("park_reason", func(e *e) *recoup.ParkReason { return &e.ParkReason }),
		text("assigned_to", func(e *e) *string { return &e.AssignedTo }),
		stamp("last_reviewed_at", func(e *e) *time.Time { return &e.LastReviewedAt }),

		number("escalation_level", func(e *e) *int { return &e.EscalationLevel }),
		stamp("escalated_at", func(e *e) *time.Time { return &e.EscalatedAt }),
		text("escalated_to", func(e *e) *string { return &e.EscalatedTo }),
		text("escalation_reason", func(e *e) *string { return &e.EscalationReason }),
		stamp("next_escalation_at", func(e *e) *time.Time { return &e.NextEscalationAt }),
		stamp("review_due_at", func(e *e) *time.Time { return &e.ReviewDueAt }),
		stamp("next_reminder_at", func(e *e) *time.Time { return &e.NextReminderAt }),
		stamp("reminded_at", func(e *e) *time.Time { return &e.RemindedAt }),

		stamp("resolved_at", func(e *e) *time.Time { return &e.ResolvedAt }),
		text("resolved_by", func(e *e) *string { return &e.ResolvedBy }),
		text("resolution_reason", func(e *e) *string { return &e.ResolutionReason }),
	}
}

// leasedColumns lists the columns of recoup.due that hold a lease.
func leasedColumns() []column[recoup.Error] {
	type e = recoup.Error
	return []column[e]{
		id("lease_token", func(e *e) *recoup.ID { return &e.LeaseToken }),
		text("lease_worker", func(e *e) *string { return &e.LeaseWorker }),
		stamp("leased_at", func(e *e) *time.Time { return &e.LeasedAt }),
		stamp("lease_ends_at", func(e *e) *time.Time { return &e.LeaseEndsAt }),
	}
}

// dueColumns lists the columns of recoup.due for an error that nobody holds.
func dueColumns() []column[recoup.Error] {
	type e = recoup.Error
	return append([]column[e]{
		id("error_id", func(e *e) *recoup.ID { return &e.ID }),
		text("table_name", func(e *e) *string { return &e.Table }),
		text("policy_version", func(e *e) *string { return &e.PolicyVersion }),
		stamp("due_at", func(e *e) *time.Time { return &e.NextRetryAt }),
		stamp("window_ends_at", func(e *e) *time.Time { return &e.WindowEndsAt }),
		stamp("expires_at", func(e *e) *time.Time { return &e.ExpiresAt }),
	}, leasedColumns()...)
}

// currentColumns lists what an error has, read from both of its rows.
func currentColumns() []column[recoup.Error] { return append(errorColumns(), leasedColumns()...) }

// Where the rows of an error are: e, and d if it waits for a retry.
const (
	leaseOf = ` left join lateral (select lease_token, lease_worker, leased_at, lease_ends_at
		from recoup.due where due.error_id = e.error_id) d on true`
	fromError = " from recoup.error e" + leaseOf
)

// current lists the columns of an error for a statement, put together from both
// rows: while a lease is held, it says when the last retry was and when the next
// may be. What is resolved keeps its key and the time of a reminder until it is
// archived, so that resolving it touches no index.
func current(columns []column[recoup.Error]) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		switch c.name {
		case "lease_token", "lease_worker", "leased_at", "lease_ends_at":
			list[i] = "d." + c.name
		case "next_retry_at":
			list[i] = "coalesce(d.lease_ends_at, e.next_retry_at)"
		case "last_retry_at":
			list[i] = "coalesce(d.leased_at, e.last_retry_at)"
		case "updated_at":
			list[i] = "greatest(e.updated_at, d.leased_at)"
		case "replaceable":
			list[i] = "e.replaceable and e.state <> 'RESOLVED'"
		case "next_reminder_at":
			list[i] = "case when e.state <> 'RESOLVED' then e.next_reminder_at end"
		default:
			list[i] = "e." + c.name
		}
	}
	return strings.Join(list, ", ")
}

// archiveColumns lists the columns of recoup.error_archive: those of an error
// and those that archiving adds (spec 000, 7.3).
func archiveColumns() []column[recoup.Error] {
	type e = recoup.Error
	return append(errorColumns(),
		stamp("archived_at", func(e *e) *time.Time { return &e.ArchivedAt }),
		text("archived_by", func(e *e) *string { return &e.ArchivedBy }),
		text("archive_reason", func(e *e) *recoup.ArchiveReason { return &e.ArchiveReason }),
		text("final_disposition", func(e *e) *recoup.Disposition { return &e.FinalDisposition }),
		id("superseded_by", func(e *e) *recoup.ID { return &e.SupersededBy }),
		stamp("purge_at", func(e *e) *time.Time { return &e.PurgeAt }),
	)
}

// names lists columns for a statement, each with a prefix such as "e.".
func names[R any](columns []column[R], prefix string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = prefix + c.name
	}
	return strings.Join(list, ", ")
}
