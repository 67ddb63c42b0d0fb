package fault

import (
	"bytes"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

func response503(body string, headers ...string) *http.Response {
	return responseOf(503, MediaJSON, body, headers...)
}

func responseOf(status int, contentType, body string, headers ...string) *http.Response {
	h := http.Header{"Content-Type": {contentType}}
	for i := 0; i < len(headers); i += 2 {
		h.Set(headers[i], headers[i+1])
	}
	return &http.Response{StatusCode: status, Header: h, Body: io.NopCloser(strings.NewReader(body))}
}

// What Write sends, Decode reads, in both media types.
func TestDecodeReadsWhatWriteSends(t *testing.T) {
	sent := Validation(FieldError{Field: "name", Value: "", Constraint: "required", Message: "A name is needed."}).After(3 * time.Second)
	sent.RequestID, sent.Timestamp = "req_7", time.Date(2026, 2, 2, 9, 30, 0, 5e6, time.UTC)
	sent.DocumentationURL = "/errors/VALIDATION_ERROR"
	for _, accept := range []string{MediaJSON, MediaProblem} {
		w := httptest.NewRecorder()
		r := httptest.NewRequest("POST", "/", nil)
		r.Header.Set("Accept", accept)
		Write(w, r, sent)
		got := Decode(w.Result())
		if got.Code != sent.Code || got.Message != sent.Message || got.RequestID != sent.RequestID || got.Status != 400 ||
			!got.Timestamp.Equal(sent.Timestamp) || got.RetryAfter != sent.RetryAfter || got.DocumentationURL != sent.DocumentationURL {
			t.Errorf("%s: %+v", accept, got)
		}
		if f := got.Fields(); len(f) != 1 || f[0] != sent.Fields()[0] {
			t.Errorf("%s: fields %+v", accept, f)
		}
	}
}

func TestDecodeSuccess(t *testing.T) {
	if e := Decode(responseOf(200, MediaJSON, `{"error_code":"TIMEOUT"}`)); e != nil {
		t.Errorf("a success is taken for %v", e)
	}
}

// Where the body names no code, the status decides.
func TestDecodeForeignBodies(t *testing.T) {
	html := "<html>" + strings.Repeat("<p>Bad gateway</p>", 10000)
	for _, row := range []struct {
		status    int
		media     string
		body      string
		code      recoup.Code
		retryable bool
	}{
		{400, "", "", CodeValidationError, false},
		{401, "text/html", html, CodeInvalidAPIKey, false},
		{403, "text/plain", "no", CodeInsufficientPermissions, false},
		{404, MediaProblem, `{"type":"about:blank","title":"Not Found","status":404}`, CodeNotFound, false},
		{405, "", "", CodeMethodNotAllowed, false},
		{408, "", "", CodeNetworkTimeout, true},
		{409, "", "", CodeConflict, false},
		{410, "", "", CodeNotFound, false},
		{412, "", "", CodeStaleRead, false},
		{413, "", "", CodePayloadTooLarge, false},
		{415, "", "", CodeUnsupportedContentType, false},
		{418, "", "", CodeValidationError, false},
		{429, MediaJSON, `{"error":"slow down"}`, CodeRateLimitExceeded, true},
		{500, MediaJSON, `[1,2]`, CodeInternalError, true},
		{502, "text/html", html, CodeUpstreamError, true},
		{503, MediaJSON, `{"error_code":"TIMEOUT"`, CodeTemporaryUnavailable, true},
		{503, MediaJSON, `{"error_code":"not a code"}`, CodeTemporaryUnavailable, true},
		{504, "", "", CodeNetworkTimeout, true},
		{599, "", "", CodeUpstreamError, true},
		{404, MediaJSON, `{"error_code":"NO_SUCH_THING"}`, "NO_SUCH_THING", false},
		{500, MediaJSON, `{"error_code":"broke_down"}`, "BROKE_DOWN", true},
		{409, MediaJSON, `{"error_code":"already_exists"}`, CodeDuplicateRecord, false},
	} {
		e := Decode(responseOf(row.status, row.media, row.body))
		if e.Code != row.code || e.Retryable(false) != row.retryable || e.Status != row.status {
			t.Errorf("%d %.40s: %s, retryable %t; want %s, %t", row.status, row.body, e.Code, e.Retryable(false), row.code, row.retryable)
		}
		if e.Message == "" || strings.Contains(e.Message, "<p>") {
			t.Errorf("%d %.40s: message %q", row.status, row.body, e.Message)
		}
	}
}

// One member of the wrong type does not cost the others.
func TestDecodeTolerates(t *testing.T) {
	e := Decode(response503(`{"error_code":"timeout","message":7,"details":[1],"request_id":"req_1","timestamp":"noon","retry_after":1.2}`))
	if e.Code != CodeTimeout || e.RequestID != "req_1" || e.RetryAfter != 2*time.Second || !e.Timestamp.IsZero() || e.Details != nil {
		t.Errorf("%+v", e)
	}
	if e.Message != "The server answered with status 503 Service Unavailable and a body of type application/json." {
		t.Error(e.Message)
	}
}

func TestDecodeHeaders(t *testing.T) {
	const date, later = "Mon, 02 Feb 2026 09:30:00 GMT", "Mon, 02 Feb 2026 09:31:00 GMT"
	for name, row := range map[string]struct {
		body    string
		headers []string
		want    time.Duration
	}{
		"none":                 {`{}`, nil, 0},
		"seconds":              {`{}`, []string{"Retry-After", "120"}, 2 * time.Minute},
		"date":                 {`{}`, []string{"Retry-After", later, "Date", date}, time.Minute},
		"date without a clock": {`{}`, []string{"Retry-After", later}, 0},
		"the body asks longer": {`{"retry_after":300}`, []string{"Retry-After", "120"}, 5 * time.Minute},
		"the header does":      {`{"retry_after":30}`, []string{"Retry-After", "120"}, 2 * time.Minute},
		"nonsense":             {`{"retry_after":-5}`, []string{"Retry-After", "soon"}, 0},
		"more than time holds": {`{"retry_after":1e300}`, nil, 1<<31*time.Second - time.Second},
	} {
		e := Decode(response503(row.body, append(row.headers, "X-Request-Id", "req_h")...))
		if e.RetryAfter != row.want || e.RequestID != "req_h" {
			t.Errorf("%s: %v, %q; want %v", name, e.RetryAfter, e.RequestID, row.want)
		}
	}
}

type brokenBody struct{ read int }

func (b *brokenBody) Read(p []byte) (int, error) {
	b.read += len(p)
	for i := range p {
		p[i] = ' '
	}
	return len(p), nil
}

func (b *brokenBody) Close() error { return nil }

func TestDecodeReadsBounded(t *testing.T) {
	endless := new(brokenBody)
	resp := response503("")
	resp.Body = endless
	if e := Decode(resp); e.Code != CodeTemporaryUnavailable || endless.read > 2*maxErrorBody {
		t.Errorf("%s after %d bytes", e.Code, endless.read)
	}
	resp.Body = io.NopCloser(io.MultiReader(strings.NewReader(`{"error_code":"TIMEOUT"}`), errReader{}))
	if e := Decode(resp); e.Code != CodeTimeout {
		t.Errorf("what arrived is lost: %s", e.Code)
	}
	resp.Body = nil
	if e := Decode(resp); e.Code != CodeTemporaryUnavailable {
		t.Errorf("without a body: %s", e.Code)
	}
}

type errReader struct{}

func (errReader) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

func TestDecodeWithOwnCodes(t *testing.T) {
	own := *mustLookup(t, CodeTimeout)
	own.Code, own.Example, own.Class, own.Repeat = "PRINTER_ON_FIRE", nil, recoup.ClassFatal, ""
	reg, err := Default().With(own)
	if err != nil {
		t.Fatal(err)
	}
	body := `{"error_code":"printer_on_fire"}`
	if e := reg.Decode(response503(body)); e.Code != "PRINTER_ON_FIRE" || e.Retryable(true) {
		t.Errorf("%s, retryable %t", e.Code, e.Retryable(true))
	}
	if e := Decode(response503(body)); !e.Retryable(true) {
		t.Error("an unknown code of a 503 is not treated as a 503")
	}
}

func FuzzDecode(f *testing.F) {
	f.Add(503, MediaJSON, "5", []byte(`{"error_code":"TIMEOUT","details":{"errors":[{"field":"x"}]},"retry_after":3}`))
	f.Add(404, MediaProblem, "", []byte(`{"type":"about:blank","title":"Not Found","status":404}`))
	f.Add(502, "text/html", "Mon, 02 Feb 2026 09:30:00 GMT", []byte(`<html>`))
	f.Add(400, "", "-1", []byte(`{"error_code":"x","retry_after":1e999}`))
	f.Fuzz(func(t *testing.T, status int, media, after string, body []byte) {
		resp := responseOf(status, media, "", "Retry-After", after)
		resp.Body = io.NopCloser(bytes.NewReader(body))
		e := Decode(resp)
		if status < 400 {
			if e != nil {
				t.Fatal("a success is a failure")
			}
			return
		}
		if _, err := recoup.ParseCode(string(e.Code)); err != nil || e.Message == "" || e.RetryAfter < 0 || e.Definition() == nil {
			t.Fatalf("%+v: %v", e, err)
		}
		_ = e.Fields()
		if v := Classify(e); v.Code != e.Code || v.Page {
			t.Fatalf("%s is classified as %+v", e.Code, v)
		}
		own := *e
		own.foreign = false
		for written, want := range map[*Error]recoup.Code{e: CodeExternalServiceError, &own: e.Code} {
			w := httptest.NewRecorder()
			Write(w, httptest.NewRequest("GET", "/", nil), written)
			if again := Decode(w.Result()); again.Code != want {
				t.Fatalf("%s becomes %s", written.Code, again.Code)
			}
		}
	})
}
