package sqlite

import (
	"slices"
	"strings"

	"recoup"
)

// column is one column of an error: its name, and the field of an error that it
// holds.
type column struct {
	name  string
	field func(*recoup.Error) errorField
}

// errorField is a field that can take over what another of its kind holds.
type errorField interface {
	field
	take(from errorField)

	// settle makes it what it would be if it were written and read again.
	settle()
}

// errorColumns are the columns of the table error, and errorColumns followed by
// archiveColumns those of error_archive. Every statement about errors is made
// from these lists.
var (
	errorColumns = []column{
		{"error_id", func(e *recoup.Error) errorField { return id{&e.ID} }},
		{"table_name", func(e *recoup.Error) errorField { return text[string]{&e.Table} }},
		{"reported_table", func(e *recoup.Error) errorField { return text[string]{&e.ReportedTable} }},
		{"entity_id", func(e *recoup.Error) errorField { return text[string]{&e.EntityID} }},
		{"code", func(e *recoup.Error) errorField { return text[recoup.Code]{&e.Code} }},
		{"severity", func(e *recoup.Error) errorField { return text[recoup.Severity]{&e.Severity} }},
		{"category", func(e *recoup.Error) errorField { return text[recoup.Category]{&e.Category} }},
		{"class", func(e *recoup.Error) errorField { return text[recoup.Class]{&e.Class} }},
		{"message", func(e *recoup.Error) errorField { return text[string]{&e.Message} }},
		{"correlation_id", func(e *recoup.Error) errorField { return id{&e.CorrelationID} }},
		{"policy_version", func(e *recoup.Error) errorField { return text[string]{&e.PolicyVersion} }},
		{"state", func(e *recoup.Error) errorField { return text[recoup.State]{&e.State} }},
		{"disposition", func(e *recoup.Error) errorField { return text[recoup.Disposition]{&e.Disposition} }},
		{"blocking", func(e *recoup.Error) errorField { return flag{&e.Blocking} }},
		{"created_at", func(e *recoup.Error) errorField { return stamp{&e.CreatedAt} }},
		{"updated_at", func(e *recoup.Error) errorField { return stamp{&e.UpdatedAt} }},
		{"expires_at", func(e *recoup.Error) errorField { return stamp{&e.ExpiresAt} }},
		{"retry_count", func(e *recoup.Error) errorField { return number{&e.RetryCount} }},
		{"max_retries", func(e *recoup.Error) errorField { return number{&e.MaxRetries} }},
		{"last_retry_at", func(e *recoup.Error) errorField { return stamp{&e.LastRetryAt} }},
		{"next_retry_at", func(e *recoup.Error) errorField { return stamp{&e.NextRetryAt} }},
		{"retry_exhausted", func(e *recoup.Error) errorField { return flag{&e.RetryExhausted} }},
		{"retry_window_ends_at", func(e *recoup.Error) errorField { return stamp{&e.WindowEndsAt} }},
		{"last_failure_code", func(e *recoup.Error) errorField { return text[recoup.Code]{&e.LastFailureCode} }},
		{"streak_family", func(e *recoup.Error) errorField { return text[string]{&e.StreakFamily} }},
		{"streak_count", func(e *recoup.Error) errorField { return number{&e.StreakCount} }},
		{"last_attempt", func(e *recoup.Error) errorField { return id{&e.LastAttempt} }},
		{"last_result", func(e *recoup.Error) errorField { return text[string]{&e.LastResult} }},
		{"lease_token", func(e *recoup.Error) errorField { return id{&e.LeaseToken} }},
		{"lease_worker", func(e *recoup.Error) errorField { return text[string]{&e.LeaseWorker} }},
		{"leased_at", func(e *recoup.Error) errorField { return stamp{&e.LeasedAt} }},
		{"lease_ends_at", func(e *recoup.Error) errorField { return stamp{&e.LeaseEndsAt} }},
		{"parked_at", func(e *recoup.Error) errorField { return stamp{&e.ParkedAt} }},
		{"parked_by", func(e *recoup.Error) errorField { return text[string]{&e.ParkedBy} }},
		{"park_reason", func(e *recoup.Error) errorField { return text[recoup.ParkReason]{&e.ParkReason} }},
		{"assigned_to", func(e *recoup.Error) errorField { return text[string]{&e.AssignedTo} }},
		{"last_reviewed_at", func(e *recoup.Error) errorField { return stamp{&e.LastReviewedAt} }},
		{"escalation_level", func(e *recoup.Error) errorField { return number{&e.EscalationLevel} }},
		{"escalated_at", func(e *recoup.Error) errorField { return stamp{&e.EscalatedAt} }},
		{"escalated_to", func(e *recoup.Error) errorField { return text[string]{&e.EscalatedTo} }},
		{"escalation_reason", func(e *recoup.Error) errorField { return text[string]{&e.EscalationReason} }},
		{"next_escalation_at", func(e *recoup.Error) errorField { return stamp{&e.NextEscalationAt} }},
		{"review_due_at", func(e *recoup.Error) errorField { return stamp{&e.ReviewDueAt} }},
		{"next_reminder_at", func(e *recoup.Error) errorField { return stamp{&e.NextReminderAt} }},
		{"reminded_at", func(e *recoup.Error) errorField { return stamp{&e.RemindedAt} }},
		{"resolved_at", func(e *recoup.Error) errorField { return stamp{&e.ResolvedAt} }},
		{"resolved_by", func(e *recoup.Error) errorField { return text[string]{&e.ResolvedBy} }},
		{"resolution_reason", func(e *recoup.Error) errorField { return text[string]{&e.ResolutionReason} }},
		{"replaceable", func(e *recoup.Error) errorField { return flag{&e.Replaceable} }},
	}

	archiveColumns = []column{
		{"archived_at", func(e *recoup.Error) errorField { return stamp{&e.ArchivedAt} }},
		{"archived_by", func(e *recoup.Error) errorField { return text[string]{&e.ArchivedBy} }},
		{"archive_reason", func(e *recoup.Error) errorField { return text[recoup.ArchiveReason]{&e.ArchiveReason} }},
		{"final_disposition", func(e *recoup.Error) errorField { return text[recoup.Disposition]{&e.FinalDisposition} }},
		{"superseded_by", func(e *recoup.Error) errorField { return id{&e.SupersededBy} }},
		{"purge_at", func(e *recoup.Error) errorField { return stamp{&e.PurgeAt} }},
	}

	allColumns = append(errorColumns[:len(errorColumns):len(errorColumns)], archiveColumns...)
)

// stampColumns are those that the file keeps less exactly than memory does.
var stampColumns = slices.DeleteFunc(slices.Clone(errorColumns), func(c column) bool {
	_, ok := c.field(new(recoup.Error)).(stamp)
	return !ok
})

// names lists the columns for a statement.
func names(columns []column) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
	}
	return strings.Join(list, ", ")
}

// fields returns the fields of e in the order of the columns.
func fields(columns []column, e *recoup.Error) []any {
	list := make([]any, len(columns))
	for i, c := range columns {
		list[i] = c.field(e)
	}
	return list
}

// insertInto returns the statement that writes one row with these columns.
func insertInto(table string, columns []column) string {
	return "insert into " + table + " (" + names(columns) + ") values (?" + strings.Repeat(", ?", len(columns)-1) + ")"
}
