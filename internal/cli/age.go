package cli

import (
	"fmt"
	"time"

	"recoup/internal/policy"
)

// age writes a duration in its largest unit: 45s, 12m, 3h, 2d. Hours go on until
// there are two days of them, because people say 36 h.
func age(d time.Duration) string {
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

// ago tells a time as an age; nothing for none.
func (s Streams) ago(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return age(s.now().Sub(t))
}

// when tells a time with how far away it is; nothing for none.
func (s Streams) when(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.DateTime) + " UTC, " + s.relative(t)
}

// rounded is what is left as people count it: a moment less than 30 days is 30
// days.
func rounded(d time.Duration) time.Duration {
	if d < time.Hour {
		return d.Round(time.Second)
	}
	return d.Round(time.Minute)
}

// relative tells how far away a time is, in either direction.
func (s Streams) relative(t time.Time) string {
	if d := t.Sub(s.now()); d > 0 {
		return "in " + age(rounded(d))
	}
	return s.ago(t) + " ago"
}

// instantForms are the forms of a time, of which all but the first are in UTC.
var instantForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// parseInstant reads a time, or an age such as 48h, counted back from now.
// Nothing given is no time.
func parseInstant(flag, given string, now time.Time) (time.Time, error) {
	if given == "" {
		return time.Time{}, nil
	}
	if d, err := policy.ParseDuration(given); err == nil {
		return now.Add(-d).UTC(), nil
	}
	for _, form := range instantForms {
		if t, err := time.Parse(form, given); err == nil {
			return t.UTC(), nil
		}
	}
	return time.Time{}, usagef("--%s %q is no time: expected an age such as 90m, 48h or 7d, a day such as 2026-02-05, or 2026-02-05T14:30:00Z", flag, given)
}
