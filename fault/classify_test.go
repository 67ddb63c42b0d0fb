package fault_test

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"net"
	"net/http"
	"net/url"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// expect is what a test wants to know of a verdict.
type expect struct {
	code   recoup.Code
	class  recoup.Class
	scope  fault.Scope
	reason string // details.error_type
}

func (want expect) check(t *testing.T, name string, err error) {
	t.Helper()
	for depth, e := range []error{err, fmt.Errorf("outer: %w", fmt.Errorf("inner: %w", err)), errors.Join(errors.New("beside"), err)} {
		v := fault.Classify(e)
		reason, _ := v.Details["error_type"].(string)
		if got := (expect{v.Code, v.Class, v.Scope, reason}); got != want {
			t.Errorf("%s: %T (%v), wrapping %d = %+v, want %+v", name, err, err, depth, got, want)
		}
	}
}

func TestClassifyErrorsOfTheStandardLibrary(t *testing.T) {
	var number struct{ Age int }
	_, tooLarge := io.ReadAll(http.MaxBytesReader(nil, io.NopCloser(strings.NewReader("12345")), 4))
	_, missing := os.Open(t.TempDir() + "/missing")
	opError := func(op string, errno syscall.Errno) error {
		return &net.OpError{Op: op, Net: "tcp", Err: os.NewSyscallError(op, errno)}
	}
	const short, fatal = recoup.ClassShortDelay, recoup.ClassFatal
	for name, c := range map[string]struct {
		err  error
		want expect
	}{
		"cancelled":             {context.Canceled, expect{"REQUEST_CANCELLED", fatal, fault.ScopeRequest, ""}},
		"cancelled, in a URL":   {&url.Error{Op: "Get", URL: "http://x", Err: context.Canceled}, expect{"REQUEST_CANCELLED", fatal, fault.ScopeRequest, ""}},
		"deadline":              {context.DeadlineExceeded, expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeIdempotentOnly, ""}},
		"I/O deadline":          {os.ErrDeadlineExceeded, expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeIdempotentOnly, ""}},
		"timed out by kernel":   {opError("read", syscall.ETIMEDOUT), expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeIdempotentOnly, ""}},
		"dial timed out":        {opError("dial", syscall.ETIMEDOUT), expect{"NETWORK_TIMEOUT", recoup.ClassImmediate, fault.ScopeRequest, "connection_timeout"}},
		"no route to host":      {opError("dial", syscall.EHOSTUNREACH), expect{"TEMPORARY_UNAVAILABLE", short, fault.ScopeRequest, "unreachable"}},
		"no route to network":   {opError("dial", syscall.ENETUNREACH), expect{"TEMPORARY_UNAVAILABLE", short, fault.ScopeRequest, "unreachable"}},
		"no such socket":        {opError("dial", syscall.ENOENT), expect{"TEMPORARY_UNAVAILABLE", short, fault.ScopeRequest, "connection_refused"}},
		"aborted":               {opError("read", syscall.ECONNABORTED), expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "connection_reset"}},
		"too many open files":   {opError("dial", syscall.EMFILE), expect{"SERVICE_OVERLOADED", recoup.ClassLongDelay, fault.ScopeRequest, "too_many_open_files"}},
		"truncated":             {io.ErrUnexpectedEOF, expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "unexpected_eof"}},
		"JSON syntax":           {json.Unmarshal([]byte("{"), &number), expect{"MALFORMED_JSON", fatal, fault.ScopeRequest, ""}},
		"JSON type":             {json.Unmarshal([]byte(`{"Age":"old"}`), &number), expect{"SCHEMA_INVALID", fatal, fault.ScopeRequest, ""}},
		"body too large":        {tooLarge, expect{"PAYLOAD_TOO_LARGE", fatal, fault.ScopeRequest, ""}},
		"disk full":             {writeToFullDisk(t), expect{"STORAGE_FULL", recoup.ClassLongDelay, fault.ScopeRequest, "disk_full"}},
		"I/O error":             {&fs.PathError{Op: "write", Path: "/data", Err: syscall.EIO}, expect{"STORAGE_FULL", recoup.ClassLongDelay, fault.ScopeRequest, "io_error"}},
		"alert of QUIC":         {tls.AlertError(40), expect{"TLS_ERROR", fatal, fault.ScopeRequest, "alert"}},
		"no such file":          {missing, expect{"ARTIFACT_NOT_FOUND", fatal, fault.ScopeRequest, "file_not_found"}},
		"no permission":         {&fs.PathError{Op: "open", Path: "/data", Err: syscall.EACCES}, expect{"INSUFFICIENT_PERMISSIONS", fatal, fault.ScopeRequest, "file_permission"}},
		"nil dereference":       {recovered(func() { _ = *(*int)(nil) }), expect{"RUNTIME_BUG", fatal, fault.ScopeRequest, ""}},
		"index out of range":    {recovered(func() { _ = []int{}[len(os.Args)] }), expect{"RUNTIME_BUG", fatal, fault.ScopeRequest, ""}},
		"end of an input":       {io.EOF, expect{"INTERNAL_ERROR", fatal, fault.ScopeRequest, ""}},
		"unknown":               {errors.New("rate_limit_exceeded: timeout"), expect{"INTERNAL_ERROR", fatal, fault.ScopeRequest, ""}},
		"unknown, incomparable": {incomparable{"a"}, expect{"INTERNAL_ERROR", fatal, fault.ScopeRequest, ""}},
		"unknown DNS failure":   {&net.DNSError{Err: "server misbehaving"}, expect{"INTERNAL_ERROR", fatal, fault.ScopeRequest, ""}},
	} {
		c.want.check(t, name, c.err)
	}
}

func TestATimeoutAmongOthers(t *testing.T) {
	timeout.check(t, "joined", errors.Join(os.ErrDeadlineExceeded, &net.AddrError{}))
}

type incomparable []string

func (incomparable) Error() string { return "" }

func recovered(f func()) (err error) {
	defer func() { err, _ = recover().(error) }()
	f()
	return nil
}

func writeToFullDisk(t *testing.T) error {
	t.Helper()
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	_, err = full.WriteString("x")
	return errors.Join(err, full.Close())
}

func TestClassifyNil(t *testing.T) {
	if v := fault.Classify(nil); v.Code != "" || v.Retryable(recoup.ConditionIdempotencyKey) {
		t.Errorf("Classify(nil) = %+v", v)
	}
}

func TestClassifyDetailsAndPages(t *testing.T) {
	var person struct {
		Address struct{ Zip int }
	}
	wrongType := json.Unmarshal([]byte(`{"Address":{"Zip":"secret"}}`), &person)
	if v := fault.Classify(wrongType); !maps.Equal(v.Details, map[string]any{"field": "Address.Zip"}) {
		t.Errorf("details of a type error = %v", v.Details)
	}
	if v := fault.Classify(&http.MaxBytesError{Limit: 7}); !maps.Equal(v.Details, map[string]any{"limit": int64(7)}) {
		t.Errorf("details of a body that is too large = %v", v.Details)
	}
	for name, c := range map[string]struct {
		err  error
		page bool
	}{
		"a bug":         {recovered(func() { _ = *(*int)(nil) }), true},
		"a full disk":   {syscall.ENOSPC, true},
		"a time-out":    {context.DeadlineExceeded, false},
		"unknown":       {errors.New("?"), false},
		"configuration": {fault.New(fault.CodeConfigurationError, "no key"), true},
	} {
		if got := fault.Classify(c.err).Page; got != c.page {
			t.Errorf("%s: page is %t", name, got)
		}
	}
}

func TestAnErrorOfTheContractSpeaksForItself(t *testing.T) {
	own := fault.Wrap(context.Canceled, fault.CodeRateLimitExceeded, "slow down").After(time.Minute).With("limit", 5)
	v := fault.Classify(fmt.Errorf("call: %w", own))
	if v.Code != fault.CodeRateLimitExceeded || v.Class != recoup.ClassLongDelay || v.RetryAfter != time.Minute || v.Details["limit"] != 5 {
		t.Errorf("verdict = %+v", v)
	}
	v.Details["limit"] = 6
	if own.Details["limit"] != 5 {
		t.Error("a change of the verdict reached the error")
	}
	stopped := fmt.Errorf("%w, after: %w", context.Canceled, own)
	if v := fault.Classify(stopped); v.Code != fault.CodeRequestCancelled {
		t.Errorf("a wait that was cancelled = %+v", v)
	}
	unregistered := fault.Classify(fault.New("MY_OWN_CODE", "?"))
	if unregistered.Code != "MY_OWN_CODE" || unregistered.Class != recoup.ClassFatal {
		t.Errorf("a code nobody registered = %+v, want its name and no retry", unregistered)
	}
}

func TestVerdictRetryable(t *testing.T) {
	const key, same, changed = recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload, recoup.ConditionStateChanged
	once := fault.NotIdempotent()
	proofs := map[string][]recoup.Condition{
		"nothing": nil, "key": {key}, "same": {same}, "changed": {changed}, "all": {key, same, changed}, "once": {once}, "once-keyed": {once, key},
	}
	for name, c := range map[string]struct {
		err  error
		with string // the proofs with which it may be retried
	}{
		"nothing was sent": {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "nothing key same changed all once once-keyed"},
		"maybe it arrived": {syscall.ECONNRESET, "nothing key same changed all once-keyed"},
		"rolled back":      {sqlError("40001"), "nothing key same changed all once once-keyed"},
		"commit broke":     {fault.OnCommit(io.ErrUnexpectedEOF), "key all once-keyed"},
		"same payload":     {fault.New(fault.CodeIdempotencyConflict, ""), "same all"},
		"slot may free":    {fault.New(fault.CodeSlotConflict, ""), "changed all"},
		"fatal":            {fault.New(fault.CodeValidationError, ""), ""},
		"cancelled":        {context.Canceled, ""},
		"unknown":          {errors.New("?"), ""},
	} {
		v := fault.Classify(c.err)
		for proof, conditions := range proofs {
			want := strings.Contains(" "+c.with+" ", " "+proof+" ")
			if got := v.Retryable(conditions...); got != want {
				t.Errorf("%s, proven %s: retryable is %t", name, proof, got)
			}
		}
	}
}

func TestClassifierDrivesRetry(t *testing.T) {
	options := retry.NewOptions(retry.Request, fault.Classifier())
	options.Sleep = func(context.Context, time.Duration) error { return nil }
	for name, c := range map[string]struct {
		err      error
		attempts int
		verdict  retry.Verdict
	}{
		"spec 001's five retries":      {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, 6, retry.BudgetSpent},
		"a wait above the cap":         {fault.New(fault.CodeRateLimitExceeded, "").After(time.Hour), 1, retry.RetryAfterTooLong},
		"a time-out":                   {os.ErrDeadlineExceeded, 6, retry.BudgetSpent},
		"what is unknown is not tried": {errors.New("?"), 1, retry.NotRetryable},
	} {
		err := retry.Do(t.Context(), options, func(context.Context) error { return c.err })
		gaveUp, ok := errors.AsType[*retry.Error](err)
		if !ok || gaveUp.Attempts != c.attempts || gaveUp.Verdict != c.verdict {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// What both specifications call retryable is retried without further words; a
// caller whose work must not be done twice says so, and only then is it not.
func TestRetryableMeansRetryable(t *testing.T) {
	answered := func(status int) error {
		return fault.ClassifyResponse(status, nil, nil, time.Time{}).Wrap(nil, "upstream")
	}
	for name, err := range map[string]error{
		"NETWORK_TIMEOUT": os.ErrDeadlineExceeded, "CONNECTION_RESET": syscall.ECONNRESET,
		"EXTERNAL_SERVICE_TIMEOUT": fault.New(fault.CodeExternalServiceTimeout, ""),
		"500":                      answered(500), "502": answered(502), "504": answered(504),
	} {
		for _, row := range []struct {
			what     string
			classify func(error) retry.Failure
			again    bool
		}{{"by default", fault.Classifier(), true}, {"not idempotent", fault.Classifier(fault.NotIdempotent()), false}} {
			options := retry.NewOptions(retry.Request, row.classify)
			options.Sleep = func(context.Context, time.Duration) error { return nil }
			tries := 0
			done := retry.Do(t.Context(), options, func(context.Context) error {
				if tries++; tries == 1 {
					return err
				}
				return nil
			})
			if (done == nil) != row.again || (tries == 2) != row.again {
				t.Errorf("%s, %s: %d tries, %v", name, row.what, tries, done)
			}
		}
		if v := fault.Classify(err); v.Scope != fault.ScopeIdempotentOnly {
			t.Errorf("%s: the scope %s hides the caveat", name, v.Scope)
		}
	}
}

func BenchmarkClassify(b *testing.B) {
	for name, err := range map[string]error{
		"contract": fmt.Errorf("call: %w", fault.New(fault.CodeSlotConflict, "taken")),
		"timeout":  &url.Error{Op: "Get", Err: &net.OpError{Op: "read", Err: os.ErrDeadlineExceeded}},
		"refused":  &url.Error{Op: "Get", Err: &net.OpError{Op: "dial", Err: os.NewSyscallError("connect", syscall.ECONNREFUSED)}},
		"sqlstate": fmt.Errorf("insert: %w", sqlError("40001")),
		"unknown":  errors.New("?"),
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				fault.Classify(err)
			}
		})
	}
}
