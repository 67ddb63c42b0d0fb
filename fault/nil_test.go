package fault

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
)

// A nil *Error that became an error is a mistake of the handler, and no reason
// to lose the answer, the event or the count.
func TestNilErrorIsAnswered(t *testing.T) {
	for name, err := range map[string]error{
		"nil":     Decode(&http.Response{StatusCode: 200}),
		"wrapped": fmt.Errorf("call: %w", Decode(&http.Response{StatusCode: 200})),
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench()
			wrap, failed := NewMiddleware(b.Options)
			if failed != nil {
				t.Fatal(failed)
			}
			server := httptest.NewServer(wrap(HandlerFunc(func(http.ResponseWriter, *http.Request) error { return err })))
			resp, failed := server.Client().Get(server.URL)
			if failed != nil {
				t.Fatal(failed)
			}
			e := Decode(resp)
			_ = resp.Body.Close()
			server.Close() // waits for the hooks
			if e.Code != CodeInternalError || e.Status != 500 {
				t.Errorf("%+v", e)
			}
			if len(b.events) != 1 || b.events[0].Code != CodeInternalError || len(b.counted) != 1 {
				t.Errorf("%+v, %+v", b.events, b.counted)
			}
			if log := b.log.String(); strings.Contains(log, "panicked") || !strings.Contains(log, "a nil *fault.Error") {
				t.Errorf("log: %s", log)
			}
		})
	}
}

// Neither a cause nor a logger that panics costs the event or the count.
func TestReportIsGuarded(t *testing.T) {
	for name, logger := range map[string]*slog.Logger{"cause": nil, "logger": slog.New(explosive{slog.DiscardHandler})} {
		b := newBench()
		if logger != nil {
			b.Logger = logger
		}
		w := b.serve(t, post(), fail(Wrap(explosive{}, CodeTimeout, "Late.")))
		if w.Code != 504 || len(b.events) != 1 || len(b.counted) != 1 {
			t.Errorf("%s: %d, %+v, %+v", name, w.Code, b.events, b.counted)
		}
	}
}

type explosive struct{ slog.Handler }

func (explosive) Error() string                             { panic("boom") }
func (explosive) Enabled(context.Context, slog.Level) bool  { return true }
func (explosive) Handle(context.Context, slog.Record) error { panic("boom") }

func TestNilErrorHasMethods(t *testing.T) {
	var e *Error
	if e.Error() == "" || e.Unwrap() != nil || e.Is(New(CodeTimeout, "")) || New(CodeTimeout, "").Is(e) {
		t.Errorf("%q", e.Error())
	}
	if got := Wrap(e, CodeTimeout, "Late.").Error(); got != "TIMEOUT: Late.: <nil>" {
		t.Error(got)
	}
}

// A nil pointer of any type says nothing, however deep it sits.
func TestClassifyNilPointers(t *testing.T) {
	for _, err := range []error{
		(*Error)(nil), (*net.OpError)(nil), (*net.DNSError)(nil), (*json.UnmarshalTypeError)(nil),
		(*json.SyntaxError)(nil), (*os.SyscallError)(nil), (*os.PathError)(nil),
	} {
		for depth, e := range []error{err, fmt.Errorf("x: %w", err), errors.Join(errors.New("y"), err), &os.PathError{Op: "open", Err: err}} {
			if v := Classify(e); v.Code != CodeInternalError || v.Class != recoup.ClassFatal {
				t.Errorf("%T at depth %d = %+v", err, depth, v)
			}
		}
		if v := Classify(OnCommit(err)); v.Code != CodeOutcomeUnknown {
			t.Errorf("%T on COMMIT = %+v", err, v)
		}
		if got := OnCommit(err).Error(); got != "<nil>" {
			t.Errorf("%T on COMMIT reads %q", err, got)
		}
		provider, _ := DefaultProviders().Lookup("neon")
		if v := provider.Classify(err, strings.ToLower); v.Code != CodeInternalError {
			t.Errorf("%T of a provider = %+v", err, v)
		}
	}
}
