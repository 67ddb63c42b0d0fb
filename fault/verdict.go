package fault

import (
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// Scope says what has to be repeated for a retry to be safe. See [Verdict.Retryable]
// for what it rules out.
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
	Page       bool // page the platform's operator
}

// notIdempotent is what [NotIdempotent] says. No code has it as its condition.
const notIdempotent recoup.Condition = "not_idempotent"

// NotIdempotent is passed among the proven conditions by a caller whose work must not
// be done twice and has no idempotency key: a failure that may have taken effect is
// then not retryable. Without it, the work is taken to be safe to repeat.
func NotIdempotent() recoup.Condition { return notIdempotent }

// Retryable reports whether the work may be retried, given the conditions that the
// caller has proven. A conditional code needs its condition; for all others the class
// decides (see [Definition.Retryable]). What may have taken effect already
// ([ScopeIdempotentOnly]) is not retryable if the caller passes [NotIdempotent] without
// recoup.ConditionIdempotencyKey.
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

// ForRetry returns v as package retry takes it.
func (v Verdict) ForRetry(proven ...recoup.Condition) retry.Failure {
	return retry.Failure{Code: v.Code, Retryable: v.Retryable(proven...), RetryAfter: v.RetryAfter}
}

// Wrap returns the verdict as an [*Error]: its code, its details and its Retry-After,
// with a message for the caller. The cause stays off the wire, as with [Wrap]. Details
// are safe to show: codes, numbers and words of this package, and what the caller's
// own [Redact] let through.
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
