package api_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// answer is what came back.
type answer struct {
	*httptest.ResponseRecorder
	t *testing.T
}

// request makes a request. A body that is no text is sent as JSON; headers come in
// pairs.
func (w *world) request(key, method, path string, body any, headers ...string) *http.Request {
	w.Helper()
	var r io.Reader
	media := "application/json"
	switch b := body.(type) {
	case nil:
	case string:
		r = strings.NewReader(b)
	case []byte:
		r = bytes.NewReader(b)
	default:
		data, err := json.Marshal(b)
		if err != nil {
			w.Fatal(err)
		}
		r = bytes.NewReader(data)
	}
	req := httptest.NewRequestWithContext(w.Context(), method, path, r)
	if r != nil {
		req.Header.Set("Content-Type", media)
	}
	if secret, ok := w.keys[key]; ok {
		req.Header.Set("Authorization", "Bearer "+secret)
	} else if key != "" {
		w.Fatalf("there is no key %s", key)
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	return req
}

// do sends a request and holds the answer to the document.
func (w *world) do(key, method, path string, body any, headers ...string) *answer {
	w.Helper()
	return w.send(w.request(key, method, path, body, headers...))
}

// answered sends a request without looking at the answer.
func (w *world) answered(r *http.Request) *answer {
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	return &answer{rec, w.T}
}

func (w *world) send(r *http.Request) *answer {
	w.Helper()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		w.Fatal(err)
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, r)
	w.document.hold(w.T, r, body, rec)
	return &answer{rec, w.T}
}

// get, post and put are do with a key of the role admin.
func (w *world) get(path string) *answer {
	w.Helper()
	return w.do("admin", http.MethodGet, path, nil)
}

func (w *world) post(path string, body any, headers ...string) *answer {
	w.Helper()
	return w.do("admin", http.MethodPost, path, body, headers...)
}

// ok fails the test unless the answer is good, and reads it.
func (a *answer) ok(into ...any) *answer {
	a.t.Helper()
	if a.Code >= 300 {
		a.t.Fatalf("got %d %s", a.Code, a.Body)
	}
	for _, v := range into {
		if err := json.Unmarshal(a.Body.Bytes(), v); err != nil {
			a.t.Fatal(err)
		}
	}
	return a
}

// said is what a failure says beside its code.
type said struct {
	Message    string
	RequestID  string
	Details    object
	RetryAfter time.Duration
	Fields     []fault.FieldError
}

// failed fails the test unless the answer is a failure of that status and code.
func (a *answer) failed(status int, code recoup.Code) said {
	a.t.Helper()
	var e fault.Error
	if err := json.Unmarshal(a.Body.Bytes(), &e); err != nil || a.Code != status || e.Code != code {
		a.t.Fatalf("got %d %s, want %d %s", a.Code, a.Body, status, code)
	}
	return said{e.Message, e.RequestID, e.Details, e.RetryAfter, e.Fields()}
}

// invalid fails the test unless the answer complains about that field alone.
func (a *answer) invalid(field, constraint string) {
	a.t.Helper()
	e := a.failed(http.StatusBadRequest, fault.CodeValidationError)
	if f := e.Fields; len(f) != 1 || f[0].Field != field || f[0].Constraint != constraint {
		a.t.Fatalf("got %+v, want %s %s", f, field, constraint)
	}
}
