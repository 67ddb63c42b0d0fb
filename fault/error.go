package fault

import (
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"time"

	"recoup"
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

	cause error
	def   *Definition
}

// New returns an error of a code with a message for the person at the other end.
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

// Error returns the code, the message and the cause. It is meant for logs.
func (e *Error) Error() string {
	s := string(e.Code) + ": " + e.Message
	if e.cause != nil {
		s += ": " + e.cause.Error()
	}
	return s
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.cause }

// Is reports whether target is an [*Error] of the same code, so that
// errors.Is(err, fault.New(fault.CodeSlotConflict, "")) asks for the code alone.
func (e *Error) Is(target error) bool {
	other, ok := target.(*Error)
	return ok && other.Code == e.Code
}

// Definition returns what is registered about the error's code: in the registry
// that made or decoded it, else in the default one. It is never nil.
func (e *Error) Definition() *Definition {
	if e.def != nil {
		return e.def
	}
	return Default().define(e.Code)
}

// Retryable reports whether trying again can succeed without a change. A
// conditional code is retryable only where the caller has proven its condition.
func (e *Error) Retryable(proven bool) bool { return e.Definition().Retryable(proven) }

// wireError is the JSON of an [Error], in the order of spec 001.
type wireError struct {
	Code             recoup.Code    `json:"error_code"`
	Message          string         `json:"message"`
	Details          map[string]any `json:"details,omitempty"`
	RequestID        string         `json:"request_id"`
	Timestamp        time.Time      `json:"timestamp,omitzero"`
	RetryAfter       int64          `json:"retry_after,omitempty"`
	DocumentationURL string         `json:"documentation_url,omitempty"`
}

// MarshalJSON writes the shape of spec 001.
func (e *Error) MarshalJSON() ([]byte, error) { return json.Marshal(e.wire()) }

// UnmarshalJSON reads the shape of spec 001. The code must be well formed;
// whether it is registered is not asked.
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
		Timestamp: w.Timestamp, RetryAfter: fromSeconds(w.RetryAfter), DocumentationURL: w.DocumentationURL,
	}
	return nil
}

func (e *Error) wire() wireError {
	return wireError{
		Code: e.Code, Message: e.Message, Details: e.Details, RequestID: e.RequestID,
		Timestamp: e.Timestamp.UTC().Truncate(time.Millisecond), RetryAfter: toSeconds(e.RetryAfter), DocumentationURL: e.DocumentationURL,
	}
}

// toSeconds rounds up, because a caller that comes back early is refused again.
func toSeconds(d time.Duration) int64 {
	return int64(math.Ceil(max(d, 0).Seconds()))
}

// fromSeconds keeps a hostile number from overflowing into the past.
func fromSeconds(s int64) time.Duration {
	const most = math.MaxInt64 / int64(time.Second)
	return time.Duration(min(max(s, 0), most)) * time.Second
}
