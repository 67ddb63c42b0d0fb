package fault

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/recoup-dev/recoup"
)

// Error is a failure in the shape of spec 001. Code, Message and RequestID are
// what every response carries; the middleware fills in RequestID, Timestamp
// and DocumentationURL where a handler left them out.
//
// It may wrap the error that caused it, for logs and errors.Is; the cause is
// never written to the wire.
type Error struct {
	Code             recoup.Code
	Message          string
	Details          map[string]any
	RequestID        string
	Timestamp        time.Time
	RetryAfter       time.Duration // whole seconds on the wire, rounded up
	DocumentationURL string

	// Status is the HTTP status: of the response it was decoded from, or the
	// one to send instead of the registry's. It is not part of the body.
	Status int

	cause   error
	def     *Definition
	foreign bool // decoded from another program's answer: see [Decode]
}

// New returns an error with a code and a message for the caller.
func New(code recoup.Code, format string, args ...any) *Error {
	return &Error{Code: code, Message: fmt.Sprintf(format, args...)}
}

// Wrap is [New] with the error that caused it. The cause reaches errors.Is,
// errors.As and logs; callers see only the message.
func Wrap(cause error, code recoup.Code, format string, args ...any) *Error {
	e := New(code, format, args...)
	e.cause = cause
	return e
}

// With returns a copy of e with one more detail.
func (e *Error) With(key string, value any) *Error {
	next := *e
	next.Details = make(map[string]any, len(e.Details)+1)
	maps.Copy(next.Details, e.Details)
	next.Details[key] = value
	return &next
}

// After returns a copy of e that asks the caller to wait.
func (e *Error) After(d time.Duration) *Error {
	next := *e
	next.RetryAfter = d
	return &next
}

// Error returns the code, the message and the cause. It is meant for logs, so it
// survives a nil e and a cause that panics.
func (e *Error) Error() string {
	if e == nil {
		return "<nil>"
	}
	s := string(e.Code) + ": " + e.Message
	if e.cause != nil {
		s += ": " + fmt.Sprint(e.cause)
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error {
	if e == nil {
		return nil
	}
	return e.cause
}

// Is reports whether target is an [*Error] of the same code, so that
// errors.Is(err, fault.New(fault.CodeSlotConflict, "")) asks for the code alone.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && e != nil && other != nil && other.Code == e.Code
}

// Definition returns what is registered about the error's code: in the registry
// that made or decoded it, else in the default one. It is never nil.
func (e *Error) Definition() *Definition {
	if e.def != nil {
		return e.def
	}
	return Default().define(e.Code)
}

// Retryable reports whether trying again can succeed without a change, by its
// code alone; a [Verdict] also knows whether repeating is safe. A conditional
// code is retryable only where the caller has proven its condition.
func (e *Error) Retryable(proven bool) bool { return e.Definition().Retryable(proven) }

// wireError is the JSON of an [Error], in the order of spec 001.
type wireError struct {
	Code             recoup.Code    `json:"error_code"`
	Message          string         `json:"message"`
	Details          map[string]any `json:"details,omitempty"`
	RequestID        string         `json:"request_id"`
	Timestamp        time.Time      `json:"timestamp,omitzero"`
	RetryAfter       seconds        `json:"retry_after,omitempty"`
	DocumentationURL string         `json:"documentation_url,omitempty"`
}

// MarshalJSON writes the shape of spec 001.
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(e.wire()) }

// UnmarshalJSON reads the shape of spec 001. The code must be well formed;
// it need not be registered. As with [Decode], [Write] does not pass the result on.
func (e *Error) UnmarshalJSON(data []byte) error {
	var w wireError
	if err := json.Unmarshal(data, &w); err != nil {
		return err
	}
	code, err := recoup.ParseCode(string(w.Code))
	if err != nil {
		return fmt.Errorf("error_code: %w", err)
	}
	*e = Error{
		Code: code, Message: w.Message, Details: w.Details, RequestID: w.RequestID,
		Timestamp: calendar(w.Timestamp), RetryAfter: w.RetryAfter.duration(), DocumentationURL: safeLink(w.DocumentationURL),
		foreign: true,
	}
	return nil
}

func (e *Error) wire() wireError {
	return wireError{
		Code: e.Code, Message: e.Message, Details: e.Details, RequestID: e.RequestID,
		Timestamp: calendar(e.Timestamp).Truncate(time.Millisecond), RetryAfter: toSeconds(e.RetryAfter), DocumentationURL: e.DocumentationURL,
	}
}

// calendar returns t in UTC, or the zero time where JSON could not hold it.
func calendar(t time.Time) time.Time {
	t = t.UTC()
	if t.Year() < 1 || t.Year() > 9999 {
		return time.Time{}
	}
	return t
}

// seconds is how long to wait, as JSON and headers write it: whole, rounded up,
// because a caller that comes back early is refused again.
type seconds int64

func toSeconds(d time.Duration) seconds { return ceil(max(d, 0).Seconds()) }

// ceil bounds a hostile number, so that it does not overflow into the past.
func ceil(s float64) seconds { return seconds(math.Ceil(min(max(s, 0), math.MaxInt32))) }

func (s seconds) duration() time.Duration { return time.Duration(s) * time.Second }

// UnmarshalJSON accepts fractions.
func (s *seconds) UnmarshalJSON(data []byte) error {
	var number float64
	err := json.Unmarshal(data, &number)
	*s = ceil(number)
	return err
}
