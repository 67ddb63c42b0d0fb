package recoup

import (
	"fmt"
	"time"
)

// StageFailure is work that a stage could not finish (spec 002, 8.4): what a runner
// returns, what a worker sends, and what a dead letter is made of. Whoever makes one
// redacts it: its stack holds no secret, and its context has allowed keys only. The
// server redacts it again.
type StageFailure struct {
	WorkID         ID             `json:"work_id,omitzero" doc:"the work that failed; leave it out where the path names it"`
	LeaseToken     ID             `json:"lease_token,omitzero" doc:"of work that was claimed"`
	Table          string         `json:"table,omitempty" doc:"of dead letters; default: the policy's first"`
	EntityID       string         `json:"entity_id,omitempty" doc:"what cannot go on because of it; of work that was submitted with one it is known"`
	Pipeline       string         `json:"pipeline,omitempty" doc:"of claimed work it is known" example:"criticizer"`
	Stage          string         `json:"stage" doc:"the one that failed" example:"llm"`
	Class          Code           `json:"error_class" doc:"the kind of failure, in either case, or an alias" example:"NETWORK_TIMEOUT"`
	Exhausted      bool           `json:"exhausted,omitempty" doc:"its last failure could be retried, and its budget is spent"`
	Final          bool           `json:"final,omitempty" doc:"of claimed work: dead-letter it at once, whatever its class says: the stage was retried where it ran, or must not be run again"`
	RetryAfter     int            `json:"retry_after,omitempty" minimum:"0" maximum:"31536000" doc:"of claimed work that is retried: seconds that the failing side asked to wait; the policy's stages.retry_after_ceiling bounds it"`
	LastStack      string         `json:"last_stack" doc:"the stack or the chain of errors, or none where there is no stack; secrets in it are replaced before it is stored"`
	Context        map[string]any `json:"sanitized_context" doc:"attempts by stage, which the server counts for claimed work, ids, counts, states and truncated hashes; keys that are not allowed are left out"`
	FirstFailureAt time.Time      `json:"first_failure_at,omitzero" required:"true" doc:"of the stage, in this run"`
	LastFailureAt  time.Time      `json:"last_failure_at,omitzero" required:"true" doc:"of the stage: the last time"`
	PayloadRef     string         `json:"payload_ref,omitempty" doc:"where the payload can be found again"`
	PayloadHash    string         `json:"payload_hash,omitempty" doc:"a hash of the payload, in hexadecimal or base64url; its first 16 digits or 20 characters are kept"`
	Payload        []byte         `json:"payload,omitempty" doc:"base64, at most 256 KiB; kept encrypted"`

	Err error `json:"-"` // the last failure, as the stage returned it
}

func (f *StageFailure) Error() string {
	why := "cannot be retried"
	if f.Exhausted {
		why = "has no attempt left"
	}
	return fmt.Sprintf("stage %s of %s %s: %s", f.Stage, f.Pipeline, why, f.Class)
}

// Unwrap returns the last failure.
func (f *StageFailure) Unwrap() error { return f.Err }
