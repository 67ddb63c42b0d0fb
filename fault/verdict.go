package fault

import (
	"maps"
	"slices"
	"time"

	"recoup"
	"recoup/retry"
)

// Scope says what has to be repeated for a retry to be safe. It is the caveat of a
// verdict: see [Verdict.Retryable] for what it forbids.
type Scope string

// The scopes.
const (
	ScopeRequest        Scope = "request"         // nothing was done: the failed call alone may be repeated
	ScopeTransaction    Scope = "transaction"     // all of it was rolled back: begin again at its first statement
	ScopeIdempotentOnly Scope = "idempotent_only" // it may have been done: repeat only what is idempotent
)

// Verdict is what classification says of one failure. Its class is that of the
// registry, or a stricter one where this occurrence is known to be worse.
// The zero Verdict means that there was no failure.
type Verdict struct {
	Code       recoup.Code
	Class      recoup.Class
	Condition  recoup.Condition
	Scope      Scope
	RetryAfter time.Duration
	Details    map[string]any
	Page       bool // wake the platform's operator
}

// notIdempotent is what [NotIdempotent] says. No code has it as its condition.
const notIdempotent recoup.Condition = "not_idempotent"

// NotIdempotent is said, among what is proven, by a caller whose work must not be
// done twice and carries no idempotency key: what may have happened already is then
// not repeated. Whoever retries without saying so has declared that it may be.
func NotIdempotent() recoup.Condition { return notIdempotent }

// Retryable reports whether the work may be tried again, given the conditions
// that the caller has proven. A conditional code needs its condition. All others are
// retryable as their class says (see [Definition.Retryable]); only what may have
// been done already ([ScopeIdempotentOnly]) is refused to those who say
// [NotIdempotent] and have no idempotency key, recoup.ConditionIdempotencyKey.
func (v Verdict) Retryable(proven ...recoup.Condition) bool {
	if v.Scope == ScopeIdempotentOnly && slices.Contains(proven, notIdempotent) && !slices.Contains(proven, recoup.ConditionIdempotencyKey) {
		return false
	}
	switch v.Class {
	case recoup.ClassImmediate, recoup.ClassShortDelay, recoup.ClassLongDelay:
		return true
	case recoup.ClassConditional:
		return slices.Contains(proven, v.Condition)
	}
	return false
}

// ForRetry puts v into the words of package retry.
func (v Verdict) ForRetry(proven ...recoup.Condition) retry.Failure {
	return retry.Failure{Code: v.Code, Retryable: v.Retryable(proven...), RetryAfter: v.RetryAfter}
}

// Wrap returns what the verdict says as an error of the contract: its code, its
// details and its wait, with a message for the person at the other end. The
// cause stays off the wire, as with [Wrap]. Details are safe to show: codes,
// numbers and words of this package, and what the caller's own [Redact] let
// through.
func (v Verdict) Wrap(cause error, format string, args ...any) *Error {
	e := Wrap(cause, v.Code, format, args...)
	e.Details, e.RetryAfter = maps.Clone(v.Details), v.RetryAfter
	return e
}

// of is the verdict of a code of which nothing else is known.
func (r *Registry) of(code recoup.Code) Verdict { return ofDefinition(r.define(code)) }

// ofDefinition adds to what a code means whether repeating is safe. Of a code
// that no registry knows nobody has said so: it is not repeated.
func ofDefinition(def *Definition) Verdict {
	v := Verdict{Code: def.Code, Class: def.Class, Condition: def.Condition, Scope: def.scope(), Page: def.Page}
	if def.Code == CodeUnregisteredCode {
		v = v.fatal()
	}
	return v
}

// with adds a detail, unless it is the empty text.
func (v Verdict) with(key string, value any) Verdict {
	if value == "" {
		return v
	}
	if v.Details == nil {
		v.Details = make(map[string]any, 1)
	}
	v.Details[key] = value
	return v
}

func (v Verdict) scoped(s Scope) Verdict {
	v.Scope = s
	return v
}

// fatal makes v stricter than its code. What is never repeated has no wider
// scope than the request.
func (v Verdict) fatal() Verdict {
	v.Class, v.Condition, v.Scope = recoup.ClassFatal, recoup.ConditionNone, ScopeRequest
	return v
}
