package fault

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"reflect"
	"runtime"
	"slices"
	"syscall"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// Classifier returns [Classify] in the form that retry.NewOptions takes, for work
// that has proven these conditions. The work is taken to be safe to repeat; if it is
// not, pass [NotIdempotent].
func Classifier(proven ...recoup.Condition) func(error) retry.Failure {
	return Default().Classifier(proven...)
}

// Classifier is [Classifier] for programs with codes of their own.
func (r *Registry) Classifier(proven ...recoup.Condition) func(error) retry.Failure {
	return func(err error) retry.Failure { return r.Classify(err).ForRetry(proven...) }
}

// Classify says what an error means, however deep it is wrapped. It goes by
// types and values, never by text, and copies no text into the verdict.
//
// The code of an [*Error] decides, whatever it wraps. An unknown error is
// INTERNAL_ERROR and fatal: what is not understood must not be repeated. A code that
// is not registered keeps its name and is fatal too. nil is the zero Verdict.
func Classify(err error) Verdict { return Default().Classify(err) }

// Classify is [Classify] for programs with codes of their own.
func (r *Registry) Classify(err error) Verdict {
	if err == nil {
		return Verdict{}
	}
	f := r.facts(err)
	return f.verdict()
}

// facts is what the tree of an error says, collected in one walk, so that what
// decides is the order of [facts.verdict] and not that of the wrapping.
type facts struct {
	registry  *Registry
	broken    bool // there is a nil pointer in it
	fault     *Error
	during    phase
	cancelled bool
	timeout   bool
	dialling  bool // the connection was not there yet
	transport bool // it came out of the network
	eof       bool
	notSent   bool // the driver says that nothing was sent
	bug       bool
	state     string // SQLSTATE
	tls       string // why there is no secure connection
	dns       *net.DNSError
	errno     syscall.Errno
	json      recoup.Code
	field     string
	limit     int64 // of the body that was too large
}

func (r *Registry) facts(err error) facts {
	f := facts{registry: r, broken: hasNil(err)}
	f.walk(err)
	return f
}

func (f *facts) walk(err error) {
	for err != nil && !(f.broken && isNil(err)) {
		if e, ok := any(err).(*Error); ok {
			if f.fault == nil {
				f.fault = e
			}
			return
		}
		f.noteType(err)
		f.noteValue(err)
		if !f.broken { // most methods ask those of the error below
			f.noteMethods(err)
		}
		switch parent := any(err).(type) {
		case interface{ Unwrap() error }:
			err = parent.Unwrap()
		case interface{ Unwrap() []error }:
			for _, child := range parent.Unwrap() {
				f.walk(child)
			}
			return
		default:
			return
		}
	}
}

// hasNil reports whether there is a nil pointer anywhere in the tree of err.
func hasNil(err error) bool {
	if err == nil || isNil(err) {
		return err != nil
	}
	switch parent := any(err).(type) {
	case interface{ Unwrap() error }:
		return hasNil(parent.Unwrap())
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(parent.Unwrap(), hasNil)
	}
	return false
}

// isNil is true for a nil pointer that became an error. It says nothing, and
// its methods may panic.
func isNil(err error) bool {
	v := reflect.ValueOf(err)
	return v.Kind() == reflect.Pointer && v.IsNil()
}

func (f *facts) noteType(node any) {
	switch e := node.(type) {
	case *duringError:
		f.during = max(f.during, e.phase)
	case *net.OpError:
		f.noteOp(e.Op)
	case *url.Error:
		f.transport = true
	case *net.DNSError:
		f.dns = e
	case syscall.Errno:
		f.errno = e
	case runtime.Error:
		f.bug = true
	case *json.SyntaxError:
		f.json = CodeMalformedJSON
	case *json.UnmarshalTypeError:
		f.json, f.field = CodeSchemaInvalid, e.Field
	case *http.MaxBytesError:
		f.limit = e.Limit
	case *tls.CertificateVerificationError, x509.CertificateInvalidError:
		f.tls = "certificate_invalid"
	case x509.UnknownAuthorityError:
		f.tls = "unknown_authority"
	case x509.HostnameError:
		f.tls = "hostname_mismatch"
	case x509.UnhandledCriticalExtension, x509.ConstraintViolationError, x509.InsecureAlgorithmError, x509.SystemRootsError:
		f.tls = "certificate_unusable"
	case tls.RecordHeaderError:
		f.tls = "not_tls"
	case tls.AlertError:
		f.tls = "alert"
	}
}

func (f *facts) noteOp(op string) {
	f.transport = true
	switch op {
	case "dial":
		f.dialling = true
	case "remote error", "local error": // how crypto/tls names an alert, whose type it keeps to itself
		f.tls = "alert"
	}
}

func (f *facts) noteValue(node any) {
	switch node {
	case context.Canceled:
		f.cancelled = true
	case http.ErrSchemeMismatch:
		f.tls = "not_tls"
	case io.ErrUnexpectedEOF:
		f.eof = true
	case driver.ErrBadConn: // by its contract, nothing was done
		f.notSent = true
	case io.EOF:
		f.eof = f.eof || f.transport // elsewhere it is the end of an input, which is no failure
	}
}

func (f *facts) noteMethods(node any) {
	if e, ok := node.(interface{ Timeout() bool }); ok {
		f.timeout = f.timeout || e.Timeout()
	}
	if e, ok := node.(interface{ Is(error) bool }); ok {
		f.cancelled = f.cancelled || e.Is(context.Canceled)
	}
	f.noteSQL(node)
}

// verdict decides, the most specific facts first.
func (f *facts) verdict() Verdict {
	switch {
	case f.inDoubt():
		return f.registry.of(CodeOutcomeUnknown).with("sqlstate", f.state)
	case f.cancelled:
		return f.registry.of(CodeRequestCancelled).fatal()
	case f.speaks():
		return f.fault.verdict(f.registry)
	case f.state != "":
		return f.registry.ofState(f.state)
	case f.tls != "":
		return f.registry.of(CodeTLSError).with("error_type", f.tls)
	case f.during == acquiring:
		return f.registry.of(CodeDatabaseConnectionError).with("error_type", f.acquiring())
	case f.notSent && f.during == committing:
		return f.registry.of(CodeDatabaseConnectionError).scoped(ScopeTransaction).with("error_type", "not_sent")
	case f.notSent:
		return f.registry.of(CodeDatabaseConnectionError).with("error_type", "not_sent")
	case f.bug:
		return f.registry.of(CodeRuntimeBug)
	case f.json != "":
		return f.registry.of(f.json).with("field", f.field)
	case f.limit > 0:
		return f.registry.of(CodePayloadTooLarge).with("limit", f.limit)
	}
	if code, reason := f.network(); code != "" {
		v := f.registry.of(code).with("error_type", reason)
		if f.dialling {
			v = v.scoped(ScopeRequest)
		}
		return v
	}
	return f.registry.of(CodeInternalError).fatal()
}

// inDoubt reports whether a COMMIT broke and nobody knows what became of it.
func (f *facts) inDoubt() bool { return f.during == committing && !f.rolledBack() }

// speaks reports whether an [*Error] decides.
func (f *facts) speaks() bool { return f.fault != nil && !f.cancelled && !f.inDoubt() }
