package fault

import (
	"maps"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// Definition is everything that is registered about one code.
type Definition struct {
	Code        recoup.Code      `json:"code" doc:"its name, in capitals: UPPER_SNAKE_CASE"`
	Domain      string           `json:"domain" doc:"what it is about: request, auth, resource, rate, runtime or data"` // one of [Domains]
	Class       recoup.Class     `json:"class" doc:"immediate, short_delay, long_delay, fatal or conditional: whether and how soon trying again can help"`
	Condition   recoup.Condition `json:"condition,omitempty" doc:"of a conditional code: what must be proven"`
	Proven      recoup.Class     `json:"proven,omitempty" doc:"of a conditional code: its class once that is proven"`
	Repeat      Scope            `json:"repeat,omitempty" doc:"what may be repeated: request, transaction or idempotent_only; default: the request"`
	Category    recoup.Category  `json:"category" doc:"TRANSIENT, OPERATIONAL or STRUCTURAL: which retry schedule an error of it has"`
	Severity    recoup.Severity  `json:"severity" doc:"CRITICAL, HIGH, MEDIUM or LOW"`
	HTTPStatus  int              `json:"http_status" doc:"the status that an answer with it has"`
	Group       string           `json:"group,omitempty" doc:"what alert rules count it as: database or external_service"` // one of [Groups]: what alert rules count
	Page        bool             `json:"page,omitempty" doc:"the platform's operator is paged when it happens"`
	Origin      string           `json:"origin" doc:"where it comes from: a specification, your service, or recoup"`
	Description string           `json:"description" doc:"what it means, in a sentence"`
	Causes      []string         `json:"causes" doc:"what it usually comes from"`
	Resolution  []string         `json:"resolution" doc:"what to do about it"`
	Retry       *RetryPolicy     `json:"retry,omitempty" doc:"how a caller retries its request; default: 3 times, from 1 s on"` // request-level; nil: [DefaultRetryPolicy]
	Related     []recoup.Code    `json:"related,omitempty" doc:"codes that are easily confused with it"`
	Aliases     []recoup.Code    `json:"aliases,omitempty" doc:"other names that mean the same"`
	Example     *Error           `json:"example,omitempty" doc:"an answer that has it"`
}

// RetryPolicy is how a caller's own process retries one request (spec 001,
// Retry Configuration by Error Type). MaxAttempts counts retries after the
// first try: 0 is none.
type RetryPolicy struct {
	MaxAttempts       int     `json:"max_attempts" doc:"retries after the first try; 0: none"`
	BaseDelayMS       int64   `json:"base_delay_ms,omitempty" doc:"the wait before the first retry"`
	MaxDelayMS        int64   `json:"max_delay_ms,omitempty" doc:"the longest wait"`
	BackoffMultiplier float64 `json:"backoff_multiplier,omitempty" doc:"how much longer each wait is than the last"`
	RespectRetryAfter bool    `json:"respect_retry_after,omitempty" doc:"never before retry_after"`
	Fatal             bool    `json:"fatal,omitempty" doc:"it is never retried"`
}

// DefaultRetryPolicy applies to retryable codes that have no row of their own.
func DefaultRetryPolicy() RetryPolicy {
	return RetryPolicy{
		MaxAttempts:       3,
		BaseDelayMS:       time.Second.Milliseconds(),
		MaxDelayMS:        (300 * time.Second).Milliseconds(),
		BackoffMultiplier: 2,
		RespectRetryAfter: true,
	}
}

// BaseDelay is the delay before the first retry.
func (p RetryPolicy) BaseDelay() time.Duration {
	return time.Duration(p.BaseDelayMS) * time.Millisecond
}

// MaxDelay is the longest a retry may wait.
func (p RetryPolicy) MaxDelay() time.Duration { return time.Duration(p.MaxDelayMS) * time.Millisecond }

// Domains lists what a code can be about (spec 003, error_code).
func Domains() []string {
	return []string{"request", "auth", "resource", "rate", "runtime", "data"}
}

// The groups that alert rules count (spec 001, Alert Thresholds).
const (
	GroupDatabase        = "database"
	GroupExternalService = "external_service"
)

// Groups lists every group.
func Groups() []string { return []string{GroupDatabase, GroupExternalService} }

// Effective returns the class to act on: that of a conditional code is Proven if its
// condition is proven, and fatal if not.
func (d *Definition) Effective(proven bool) recoup.Class {
	switch {
	case d.Class != recoup.ClassConditional:
		return d.Class
	case proven:
		return d.Proven
	}
	return recoup.ClassFatal
}

// Retryable reports whether trying again can succeed without a change, by the
// code alone; a [Verdict] also knows whether repeating is safe.
func (d *Definition) Retryable(proven bool) bool {
	return d.Effective(proven) != recoup.ClassFatal
}

// scope is what may be repeated where nothing but the code is known.
func (d *Definition) scope() Scope {
	switch {
	case d.Condition == recoup.ConditionIdempotencyKey:
		return ScopeIdempotentOnly
	case d.Repeat == "":
		return ScopeRequest
	}
	return d.Repeat
}

// clone shares nothing with d that could be changed.
func (d Definition) clone() *Definition {
	d.Causes, d.Resolution = slices.Clone(d.Causes), slices.Clone(d.Resolution)
	d.Related, d.Aliases = slices.Clone(d.Related), slices.Clone(d.Aliases)
	if d.Retry != nil {
		policy := *d.Retry
		d.Retry = &policy
	}
	if d.Example != nil {
		example := *d.Example
		example.Details = maps.Clone(example.Details)
		d.Example = &example
	}
	return &d
}

// RetryPolicy returns the request-level policy to use: none for what is not
// retryable, else the code's own, else the default.
func (d *Definition) RetryPolicy(proven bool) RetryPolicy {
	switch {
	case !d.Retryable(proven):
		return RetryPolicy{Fatal: true}
	case d.Retry == nil:
		return DefaultRetryPolicy()
	}
	p := *d.Retry
	if p.BackoffMultiplier == 0 {
		p.BackoffMultiplier = DefaultRetryPolicy().BackoffMultiplier
	}
	return p
}

// Policy returns the request-level policy of a code in the form that [retry.Do]
// takes. The classifier decides whether a conditional code may be retried at all.
func (r *Registry) Policy(code recoup.Code) retry.Policy {
	p := r.define(code).RetryPolicy(true)
	if p.Fatal || p.MaxAttempts == 0 {
		return retry.Policy{Schedule: retry.Schedule{Kind: retry.None}}
	}
	policy := retry.Policy{
		Schedule: retry.Schedule{
			Kind: retry.Exponential, Base: p.BaseDelay(), Multiplier: p.BackoffMultiplier,
			Cap: p.MaxDelay(), Jitter: retry.Additive,
		},
		MaxRetries: p.MaxAttempts,
		RetryAfter: retry.Ignore,
	}
	if p.RespectRetryAfter {
		policy.RetryAfter = retry.HonourOrGiveUp
	}
	return policy
}
