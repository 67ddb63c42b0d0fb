package command

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
)

// instantForms are the forms of a time, of which all but the first are in UTC.
var instantForms = []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04", "2006-01-02 15:04", time.DateOnly}

// ParseInstant reads a time, or an age such as 48h, counted back from now.
// Nothing given is no time.
func ParseInstant(flag, given string, now time.Time) (time.Time, error) {
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
	return time.Time{}, Usagef("--%s %q is not a time: expected an age such as 90m, 48h or 7d, a day such as 2026-02-05, or 2026-02-05T14:30:00Z", flag, given)
}

// Span reads the flags of a stretch of time, of which either may be empty.
func Span(now time.Time, from, given, to, until string) (begin, end time.Time, err error) {
	if begin, err = ParseInstant(from, given, now); err == nil {
		end, err = ParseInstant(to, until, now)
	}
	return begin, end, err
}

// ParseEnd reads when something ends: at a time, or so long from now on.
func ParseEnd(last, until string, now time.Time) (time.Time, error) {
	switch {
	case (last == "") == (until == ""):
		return time.Time{}, Usagef("expected one of --for and --until")
	case last != "":
		d, err := policy.ParseDuration(last)
		if err != nil || d <= 0 {
			return time.Time{}, Usagef("--for %q is not a duration: expected one such as 90m, 48h or 7d", last)
		}
		return now.Add(d).UTC(), nil
	}
	return ParseInstant("until", until, now)
}
