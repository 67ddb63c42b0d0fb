package s3

import (
	"cmp"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"strings"
	"time"
	"unicode"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// What may be wrong with an object.
var (
	ErrExists   = errors.New("there is another object of that name")
	ErrDiffers  = errors.New("the object is not what was stored")
	ErrTooLarge = errors.New("the object is larger than expected")
)

// Error is a request that failed. It has neither keys nor signatures in it.
type Error struct {
	Bucket   string // its address
	Endpoint string // of the server that was asked
	Status   int    // of the answer; zero: there was none
	Code     string // what the server calls it, such as AccessDenied; empty: it did not say
	Err      error  // what is wrong, and the way out

	again recoup.Code // by which it is tried again; empty: it is not
	after time.Duration
}

func (e *Error) Error() string { return fmt.Sprintf("%s: %v", e.Bucket, e.Err) }

// Unwrap returns what is wrong.
func (e *Error) Unwrap() error { return e.Err }

// Codes by which a request is tried again.
const (
	codeNetwork     recoup.Code = "NETWORK_TIMEOUT"
	codeUnavailable recoup.Code = "SERVICE_UNAVAILABLE"
)

func classify(err error) retry.Failure {
	var e *Error
	if !errors.As(err, &e) || e.again == "" {
		return retry.Failure{}
	}
	return retry.Failure{Code: e.again, Retryable: true, RetryAfter: e.after}
}

// refusal is what a server says of a request that it does not serve.
type refusal struct {
	Code, Message, Region string
	ServerTime            string
}

// maxRefusal is the most that is read of it.
const maxRefusal = 64 << 10

// explain makes an error of an answer: what is wrong, with the value that was given, and
// the way out.
func (b *Bucket) explain(request *http.Request, name string, answer *http.Response) error {
	var said refusal
	_ = xml.NewDecoder(io.LimitReader(answer.Body, maxRefusal)).Decode(&said) // else the status says it
	said.Region = cmp.Or(said.Region, answer.Header.Get("X-Amz-Bucket-Region"))
	for _, text := range []*string{&said.Code, &said.Message, &said.Region, &said.ServerTime} {
		*text = oneLine(*text)
	}
	e := &Error{Bucket: b.String(), Endpoint: b.at.endpoint.String(), Status: answer.StatusCode, Code: said.Code}
	e.Err = b.setting(request, answer, said)
	switch {
	case e.Err != nil:
	case e.Status == http.StatusPreconditionFailed, e.Status == http.StatusConflict && said.Code == "ConditionalRequestConflict":
		e.Err = fmt.Errorf("%s: %w", name, ErrExists)
	case e.Status == http.StatusNotFound && name != "" && (said.Code == "" || said.Code == "NoSuchKey"):
		e.Err = fmt.Errorf("%s: %w", name, os.ErrNotExist)
	default:
		e.Err = fmt.Errorf("%s of %s was refused: %s", request.Method, cmp.Or(name, "the list"), describe(answer.StatusCode, said))
	}
	if e.Status >= http.StatusInternalServerError || e.Status == http.StatusTooManyRequests || said.Code == "RequestTimeout" {
		e.again = codeUnavailable
		e.after, _ = retry.ParseRetryAfter(answer.Header.Get("Retry-After"), b.now())
	}
	return e
}

// setting explains what a setting would mend; nil: none would.
func (b *Bucket) setting(request *http.Request, answer *http.Response, said refusal) error {
	who, _ := b.who()
	moved := answer.StatusCode == http.StatusMovedPermanently || answer.StatusCode == http.StatusTemporaryRedirect || said.Code == "AuthorizationHeaderMalformed"
	switch {
	case moved && said.Region != "" && said.Region != b.at.region:
		return fmt.Errorf("the bucket is in the region %s, and was asked for in %s: set AWS_REGION=%s", said.Region, b.at.region, said.Region)
	case moved:
		return fmt.Errorf("%s does not serve the bucket in the region %s (%s): set AWS_REGION, and AWS_ENDPOINT_URL_S3 if it is not AWS's", b.at.endpoint, b.at.region, describe(answer.StatusCode, said))
	case said.Code == "NoSuchBucket":
		return fmt.Errorf("%s has no bucket %q: create it, or name another", b.at.endpoint, b.at.bucket)
	case said.Code == "RequestTimeTooSkewed":
		return fmt.Errorf("the clocks differ: it is %s here and %s at %s: set this machine's clock (NTP)", b.now().UTC().Format(time.RFC3339), cmp.Or(said.ServerTime, answer.Header.Get("Date")), b.at.endpoint)
	case said.Code == "InvalidAccessKeyId":
		return fmt.Errorf("%s does not know the key %s: correct AWS_ACCESS_KEY_ID, or the profile in ~/.aws/credentials", b.at.endpoint, who.id)
	case said.Code == "SignatureDoesNotMatch":
		return fmt.Errorf("the secret of the key %s is not the one that %s has: correct AWS_SECRET_ACCESS_KEY, or the profile in ~/.aws/credentials", who.id, b.at.endpoint)
	case said.Code == "ExpiredToken", said.Code == "InvalidToken":
		return fmt.Errorf("the session token of the key %s has expired or is not valid: set AWS_SESSION_TOKEN to a new one", who.id)
	case answer.StatusCode == http.StatusForbidden:
		return fmt.Errorf("access denied to %s with the key %s: it needs s3:ListBucket of the bucket, and s3:GetObject, s3:PutObject and s3:DeleteObject of what is in it", request.Method, who.id)
	case answer.StatusCode == http.StatusNotImplemented && request.Header.Get(headerIfNone) != "":
		return errUnconditional
	}
	return nil
}

// describe is what a server said, in one line.
func describe(status int, said refusal) string {
	text := fmt.Sprintf("%d %s", status, cmp.Or(said.Code, http.StatusText(status)))
	if said.Message != "" {
		text += ", " + said.Message
	}
	return text
}

// oneLine is what a server says as a log and a terminal can bear it.
func oneLine(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, text)
	return fmt.Sprintf("%.200s", strings.Join(strings.Fields(text), " "))
}

var (
	errTooSlow       = errors.New("the object store took too long")
	errUnconditional = errors.New("the object store overwrites objects although it was asked not to (If-None-Match): two nodes could destroy each other's files; use one that honours it, or a folder")
)

// broken is an error of the connection, which may go well the next time.
func (b *Bucket) broken(cause, err error) error {
	if errors.Is(cause, errTooSlow) {
		err = cause
	}
	if u := (*url.Error)(nil); errors.As(err, &u) {
		err = u.Err // its address has all the parameters of a list
	}
	return &Error{Bucket: b.String(), Endpoint: b.at.endpoint.String(), again: codeNetwork,
		Err: fmt.Errorf("no answer from %s: %w", b.at.endpoint, err)}
}
