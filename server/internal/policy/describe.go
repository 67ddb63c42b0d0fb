package policy

import (
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// DescribeSchedule says in words how long the waits of a schedule are.
func DescribeSchedule(s retry.Schedule) string {
	var b strings.Builder
	switch s.Kind {
	case retry.Exponential:
		fmt.Fprintf(&b, "%s, then × %g", FormatDuration(s.Base), s.Multiplier)
	case retry.Linear:
		fmt.Fprintf(&b, "%s, then %s more each time", FormatDuration(s.Base), FormatDuration(s.Base))
	case retry.Fixed:
		steps := make([]string, len(s.Steps))
		for i, step := range s.Steps {
			steps[i] = FormatDuration(step)
		}
		b.WriteString(strings.Join(steps, ", "))
	default:
		return "by hand only"
	}
	if s.Cap > 0 {
		fmt.Fprintf(&b, ", at most %s", FormatDuration(s.Cap))
	}
	switch s.Jitter {
	case retry.Full:
		b.WriteString(", full jitter")
	case retry.Additive:
		b.WriteString(", up to 10% added")
	}
	return b.String()
}

// DescribeTTL writes a tier with its length: "MEDIUM, 30d" or "INFINITE, never".
func DescribeTTL(tier string, ttl time.Duration) string {
	if ttl == 0 {
		return tier + ", never"
	}
	return tier + ", " + FormatDuration(ttl)
}

// DescribeSource says in words what becomes of the rows of an adopted table; empty: they
// are kept, and nothing of them but what is mapped.
func (t *Table) DescribeSource() string {
	var parts []string
	if list := t.Source.Details; len(list) > 0 {
		parts = append(parts, "keeps "+strings.Join(list, ", ")+" with the error, redacted")
	}
	if list := t.Source.Encrypted; len(list) > 0 {
		parts = append(parts, "keeps "+strings.Join(list, ", ")+" with the error, encrypted")
	}
	if t.Source.DeadLetters {
		parts = append(parts, "makes dead letters of a queue's jobs when their errors are parked")
	}
	switch t.Source.AtEnd {
	case wire.SourceMove:
		parts = append(parts, "moves the row with its error into the archive")
	case wire.SourceDelete:
		parts = append(parts, "deletes the row when the archive has kept its error for "+FormatDuration(t.Retention))
	}
	return strings.Join(parts, "; ")
}

// describe writes the value that a step has set.
func (s step) describe() string {
	e := s.answer
	switch s.field {
	case fieldTable:
		return e.Table.Name
	case fieldAction:
		return string(e.Action)
	case fieldReason:
		return string(e.ParkReason)
	case fieldTTL:
		return DescribeTTL(e.TTLTier, e.TTL)
	case fieldRetries:
		if e.Manual {
			return fmt.Sprintf("%d, by hand", e.MaxRetries)
		}
		return fmt.Sprint(e.MaxRetries)
	case fieldSchedule:
		return DescribeSchedule(e.Schedule)
	case fieldFloor:
		return FormatDuration(e.Floor)
	case fieldWindow:
		if e.Window == 0 {
			return "none"
		}
		return FormatDuration(e.Window)
	case fieldFamily:
		return fmt.Sprintf("%s, parks at failure %d", e.Family.Name, e.Family.After)
	case fieldBlocks:
		return yesNo(e.Blocks)
	case fieldNotify:
		return yesNo(e.NotifyOwner)
	}
	return yesNo(e.Page)
}

func yesNo(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}
