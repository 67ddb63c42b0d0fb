package fault

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"

	"recoup"
	"recoup/retry"
)

// ClassifyResponse says what another system's answer means: its status, its
// Retry-After in either form, and the error word in a JSON body, which is more
// precise than the status and beats it. A status below 400 is no failure. For
// the answers of a Recoup-style API use [Decode], which keeps their message.
//
// now is compared with a Retry-After that is a date. A body of more than 64 KiB
// is not looked at; only words that are known here reach the verdict.
func ClassifyResponse(status int, header http.Header, body []byte, now time.Time) Verdict {
	h := readHint(body)
	return ofAnswer(status, h).annotated(status, header, h, now)
}

// ofAnswer is the verdict of status and body. It pages nobody: what went wrong,
// went wrong elsewhere.
func ofAnswer(status int, h hint) Verdict {
	if status < 400 {
		return Verdict{}
	}
	v := ofStatus(status)
	if code, word := h.code(); code != "" {
		v = of(code).with("provider_error", word)
	}
	v.Page = false
	return v
}

// annotated adds what an answer says beside its error to the verdict on it.
func (v Verdict) annotated(status int, header http.Header, h hint, now time.Time) Verdict {
	if v.Code == "" {
		return Verdict{}
	}
	after, ok := retry.ParseRetryAfter(header.Get("Retry-After"), now)
	if !ok {
		after = h.retryAfter
	}
	v.RetryAfter = after
	return v.with("upstream_status", status)
}

// ofStatus goes by the status alone.
func ofStatus(status int) Verdict {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired:
		return of(CodeAuthDenied)
	case http.StatusNotFound:
		return of(CodeArtifactNotFound)
	case http.StatusMethodNotAllowed:
		return of(CodeMethodNotAllowed)
	case http.StatusRequestTimeout: // the server tired of waiting for the request, so it did nothing
		return of(CodeNetworkTimeout).scoped(ScopeRequest)
	case http.StatusConflict, http.StatusLocked:
		return of(CodeConflict)
	case http.StatusGone:
		return of(CodeDestinationGone)
	case http.StatusPreconditionFailed:
		return of(CodeStaleRead)
	case http.StatusRequestEntityTooLarge:
		return of(CodePayloadTooLarge)
	case http.StatusUnsupportedMediaType:
		return of(CodeUnsupportedContentType)
	case http.StatusTooEarly, http.StatusServiceUnavailable:
		return of(CodeTemporaryUnavailable)
	case http.StatusTooManyRequests:
		return of(CodeRateLimitExceeded)
	case http.StatusUnavailableForLegalReasons:
		return of(CodeContentRejected)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return of(CodeExternalAPIChanged)
	case http.StatusGatewayTimeout:
		return of(CodeExternalServiceTimeout)
	case statusOverloaded:
		return of(CodeServiceOverloaded)
	}
	switch {
	case status < 500:
		return of(CodeValidationError)
	case status < 600:
		return of(CodeUpstreamError)
	}
	return of(CodeExternalServiceError).fatal() // no status of HTTP: nobody knows what it means
}

// statusOverloaded is not registered, and widely used.
const statusOverloaded = 529

// codeOfWord knows the words that providers use for what went wrong.
func codeOfWord(word string) recoup.Code {
	switch word {
	case "rate_limit_exceeded", "rate_limit_error", "rate_limited", "ratelimited", "too_many_requests", "throttled", "resource_exhausted":
		return CodeRateLimitExceeded
	case "insufficient_quota", "quota_exceeded", "insufficient_credits":
		return CodeQuotaExceeded
	case "overloaded", "overloaded_error", "engine_overloaded":
		return CodeServiceOverloaded
	case "internal_error", "internal_server_error", "server_error", "api_error":
		return CodeUpstreamError
	case "service_maintenance", "maintenance", "service_unavailable", "unavailable":
		return CodeTemporaryUnavailable
	case "timeout", "timeout_error", "deadline_exceeded":
		return CodeExternalServiceTimeout
	case "invalid_api_key", "authentication_error", "invalid_token", "unauthorized", "unauthenticated",
		"permission_denied", "permission_error", "access_denied", "forbidden":
		return CodeAuthDenied
	case "token_expired", "expired_token":
		return CodeTokenExpired
	case "content_policy_violation", "content_filter", "moderation_blocked":
		return CodeContentRejected
	case "schema_mismatch", "schema_invalid":
		return CodeSchemaInvalid
	case "version_conflict":
		return CodeVersionConflict
	}
	return ""
}

// hint is what the body of an error answer says in words.
type hint struct {
	words      []string // normalised, the most telling first
	registered recoup.Code
	retryAfter time.Duration
}

// code returns the code that the body names or means, and the word that says so.
func (h hint) code() (recoup.Code, string) {
	if h.registered != "" {
		return h.registered, ""
	}
	for _, word := range h.words {
		if code := codeOfWord(word); code != "" {
			return code, word
		}
	}
	return "", ""
}

// readHint looks where providers put their error words: in error_code, in
// error if that is a word, in code, status and type of an error object, and in
// the same members of the body itself.
func readHint(body []byte) hint {
	var h hint
	var outer, inner map[string]json.RawMessage
	if len(body) > maxErrorBody || json.Unmarshal(body, &outer) != nil {
		return h
	}
	if name, ok := textOf(outer["error_code"]); ok {
		if def, _, err := Default().Fold(name); err == nil && def != Default().unregistered {
			h.registered = def.Code
		}
	}
	var seconds int64
	if json.Unmarshal(outer["retry_after"], &seconds) == nil {
		h.retryAfter = min(fromSeconds(seconds), retry.MaxRetryAfter)
	}
	if json.Unmarshal(outer["error"], &inner) != nil {
		inner = nil // it is a word, or not there
	}
	for _, raw := range []json.RawMessage{
		outer["error"], inner["code"], inner["status"], inner["type"],
		outer["error_code"], outer["code"], outer["status"], outer["type"],
	} {
		if text, ok := textOf(raw); ok {
			if word := normalise(text); word != "" {
				h.words = append(h.words, word)
			}
		}
	}
	return h
}

func textOf(raw json.RawMessage) (string, bool) {
	var text string
	err := json.Unmarshal(raw, &text)
	return text, err == nil && text != ""
}

// normalise makes a word of what providers write: "Insufficient credits." is
// insufficient_credits. What is too long to be a word is none.
func normalise(text string) string {
	if len(text) > recoup.MaxCodeLength {
		return ""
	}
	return strings.Trim(strings.Map(func(r rune) rune {
		switch {
		case r >= 'a' && r <= 'z' || r >= '0' && r <= '9':
			return r
		case r >= 'A' && r <= 'Z':
			return r + ('a' - 'A')
		}
		return '_'
	}, text), "_")
}
