package fault

import (
	"encoding/json"
	"net/http"
	"strings"
	"time"
	"unicode"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// ClassifyResponse says what another system's answer means: its status, its
// Retry-After in either form, and the error word in a JSON body, which is more
// precise than the status and beats it, except that a status which refuses for
// good (401 to 403, 407, 501, 505) yields only to a limit or to another word that is
// final. A status below 400 is no failure. For the answers of a Recoup-style API
// use [Decode], which keeps their message.
//
// now is compared with a Retry-After that is a date. A body of more than 64 KiB
// is not looked at; only words that are known here reach the verdict.
func ClassifyResponse(status int, header http.Header, body []byte, now time.Time) Verdict {
	return Default().ClassifyResponse(status, header, body, now)
}

// ClassifyResponse is [ClassifyResponse] for programs with codes of their own.
func (r *Registry) ClassifyResponse(status int, header http.Header, body []byte, now time.Time) Verdict {
	h := r.readHint(body)
	return r.ofAnswer(status, h).annotated(status, header, h, now)
}

// ofAnswer is the verdict of status and body. It pages nobody: the fault is the other
// system's.
func (r *Registry) ofAnswer(status int, h hint) Verdict {
	if status < 400 {
		return Verdict{}
	}
	v := r.ofStatus(status)
	if code, word := h.code(); code != "" {
		if named := r.of(code); !v.final() || named.believable() {
			v = named.with("provider_error", word)
		}
	}
	v.Page = false
	return v
}

// final reports whether a status refuses for good, so that a retry does not help:
// the caller is not allowed in, or the feature does not exist.
func (v Verdict) final() bool {
	return v.Code == CodeAuthDenied || v.Code == CodeExternalAPIChanged
}

// believable reports whether a body may overrule a final status with v: with another
// final code, or with a rate limit, since many services answer that with 403.
func (v Verdict) believable() bool {
	return v.Class == recoup.ClassFatal || v.Code == CodeRateLimitExceeded || v.Code == CodeQuotaExceeded
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
func (r *Registry) ofStatus(status int) Verdict {
	switch status {
	case http.StatusUnauthorized, http.StatusPaymentRequired, http.StatusForbidden, http.StatusProxyAuthRequired:
		return r.of(CodeAuthDenied)
	case http.StatusNotFound:
		return r.of(CodeArtifactNotFound)
	case http.StatusMethodNotAllowed:
		return r.of(CodeMethodNotAllowed)
	case http.StatusRequestTimeout: // the server gave up reading the request, so it did nothing
		return r.of(CodeNetworkTimeout).scoped(ScopeRequest)
	case http.StatusConflict, http.StatusLocked:
		return r.of(CodeConflict)
	case http.StatusGone:
		return r.of(CodeDestinationGone)
	case http.StatusPreconditionFailed:
		return r.of(CodeStaleRead)
	case http.StatusRequestEntityTooLarge:
		return r.of(CodePayloadTooLarge)
	case http.StatusUnsupportedMediaType:
		return r.of(CodeUnsupportedContentType)
	case http.StatusTooEarly, http.StatusServiceUnavailable:
		return r.of(CodeTemporaryUnavailable)
	case http.StatusTooManyRequests:
		return r.of(CodeRateLimitExceeded)
	case http.StatusUnavailableForLegalReasons:
		return r.of(CodeContentRejected)
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported: // it cannot, and will not be able to in a minute
		return r.of(CodeExternalAPIChanged)
	case http.StatusGatewayTimeout:
		return r.of(CodeExternalServiceTimeout)
	case statusOverloaded:
		return r.of(CodeServiceOverloaded)
	}
	switch {
	case status < 500:
		return r.of(CodeValidationError)
	case status < 600:
		return r.of(CodeUpstreamError)
	}
	return r.of(CodeExternalServiceError).fatal() // not an HTTP status
}

// statusOverloaded is not registered with IANA, but widely used.
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
	words      []string // normalised, the most specific first
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
func (r *Registry) readHint(body []byte) hint {
	var h hint
	var outer, inner map[string]json.RawMessage
	if len(body) > maxErrorBody || json.Unmarshal(body, &outer) != nil {
		return h
	}
	if name, ok := textOf(outer["error_code"]); ok {
		if def, _, err := r.Fold(name); err == nil && def != r.unregistered {
			h.registered = def.Code
		}
	}
	var wait seconds
	if json.Unmarshal(outer["retry_after"], &wait) == nil {
		h.retryAfter = min(wait.duration(), retry.MaxRetryAfter)
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

// wordsOf returns the words in a message of a provider: the message as a whole, then its
// parts between punctuation marks, then the names joined by an underscore in it. A single
// word within a sentence says nothing about the failure.
func wordsOf(message string) []string {
	parts := append([]string{message}, strings.FieldsFunc(message, func(r rune) bool { return strings.ContainsRune(".,:;!()[]{}\"'`=\n", r) })...)
	for _, token := range strings.FieldsFunc(message, func(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }) {
		if strings.Contains(token, "_") {
			parts = append(parts, token)
		}
	}
	var words []string
	for _, part := range parts {
		if word := normalise(part); word != "" {
			words = append(words, word)
		}
	}
	return words
}
