package simulation

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// maxProblems is how many bad lines are listed before reading stops: more would
// only say the same.
const maxProblems = 20

// maxLine is the longest line of a history, in bytes.
const maxLine = 1 << 20

// HistoryError lists the lines of a history that cannot be used.
type HistoryError struct{ Problems []LineProblem }

// LineProblem is what is wrong with one line.
type LineProblem struct {
	Line    int
	Message string
}

// Error writes one problem a line.
func (e *HistoryError) Error() string {
	lines := make([]string, len(e.Problems))
	for i, p := range e.Problems {
		lines[i] = fmt.Sprintf("line %d: %s", p.Line, p.Message)
	}
	return strings.Join(lines, "\n")
}

// line is one failure as a history writes it. Other fields are not looked at, so
// that exports can be used as they are.
type line struct {
	TS         time.Time       `json:"ts"`
	Table      string          `json:"table"`
	EntityID   string          `json:"entity_id"`
	Code       string          `json:"code"`
	Severity   recoup.Severity `json:"severity"`
	RetryAfter float64         `json:"retry_after"` // seconds
}

// ReadHistory reads failures as NDJSON, one object a line, in any order; they
// come back in the order of time. A *[HistoryError] lists the lines that cannot
// be used, and then nothing is returned: half a history would mislead.
func ReadHistory(r io.Reader) ([]Failure, error) {
	scanner := bufio.NewScanner(r)
	scanner.Buffer(nil, maxLine)
	var history []Failure
	var bad HistoryError
	n := 0
	for scanner.Scan() && len(bad.Problems) < maxProblems {
		n++
		text := strings.TrimSpace(scanner.Text())
		if text == "" {
			continue
		}
		f, err := parseLine(text)
		if err != nil {
			bad.Problems = append(bad.Problems, LineProblem{n, err.Error()})
			continue
		}
		history = append(history, f)
	}
	switch err := scanner.Err(); {
	case errors.Is(err, bufio.ErrTooLong):
		bad.Problems = append(bad.Problems, LineProblem{n + 1, fmt.Sprintf("longer than %d bytes", maxLine)})
	case err != nil:
		return nil, fmt.Errorf("read history: %w", err)
	}
	if len(bad.Problems) > 0 {
		return nil, &bad
	}
	slices.SortStableFunc(history, byTime)
	return history, nil
}

func parseLine(text string) (Failure, error) {
	var l line
	if err := json.Unmarshal([]byte(text), &l); err != nil {
		return Failure{}, explain(err)
	}
	l.Severity = recoup.Severity(strings.ToUpper(string(l.Severity)))
	code, err := recoup.ParseCode(l.Code)
	switch {
	case l.TS.IsZero():
		return Failure{}, errors.New("ts is missing: expected a time such as 2026-02-02T09:00:00Z")
	case l.Table == "":
		return Failure{}, errors.New("table is missing: expected an error table such as app.errors")
	case err != nil:
		return Failure{}, err
	case !l.Severity.Valid():
		return Failure{}, fmt.Errorf("severity is %q: expected CRITICAL, HIGH, MEDIUM, LOW or none", l.Severity)
	case !(l.RetryAfter >= 0 && l.RetryAfter <= math.MaxInt32):
		return Failure{}, fmt.Errorf("retry_after is %v: expected a number of seconds from 0 up", l.RetryAfter)
	}
	return Failure{
		At: l.TS.UTC(), Table: l.Table, EntityID: l.EntityID, Code: code, Severity: l.Severity,
		RetryAfter: time.Duration(l.RetryAfter * float64(time.Second)),
	}, nil
}

// explain says what is wrong with a line in the words of whoever wrote it.
func explain(err error) error {
	var kind *json.UnmarshalTypeError
	var syntax *json.SyntaxError
	var stamp *time.ParseError
	switch {
	case errors.As(err, &kind) && kind.Field != "":
		return fmt.Errorf("%s is a %s: expected a %s", kind.Field, kind.Value, kind.Type)
	case errors.As(err, &kind):
		return fmt.Errorf("a %s: expected an object", kind.Value)
	case errors.As(err, &stamp):
		return fmt.Errorf("ts is %q: expected a time such as 2026-02-02T09:00:00Z", stamp.Value)
	case errors.As(err, &syntax):
		return fmt.Errorf("not JSON at character %d: %w", syntax.Offset, err)
	}
	return err
}
