package lifecycle

import (
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// replaces reports whether the report takes the place of the open error of its source row.
func (in Report) replaces(older *recoup.Error) bool { return in.Replaces && older != nil }

// replaceableRow reports whether the error of a source row is replaced when the row fails
// again. The row says what is the same failure, also where it names no entity.
func replaceableRow(t *policy.Table) bool { return !t.Infinite() && !t.DeadLetter }

// ofRow completes a report that replaces the open error of its source row. A row that was
// written while an attempt was in progress states the failure of that attempt, which counts
// once. An amended error is as old as it was.
func (in Report) ofRow(older *recoup.Error) Report {
	if !in.replaces(older) {
		return in
	}
	if in.Amends {
		in.CreatedAt = older.CreatedAt
	}
	during := !older.LastRetryAt.IsZero() && !in.WrittenAt.Before(older.LastRetryAt) && !in.WrittenAt.After(older.UpdatedAt)
	if in.Attempt.IsZero() && during {
		in.Attempt = older.LastAttempt
	}
	return in
}

// noteChange writes into the history what has changed in a source row. What a node finds
// long after it was written is history: nobody is notified, and it does not count as activity.
func (in Report) noteChange(s *step, older *recoup.Error) {
	if !in.replaces(s.current) {
		return
	}
	s.because(change(s.current, &s.next))
	if in.Past && older != nil {
		s.effects.Notices, s.effects.Streak, s.effects.Past = Notices{}, Streak{}, true
	}
}

// change describes how an error differs from the one that it replaces.
func change(older, next *recoup.Error) string {
	var parts []string
	if older.Code != next.Code {
		parts = append(parts, fmt.Sprintf("code %s to %s", older.Code, next.Code))
	}
	if older.Severity != next.Severity {
		parts = append(parts, fmt.Sprintf("severity %s to %s", older.Severity, next.Severity))
	}
	if older.Message != next.Message {
		parts = append(parts, "message")
	}
	if len(parts) == 0 {
		return "the source row was written again"
	}
	return "the source row has changed: " + strings.Join(parts, ", ")
}
