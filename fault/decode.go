package fault

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// SpeaksHTTPS is the error_type of a TLS_ERROR that is the answer to plain HTTP on a port for HTTPS.
const SpeaksHTTPS = "speaks_https"

// maxErrorBody bounds what is read of an error response.
const maxErrorBody = 64 << 10

// Decode reads the error out of a response: nil if its status is below 400.
// It accepts the shape of spec 001 and problem+json, and makes the best of
// bodies that are neither, such as a proxy's HTML page, whose text it does not
// repeat. It reads at most 64 KiB and leaves closing the body to the caller.
//
// [Write] does not pass a decoded error on to its own caller, because its text was
// meant for this program. To pass it on, [Wrap] it with your own code and message.
//
// A caller that returns the result as an error must compare it with nil first.
func Decode(resp *http.Response) *Error { return Default().Decode(resp) }

// Decode is [Decode] for programs with codes of their own.
func (r *Registry) Decode(resp *http.Response) *Error {
	if resp.StatusCode < 400 {
		return nil
	}
	e := &Error{Status: resp.StatusCode, foreign: true}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.Body != nil {
		data, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBody)) // what arrived before the connection broke may do
		e.fill(data)
		if e.Status == http.StatusBadRequest && speaksHTTPS(data) {
			e.Code, e.Message = CodeTLSError, "This server speaks HTTPS. Use its https:// address."
			e.Details = map[string]any{"error_type": SpeaksHTTPS}
		}
	}
	r.complete(e, media)
	if e.RequestID == "" {
		e.RequestID = resp.Header.Get("X-Request-Id")
	}
	e.RetryAfter = max(e.RetryAfter, retryAfter(resp.Header))
	return e
}

// speaksHTTPS recognises the answers of Go's and of nginx's server to plain HTTP on a port
// for HTTPS. They are no more than this text: there is no TLS yet.
func speaksHTTPS(body []byte) bool {
	return bytes.HasPrefix(body, []byte("Client sent an HTTP request to an HTTPS server.")) ||
		bytes.Contains(body, []byte("The plain HTTP request was sent to HTTPS port"))
}

// complete gives e a code, a definition and a message. Where the body named no code,
// or one that is not registered here, the status decides how it is treated.
func (r *Registry) complete(e *Error, media string) {
	fallback := r.define(codeOfStatus(e.Status))
	def, name, err := r.Fold(string(e.Code))
	switch {
	case err != nil:
		e.Code, e.def = fallback.Code, fallback
	case def.Code != name:
		e.Code, e.def = name, fallback
	default:
		e.Code, e.def = name, def
	}
	if e.Message == "" {
		e.Message = strings.TrimSpace(fmt.Sprintf("The server answered with status %d %s", e.Status, http.StatusText(e.Status)))
		if media != "" {
			e.Message += " and a body of type " + media
		}
		e.Message += "."
	}
}

// loose is what Decode looks for in a body. A member of the wrong type is
// passed over; the rest counts.
type loose struct {
	Code             string         `json:"error_code"`
	Message          string         `json:"message"`
	Details          map[string]any `json:"details"`
	RequestID        string         `json:"request_id"`
	Timestamp        string         `json:"timestamp"`
	RetryAfter       seconds        `json:"retry_after"`
	DocumentationURL string         `json:"documentation_url"`

	Type   string `json:"type"`
	Title  string `json:"title"`
	Detail string `json:"detail"`
}

func (e *Error) fill(data []byte) {
	var body loose
	var wrongType *json.UnmarshalTypeError
	if err := json.Unmarshal(data, &body); err != nil && !errors.As(err, &wrongType) {
		return
	}
	e.Code = recoup.Code(body.Code)
	e.Message = cmp.Or(body.Message, body.Detail, body.Title)
	e.Details = body.Details
	e.RequestID = body.RequestID
	e.RetryAfter = body.RetryAfter.duration()
	e.DocumentationURL = cmp.Or(safeLink(body.DocumentationURL), safeLink(body.Type))
	if ts, err := time.Parse(time.RFC3339, body.Timestamp); err == nil {
		e.Timestamp = calendar(ts)
	}
}

// safeLink returns a link that a page may show: a web address or a path. A body
// could name a script, or a path that a browser takes for another host.
func safeLink(link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil, strings.HasPrefix(link, "//"), strings.Contains(link, `\`):
		return ""
	case u.Scheme == "" && strings.HasPrefix(link, "/"), (u.Scheme == "http" || u.Scheme == "https") && u.Host != "":
		return link
	}
	return ""
}

// retryAfter reads the header. A date is compared with the server's own clock,
// so that the difference between the two clocks does not matter.
func retryAfter(h http.Header) time.Duration {
	date, _ := http.ParseTime(h.Get("Date"))
	value := h.Get("Retry-After")
	if _, err := http.ParseTime(value); err == nil && date.IsZero() {
		return 0
	}
	d, _ := retry.ParseRetryAfter(value, date)
	return d
}

// codeOfStatus is the code of an answer that names none. It differs from ofStatus,
// which is for other systems' answers, where the contract has its own code.
func codeOfStatus(status int) recoup.Code {
	switch status {
	case http.StatusUnauthorized:
		return CodeInvalidAPIKey
	case http.StatusForbidden:
		return CodeInsufficientPermissions
	case http.StatusNotFound, http.StatusGone:
		return CodeNotFound
	case statusAborted:
		return CodeRequestCancelled
	case http.StatusInternalServerError:
		return CodeInternalError
	case http.StatusGatewayTimeout:
		return CodeNetworkTimeout
	}
	return Default().ofStatus(status).Code
}
