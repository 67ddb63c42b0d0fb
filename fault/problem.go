package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"strconv"
	"strings"
)

// The media types in which an error is written.
const (
	MediaJSON    = "application/json"
	MediaProblem = "application/problem+json"
)

// maxAccept bounds what is read of a client's Accept header.
const maxAccept = 4 << 10

// unknownRequestID is sent outside of the middleware: the contract wants an id in
// every error, and only [NewMiddleware] makes one.
const unknownRequestID = "req_unknown"

// Problem is an error as RFC 9457 writes it. The members of spec 001 follow as
// extensions, so that a client may read either.
type Problem struct {
	Type     string `json:"type"`
	Title    string `json:"title"`
	Status   int    `json:"status"`
	Detail   string `json:"detail,omitempty"`
	Instance string `json:"instance,omitempty"`
	wireError
}

// Problem returns e as RFC 9457 writes it. Instance names the occurrence: the
// path that was asked for.
func (e *Error) Problem(instance string) Problem {
	p := Problem{
		Type: e.DocumentationURL, Title: title(string(e.Code)), Status: e.status(),
		Detail: e.Message, Instance: instance, wireError: e.wire(),
	}
	if p.Type == "" {
		p.Type = "about:blank"
	}
	return p
}

// HandlerFunc is a handler that returns its failure instead of writing it.
type HandlerFunc func(http.ResponseWriter, *http.Request) error

// ServeHTTP calls f and writes the error it returns, if any.
func (f HandlerFunc) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if err := f(w, r); err != nil {
		Write(w, r, err)
	}
}

// Write answers a request with an error. An [*Error] in err's chain is sent as it is,
// unless another service sent it: that becomes EXTERNAL_SERVICE_ERROR (see [Decode]).
// Any other error becomes INTERNAL_ERROR without its text; use [Wrap] or [From] to
// send more.
//
// Behind [NewMiddleware] the answer gets the request's id, time and
// documentation link, and the failure is reported to the hooks; that also
// happens when the response has already begun and nothing can be sent any more.
func Write(w http.ResponseWriter, r *http.Request, err error) {
	call := callFrom(r.Context())
	e := contract(call.registry(), err)
	call.complete(e)
	if call.began() {
		return
	}
	media, data := e.encode(r)
	h := w.Header()
	for _, name := range []string{"Content-Length", "Content-Encoding", "Etag", "Last-Modified"} {
		h.Del(name)
	}
	h.Set("Content-Type", media)
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("Cache-Control", "no-store")
	h.Add("Vary", "Accept")
	if e.RetryAfter > 0 {
		h.Set("Retry-After", strconv.FormatInt(int64(toSeconds(e.RetryAfter)), 10))
	}
	w.WriteHeader(e.status())
	_, _ = w.Write(append(data, '\n')) // it fails only if the client has gone
}

// encode returns e in the media type that the client asks for.
func (e *Error) encode(r *http.Request) (media string, data []byte) {
	media, body := MediaJSON, any(e)
	if wantsProblem(r.Header) {
		media, body = MediaProblem, e.Problem(r.URL.EscapedPath())
	}
	data, err := json.Marshal(body)
	if err == nil {
		return media, data
	}
	e.Details = nil // a program may put anything there; the rest is text and numbers
	if data, err = json.Marshal(e); err != nil {
		panic("fault: an error without details is not JSON: " + err.Error())
	}
	return MediaJSON, data
}

// contract returns a copy of the error in err's chain that fits the contract:
// its own and not another program's, its code canonical, its definition known.
func contract(reg *Registry, err error) *Error {
	e, found := errors.AsType[*Error](err)
	switch {
	case !found:
		e = internal(err)
	case e == nil:
		e = internal(fmt.Errorf("a nil *fault.Error was returned as an error: %s", fmt.Sprint(err)))
	case e.foreign:
		e = Wrap(err, CodeExternalServiceError, "A service that this one depends on failed.")
	}
	def, name, malformed := reg.Fold(string(e.Code))
	if malformed != nil {
		e, def, name = internal(err), reg.internal, reg.internal.Code
	}
	next := *e
	next.def, next.Code = def, name
	if next.Message == "" {
		next.Message = title(string(name))
	}
	return &next
}

// internal hides an error that was not meant for the caller.
func internal(cause error) *Error {
	return Wrap(cause, CodeInternalError, "Something went wrong on our side.")
}

// status is the HTTP status of the answer.
func (e *Error) status() int {
	if e.Status >= 400 && e.Status <= 599 {
		return e.Status
	}
	return e.Definition().HTTPStatus
}

// wantsProblem is true for a client that names problem+json and does not
// prefer plain JSON to it. Wildcards alone get the shape of spec 001.
func wantsProblem(h http.Header) bool {
	problem, plain, anything := -1.0, -1.0, -1.0
	for _, part := range strings.Split(truncate(strings.Join(h.Values("Accept"), ","), maxAccept), ",") {
		media, params, err := mime.ParseMediaType(part)
		if err != nil {
			continue
		}
		q, err := strconv.ParseFloat(params["q"], 64)
		if err != nil {
			q = 1
		}
		switch media {
		case MediaProblem:
			problem = q
		case MediaJSON:
			plain = q
		case "*/*", "application/*":
			anything = max(anything, q)
		}
	}
	if plain < 0 {
		plain = anything
	}
	return problem > 0 && problem >= plain
}

// title turns RATE_LIMIT_EXCEEDED into "Rate limit exceeded".
func title(code string) string {
	if code == "" {
		return ""
	}
	return code[:1] + strings.ToLower(strings.ReplaceAll(code[1:], "_", " "))
}
