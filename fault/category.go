package fault

import "github.com/recoup-dev/recoup"

// StageCategory is a row of spec 002, 8.1: a kind of failure of a stage, the
// codes it appears under, and what is to be done about it.
type StageCategory struct {
	Name      string
	Codes     []recoup.Code
	Retryable bool             // automatic retries are allowed, as far as Scope and Condition go
	Scope     Scope            // of retryable ones: the narrowest of its codes; a [Verdict] knows which applies
	Condition recoup.Condition // of retryable ones: what must be proven first
	Page      bool             // the platform's operator is paged
	Escalate  bool             // parked for a person to review
	Note      string
}

// StageCategories returns the rows of spec 002, 8.1 in their order.
func StageCategories() []StageCategory {
	return []StageCategory{
		{
			Name: "network_transient", Retryable: true, Scope: ScopeIdempotentOnly,
			Codes: []recoup.Code{CodeDNSTimeout, CodeNetworkTimeout, CodeConnectionReset, CodeTemporaryUnavailable, CodeExternalServiceTimeout},
			Note:  "Back off exponentially, with jitter. What may have arrived is not repeated where it must not be done twice.",
		}, {
			Name: "rate_limit", Retryable: true, Scope: ScopeRequest,
			Codes: []recoup.Code{CodeRateLimitExceeded, CodeQuotaExceeded, CodeServiceOverloaded},
			Note:  "Wait as long as Retry-After asks; without it, back off.",
		}, {
			Name: "upstream_internal", Retryable: true, Scope: ScopeIdempotentOnly,
			Codes: []recoup.Code{CodeUpstreamError, CodeInternalError, CodeExternalServiceError},
			Note:  "Retry while attempts are left, unless it must not be done twice.",
		}, {
			Name: "conflict", Retryable: true, Scope: ScopeIdempotentOnly, Condition: recoup.ConditionIdempotencyKey,
			Codes: []recoup.Code{CodeDuplicateWrite, CodeVersionConflict, CodeStaleRead},
			Note:  "Retry only what is idempotent.",
		}, {
			Name:  "validation",
			Codes: []recoup.Code{CodeValidationError, CodeMissingRequiredField, CodeMalformedJSON, CodeSchemaInvalid},
			Note:  "Correct the data before a replay.",
		}, {
			Name:  "auth",
			Codes: []recoup.Code{CodeAuthDenied, CodeInvalidAPIKey, CodeTokenExpired, CodeInsufficientPermissions},
			Note:  "Fix the credential or the permission before a replay.",
		}, {
			Name:  "permanent_state",
			Codes: []recoup.Code{CodeArtifactNotFound, CodeDestinationGone},
			Note:  "Nothing changes until someone corrects the reference.",
		}, {
			Name: "content_reject", Escalate: true,
			Codes: []recoup.Code{CodeContentRejected, CodeBusinessRuleViolation},
			Note:  "An operator looks at a reject that nobody expected.",
		}, {
			Name: "bug", Page: true,
			Codes: []recoup.Code{CodeRuntimeBug, CodeConfigurationError},
			Note:  "Page the operator, and replay only after a fix.",
		},
	}
}
