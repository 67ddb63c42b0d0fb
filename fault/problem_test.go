package fault

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func TestWrite(t *testing.T) {
	for name, row := range map[string]struct {
		err    error
		status int
		code   string
	}{
		"a fault":           {New(CodeCompanyNotFound, "No such company."), 404, "COMPANY_NOT_FOUND"},
		"wrapped":           {fmt.Errorf("x: %w", New(CodeSlotConflict, "Taken.")), 409, "SLOT_CONFLICT"},
		"status of its own": {&Error{Code: CodeTimeout, Status: 408}, 408, "TIMEOUT"},
		"status is absurd":  {&Error{Code: CodeTimeout, Status: 200}, 504, "TIMEOUT"},
		"alias":             {New("rate_limited", "Slow down."), 429, "RATE_LIMIT_EXCEEDED"},
		"unregistered":      {New("MY_OWN", "Mine."), 500, "MY_OWN"},
		"malformed code":    {New("not a code", "secret"), 500, "INTERNAL_ERROR"},
		"any error":         {errors.New("secret"), 500, "INTERNAL_ERROR"},
		"nil":               {nil, 500, "INTERNAL_ERROR"},
		"nil fault":         {(*Error)(nil), 500, "INTERNAL_ERROR"},
	} {
		t.Run(name, func(t *testing.T) {
			w := httptest.NewRecorder()
			Write(w, httptest.NewRequest("GET", "/", nil), row.err)
			body := decodeMap(t, w)
			if w.Code != row.status || body["error_code"] != row.code {
				t.Errorf("%d %v, want %d %s", w.Code, body["error_code"], row.status, row.code)
			}
			if body["message"] == "" || body["request_id"] != unknownRequestID {
				t.Errorf("required members are missing: %v", body)
			}
			if strings.Contains(w.Body.String(), "secret") {
				t.Errorf("leaks: %s", w.Body)
			}
		})
	}
}

func TestWriteHeaders(t *testing.T) {
	w := httptest.NewRecorder()
	w.Header().Set("Content-Length", "7")
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Set("Etag", `"1"`)
	Write(w, httptest.NewRequest("GET", "/", nil), New(CodeRateLimitExceeded, "Slow down.").After(1001*time.Millisecond))
	for name, want := range map[string]string{
		"Content-Type": MediaJSON, "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
		"Vary": "Accept", "Retry-After": "2", "Content-Length": "", "Content-Encoding": "", "Etag": "",
	} {
		if got := w.Header().Get(name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
}

func TestWriteNegotiates(t *testing.T) {
	for accept, want := range map[string]string{
		"":                         MediaJSON,
		"*/*":                      MediaJSON,
		"text/html":                MediaJSON,
		"application/json":         MediaJSON,
		"application/problem+json": MediaProblem,
		"Application/Problem+JSON": MediaProblem,
		"application/json, application/problem+json":                   MediaProblem,
		"application/problem+json, */*;q=0.1":                          MediaProblem,
		"application/problem+json, */*":                                MediaProblem,
		"application/problem+json;q=0.5, application/json":             MediaJSON,
		"application/problem+json;q=0.5, */*":                          MediaJSON,
		"application/problem+json;q=0":                                 MediaJSON,
		"application/problem+json; charset=utf-8, application/*;q=0.2": MediaProblem,
		"; nonsense, application/problem+json":                         MediaProblem,
	} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/v1/x%20y?key=secret", nil)
		if accept != "" {
			r.Header.Set("Accept", accept)
		}
		Write(w, r, New(CodeTimeout, "Late."))
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("Accept %q gets %s, want %s", accept, got, want)
		}
		body := decodeMap(t, w)
		if body["error_code"] != "TIMEOUT" {
			t.Errorf("Accept %q: %v", accept, body)
		}
		if want == MediaProblem && (body["status"] != 504.0 || body["instance"] != "/v1/x%20y") {
			t.Errorf("Accept %q: %v", accept, body)
		}
	}
}

// Only the beginning of a header that no honest client sends is looked at.
func TestAcceptIsReadBounded(t *testing.T) {
	for padding, want := range map[int]string{maxAccept - len(MediaProblem): MediaProblem, maxAccept: MediaJSON, 1 << 20: MediaJSON} {
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", strings.Repeat(",", padding)+MediaProblem)
		w := httptest.NewRecorder()
		Write(w, r, New(CodeTimeout, "Late."))
		if got := w.Header().Get("Content-Type"); got != want {
			t.Errorf("after %d bytes: %s, want %s", padding, got, want)
		}
	}
}

func TestWriteSurvivesDetailsThatAreNotJSON(t *testing.T) {
	for _, accept := range []string{MediaJSON, MediaProblem} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("GET", "/", nil)
		r.Header.Set("Accept", accept)
		Write(w, r, New(CodeTimeout, "Late.").With("f", func() {}))
		if body := decodeMap(t, w); w.Code != 504 || body["error_code"] != "TIMEOUT" || body["details"] != nil {
			t.Errorf("%d %v", w.Code, body)
		}
	}
}

func TestWriteLeavesItsArgumentAlone(t *testing.T) {
	shared := New("rate_limited", "Slow down.")
	Write(httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil), shared)
	if shared.Code != "rate_limited" || shared.RequestID != "" {
		t.Errorf("changed to %+v", shared)
	}
}

func TestHandlerFunc(t *testing.T) {
	w := httptest.NewRecorder()
	HandlerFunc(func(w http.ResponseWriter, _ *http.Request) error {
		_, err := w.Write([]byte("fine"))
		return err
	}).ServeHTTP(w, httptest.NewRequest("GET", "/", nil))
	if w.Code != 200 || w.Body.String() != "fine" {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func decodeMap(t *testing.T, w *httptest.ResponseRecorder) map[string]any {
	t.Helper()
	var body map[string]any
	if err := json.Unmarshal(w.Body.Bytes(), &body); err != nil {
		t.Fatalf("%v: %s", err, w.Body)
	}
	return body
}
