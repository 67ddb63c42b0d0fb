package policy

import (
	"time"

	"github.com/recoup-dev/recoup"
)

// Verdict says whether a failure ends the retries of an error, and why.
type Verdict struct {
	Must   bool
	Reason recoup.ParkReason
	Page   bool // the platform's operator is paged

	by cause
}

// MustPark judges a failure, the first one or one of a retry: a parking
// condition names it, its class is fatal, or it is structural. Class beats
// category.
func (p *Policy) MustPark(t *Table, code recoup.Code, class recoup.Class, category recoup.Category) Verdict {
	if c := p.condition(code, t.Name); c != nil {
		return Verdict{Must: true, Reason: c.Reason, Page: c.Page, by: byCondition}
	}
	switch {
	case fatal(class):
		return Verdict{Must: true, Reason: recoup.NonRetryableError, by: byClass}
	case category == recoup.Structural:
		return Verdict{Must: true, Reason: recoup.DataQuality, by: byCategory}
	}
	return Verdict{}
}

// Pages reports whether an error is one for which the platform's operator is paged:
// for what it was reported with, or for how it failed last.
func (p *Policy) Pages(t *Table, e *recoup.Error) bool {
	return p.MustPark(t, e.Code, e.Class, e.Category).Page || p.MustPark(t, e.LastFailureCode, e.Class, e.Category).Page
}

// fatal reports whether a class forbids retries by the system. A conditional
// failure whose condition was proven arrives as the class that it then has.
func fatal(c recoup.Class) bool { return c == recoup.ClassFatal || c == recoup.ClassConditional }

// Floor is the least delay of a retry after a failure of this class.
func (p *Policy) Floor(class recoup.Class) time.Duration { return p.Floors[class] }

// FamilyOf returns the family in which a table counts this code, or nil.
func (p *Policy) FamilyOf(t *Table, code recoup.Code) *Family { return t.overrides.family(code) }

// TopTier is the highest rung of the ladder.
func (p *Policy) TopTier() int { return len(p.Ladder) }
