package api

import (
	"github.com/recoup-dev/recoup"
)

// errorSize is about how many bytes an error takes.
const errorSize = 1024

func (w *writer) claimed(c *recoup.RetryClaimed) {
	if c.Errors == nil {
		w.any(c)
		return
	}
	w.b = append(w.b, '{')
	w.list(`"errors":`, len(c.Errors), func(i int) { w.error(&c.Errors[i]) })
	w.b = append(w.b, '}')
}

func (w *writer) acted(a *recoup.ActResultBatch) {
	if a.Items == nil {
		w.any(a)
		return
	}
	w.b = append(w.b, '{')
	w.list(`"items":`, len(a.Items), func(i int) {
		if done := a.Items[i].Result; done != nil {
			w.name(`"result":{`)
			if done.Error != (recoup.Error{}) {
				w.name(`"error":{`)
				w.error(&done.Error)
				w.b = append(w.b, '}')
			}
			w.textOr(`"warning":`, done.Warning)
			w.flagOr(`"repeated":`, done.Repeated)
			w.b = append(w.b, '}')
		}
		if failure := a.Items[i].Failure; len(failure) > 0 {
			w.name(`"failure":`)
			w.any(failure)
		}
	})
	w.b = append(w.b, '}')
}

func (w *writer) error(e *recoup.Error) {
	w.id(`"error_id":`, e.ID)
	w.text(`"table":`, e.Table)
	w.textOr(`"reported_table":`, e.ReportedTable)
	w.textOr(`"entity_id":`, e.EntityID)
	w.text(`"code":`, string(e.Code))
	w.textOr(`"severity":`, string(e.Severity))
	w.text(`"category":`, string(e.Category))
	w.text(`"class":`, string(e.Class))
	w.textOr(`"message":`, e.Message)
	w.idOr(`"correlation_id":`, e.CorrelationID)
	w.idOr(`"group_id":`, e.GroupID)
	w.text(`"policy_version":`, e.PolicyVersion)
	w.text(`"state":`, string(e.State))
	w.text(`"disposition":`, string(e.Disposition))
	w.flag(`"blocking":`, e.Blocking)
	w.time(`"created_at":`, e.CreatedAt)
	w.time(`"updated_at":`, e.UpdatedAt)
	w.timeOr(`"expires_at":`, e.ExpiresAt)
	w.retry(&e.Retry)
	w.idOr(`"lease_token":`, e.LeaseToken)
	w.textOr(`"lease_worker":`, e.LeaseWorker)
	w.timeOr(`"leased_at":`, e.LeasedAt)
	w.timeOr(`"lease_ends_at":`, e.LeaseEndsAt)
	w.parking(&e.Parking)
	w.escalation(&e.Escalation)
	w.timeOr(`"resolved_at":`, e.ResolvedAt)
	w.textOr(`"resolved_by":`, e.ResolvedBy)
	w.textOr(`"resolution_reason":`, e.ResolutionReason)
	w.archive(&e.Archive)
	w.timeOr(`"next_reminder_at":`, e.NextReminderAt)
	w.timeOr(`"reminded_at":`, e.RemindedAt)
}

func (w *writer) retry(r *recoup.Retry) {
	w.number(`"retry_count":`, r.RetryCount)
	w.number(`"max_retries":`, r.MaxRetries)
	w.timeOr(`"last_retry_at":`, r.LastRetryAt)
	w.timeOr(`"next_retry_at":`, r.NextRetryAt)
	w.flag(`"retry_exhausted":`, r.RetryExhausted)
	w.timeOr(`"retry_window_ends_at":`, r.WindowEndsAt)
	w.textOr(`"last_failure_code":`, string(r.LastFailureCode))
	w.textOr(`"streak_family":`, r.StreakFamily)
	w.numberOr(`"streak_count":`, r.StreakCount)
	w.idOr(`"last_attempt":`, r.LastAttempt)
	w.textOr(`"last_result":`, r.LastResult)
}

func (w *writer) parking(p *recoup.Parking) {
	w.timeOr(`"parked_at":`, p.ParkedAt)
	w.textOr(`"parked_by":`, p.ParkedBy)
	w.textOr(`"park_reason":`, string(p.ParkReason))
	w.textOr(`"assigned_to":`, p.AssignedTo)
	w.timeOr(`"last_reviewed_at":`, p.LastReviewedAt)
}

func (w *writer) escalation(e *recoup.Escalation) {
	w.number(`"escalation_level":`, e.EscalationLevel)
	w.timeOr(`"escalated_at":`, e.EscalatedAt)
	w.textOr(`"escalated_to":`, e.EscalatedTo)
	w.textOr(`"escalation_reason":`, e.EscalationReason)
	w.timeOr(`"next_escalation_at":`, e.NextEscalationAt)
	w.timeOr(`"review_due_at":`, e.ReviewDueAt)
}

func (w *writer) archive(a *recoup.Archive) {
	w.timeOr(`"archived_at":`, a.ArchivedAt)
	w.textOr(`"archived_by":`, a.ArchivedBy)
	w.textOr(`"archive_reason":`, string(a.ArchiveReason))
	w.textOr(`"final_disposition":`, string(a.FinalDisposition))
	w.idOr(`"superseded_by":`, a.SupersededBy)
	w.timeOr(`"purge_at":`, a.PurgeAt)
}
