package proof

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// The ids that explored errors and attempts carry; each life is on its own.
var (
	errorID = recoup.ID{15: 1}
	attempt = recoup.ID{15: 2}
)

// tooLong is a wait that no window or TTL survives.
const tooLong = 100 * 365 * 24 * time.Hour

const person = "person"

// acts is what a person can do to an error.
var acts = []struct {
	what  string
	input lifecycle.Input
}{
	{"resolved by a person", lifecycle.Resolve{By: person}},
	{"archived by a person", lifecycle.ArchiveNow{By: person}},
	{"parked by a person", lifecycle.Park{By: person, Reason: recoup.EscalationRequired}},
	{"unparked by a person", lifecycle.Unpark{By: person}},
	{"escalated by a person", lifecycle.Escalate{By: person}},
	{"assigned by a person", lifecycle.Assign{By: person, To: person}},
	{"reviewed by a person", lifecycle.Review{By: person}},
}

// reports returns the first failure of a life and, where failures are counted
// together for the entity, the one that is one too many.
func (l *life) reports() []lifecycle.Report {
	q := l.question
	in := lifecycle.Report{
		ID: errorID, Table: q.Table, Severity: q.Severity,
		Failure: lifecycle.Failure{Code: q.Code, Class: q.Class, Category: q.Category},
	}
	if q.Entity {
		in.EntityID = "entity"
	}
	if l.answer.family == "" {
		return []lifecycle.Report{in}
	}
	last := in
	last.Failure.Streak = l.answer.after - 1
	return []lifecycle.Report{in, last}
}

// ending is a way in which an attempt can fail.
type ending struct {
	lifecycle.Failure
	what string
}

// failures returns how an attempt can fail: as before, with a wait that nobody
// can afford, for good, or as one too many of its family.
func (w *walk) failures() []ending {
	q := w.life.question
	again := lifecycle.Failure{Code: q.Code, Class: q.Class, Category: q.Category}
	if w.life.answer.manual {
		again.Class, again.Category = recoup.ClassImmediate, recoup.Operational
	}
	asks, fatal, last := again, again, again
	asks.RetryAfter = tooLong
	fatal.Code, fatal.Class = w.plain, recoup.ClassFatal
	last.Streak = w.life.answer.after - 1
	return []ending{
		{again, "the retry fails"},
		{asks, "the retry fails and asks for a long wait"},
		{fatal, "the retry fails for good"},
		{last, "the retry fails, one too many of its family"},
	}
}
