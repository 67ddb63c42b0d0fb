package console

import (
	"context"
	"crypto/rand"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// formOf returns a request with a form of so many bytes, for a console without any turn.
func formOf(ctx context.Context, size int) *Request {
	r := httptest.NewRequestWithContext(ctx, http.MethodPost, "/", strings.NewReader("text="+strings.Repeat("x", size)))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return &Request{console: &Console{turns: turn.New(0, time.Now)}, w: httptest.NewRecorder(), r: r}
}

// TestLargeFormsTakeTurns proves that a large form waits for a turn of its key before it is parsed,
// and a small one does not.
func TestLargeFormsTakeTurns(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := formOf(ctx, 1000).readForm(Page{Name: "errors"}); err != nil {
			t.Errorf("a small form: %v", err)
		}
		if err := formOf(ctx, 1<<20).readForm(Page{Name: "errors"}); !errors.Is(err, turn.ErrUnfinished) {
			t.Errorf("a large form without a turn: %v", err)
		}
	})
}

func tooLarge(err error) bool {
	refused, ok := errors.AsType[*fault.Error](err)
	return ok && refused.Code == fault.CodePayloadTooLarge
}

// TestFormsAreBounded proves that a form beyond its limit is refused, and that of signing out is small.
func TestFormsAreBounded(t *testing.T) {
	t.Parallel()
	for page, size := range map[string]int{"": 100 << 10, "errors": 3 << 20} {
		v := formOf(t.Context(), size)
		if err := v.readForm(Page{Name: page}); !tooLarge(err) {
			t.Errorf("page %q: a form of %d bytes: %v", page, size, err)
		}
		v = formOf(t.Context(), size)
		v.r.ContentLength = -1 // it is not announced
		if err := v.readForm(Page{Name: page}); !tooLarge(err) {
			t.Errorf("page %q: a form of %d bytes without its length: %v", page, size, err)
		}
	}
}

// noSessions keeps no sessions: nobody signs in.
type noSessions struct{ store.SessionKeeper }

// noLimit refuses nothing.
type noLimit struct{ Limit }

// TestBrowserThatLeavesIsNoFailure proves that a page whose browser has gone is aborted. It was answered
// with 500, logged twice, and counted as a failure of the server.
func TestBrowserThatLeavesIsNoFailure(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	defer leave()
	var log strings.Builder
	c, err := New(Options{
		API: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			leave()
			<-r.Context().Done()
			http.Error(w, "gone", http.StatusBadGateway)
		}),
		As: func(ctx context.Context, _ [32]byte) context.Context { return ctx }, Sessions: noSessions{}, Limit: noLimit{}, Open: true,
		Secure: func(*http.Request) bool { return false }, Now: time.Now, Random: rand.Reader, Logger: slog.New(slog.NewTextHandler(&log, nil)),
	})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	defer func() {
		p := recover()
		if err, ok := p.(error); !ok || !errors.Is(err, http.ErrAbortHandler) {
			t.Errorf("the page ended with %v, status %d", p, w.Code)
		}
		if log.Len() > 0 || w.Body.Len() > 0 {
			t.Errorf("logged %q, answered %q", log.String(), w.Body)
		}
	}()
	c.ServeHTTP(w, httptest.NewRequestWithContext(ctx, http.MethodGet, "/console/errors", http.NoBody))
}
