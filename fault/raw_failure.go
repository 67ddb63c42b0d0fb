package fault

import "github.com/recoup-dev/recoup"

// RawFailure is something that went wrong, as it happened: what a provider or a
// server answered, or what a database said.
type RawFailure struct {
	Provider string            `json:"provider,omitempty" doc:"a registered provider"`
	Status   int               `json:"status,omitempty" doc:"of an HTTP answer: 100 to 599, and up to 999 with a provider"`
	Headers  map[string]string `json:"headers,omitempty" doc:"of an HTTP answer; Retry-After counts"`
	Body     string            `json:"body,omitempty" maxLength:"8192" doc:"of an HTTP answer"`
	SQLState string            `json:"sqlstate,omitempty" doc:"of a database error, with or without a provider"`
	Message  string            `json:"message,omitempty" maxLength:"8192" doc:"of an error of the provider; its words count where neither a status nor a sqlstate decides"`

	Idempotent *bool `json:"idempotent,omitempty" doc:"false: the work must not be done twice, so what may have happened already is not retryable; true: it may, or carries an idempotency key"`
}

// Classified is what a [RawFailure] means.
type Classified struct {
	Code       recoup.Code        `json:"code" doc:"what it is"`
	Retryable  bool               `json:"retryable" doc:"whether trying again can succeed without a change"`
	Conditions []recoup.Condition `json:"conditions,omitempty" doc:"what must be proven before it is retried"`
	Scope      Scope              `json:"scope,omitempty" doc:"what a retry repeats: request, transaction, or idempotent_only if it may have been done already"`
	RetryAfter int                `json:"retry_after,omitempty" doc:"seconds to wait"`
	Details    map[string]any     `json:"details,omitempty" doc:"what else the failure said"`
	Definition Definition         `json:"definition" doc:"all that is registered about the code"`
}
