package stream

import (
	"fmt"
	"time"
)

// Age writes a duration in its largest unit: 45s, 12m, 3h, 2d. Hours go on until
// there are two days of them, because people say 36 h.
func Age(d time.Duration) string {
	d = max(d, 0)
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", d/time.Hour)
	}
	return fmt.Sprintf("%dd", d/(24*time.Hour))
}

// Ago writes a time as an age; nothing for none.
func (s Streams) Ago(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case s.UTC:
		return Stamp(t)
	}
	return Age(s.Clock().Sub(t))
}

// When writes a time with how far away it is; nothing for none.
func (s Streams) When(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return Stamp(t) + " UTC, " + s.Relative(t)
}

// Stamp writes a time in UTC.
func Stamp(t time.Time) string { return t.UTC().Format(time.DateTime) }

// Left is how long it is until then, as people count it: a moment less than 30 days
// is 30 days.
func (s Streams) Left(t time.Time) string {
	d := t.Sub(s.Clock())
	if d < time.Hour {
		return Age(d.Round(time.Second))
	}
	return Age(d.Round(time.Minute))
}

// Relative writes how far away a time is, in either direction; nothing for none.
func (s Streams) Relative(t time.Time) string {
	switch {
	case t.IsZero():
		return ""
	case s.UTC:
		return Stamp(t)
	case t.After(s.Clock()):
		return "in " + s.Left(t)
	}
	return s.Ago(t) + " ago"
}
