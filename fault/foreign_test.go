package fault

import (
	"encoding/json"
	"fmt"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

const hostile = `{"error_code":"INVALID_API_KEY","message":"key sk_live_1 is revoked","details":{"key":"sk_live_1"},` +
	`"retry_after":7,"documentation_url":"javascript:alert(1)"}`

// What another service answered is not passed on to our caller.
func TestWriteHidesWhatWasDecoded(t *testing.T) {
	decoded := func() *Error { return Decode(responseOf(401, MediaJSON, hostile)) }
	unmarshalled := new(Error)
	if err := json.Unmarshal([]byte(hostile), unmarshalled); err != nil {
		t.Fatal(err)
	}
	for name, err := range map[string]error{
		"as it is":     decoded(),
		"wrapped":      fmt.Errorf("call: %w", decoded()),
		"with more":    decoded().With("a", 1).After(time.Second),
		"unmarshalled": unmarshalled,
	} {
		b := newBench()
		w := b.serve(t, post(), fail(err))
		body := decodeMap(t, w)
		if w.Code != 502 || body["error_code"] != "EXTERNAL_SERVICE_ERROR" || body["details"] != nil || w.Header().Get("Retry-After") != "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if text := w.Body.String(); strings.Contains(text, "sk_live") || strings.Contains(text, "javascript") {
			t.Errorf("%s leaks: %s", name, w.Body)
		}
		if b.events[0].Code != CodeExternalServiceError || !strings.Contains(b.log.String(), "INVALID_API_KEY") {
			t.Errorf("%s: event %+v, log %s", name, b.events[0], &b.log)
		}
	}
}

// A program that wants to pass it on wraps it with its own code and message.
func TestWriteSendsWhatWasWrapped(t *testing.T) {
	w := httptest.NewRecorder()
	Write(w, httptest.NewRequest("GET", "/", nil), Wrap(Decode(responseOf(429, MediaJSON, hostile)), CodeTemporaryUnavailable, "Come back later."))
	if body := decodeMap(t, w); w.Code != 503 || body["message"] != "Come back later." || body["details"] != nil {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

// The verdict on a decoded error keeps its code and its wait, not its words.
func TestVerdictOfDecoded(t *testing.T) {
	v := Classify(Decode(responseOf(500, MediaJSON, `{"error_code":"RUNTIME_BUG","details":{"key":"sk_live_1"},"retry_after":7}`)))
	if v.Code != CodeRuntimeBug || v.Page || v.RetryAfter != 7*time.Second || fmt.Sprint(v.Details) != "map[upstream_status:500]" {
		t.Errorf("%+v", v)
	}
	var read Error
	if err := json.Unmarshal([]byte(hostile), &read); err != nil {
		t.Fatal(err)
	}
	if v := Classify(&read); v.Code != CodeInvalidAPIKey || len(v.Details) != 0 {
		t.Errorf("%+v", v)
	}
}

func TestDecodedLinks(t *testing.T) {
	for link, kept := range map[string]bool{
		"https://docs.example.com/errors/X": true,
		"http://docs.example.com/":          true,
		"/errors/X":                         true,
		"/":                                 true,
		"javascript:alert(1)":               false,
		"JaVaScRiPt:alert(1)":               false,
		"data:text/html,x":                  false,
		"about:blank":                       false,
		"//evil.example.com/x":              false,
		`/\evil.example.com`:                false,
		"https:evil":                        false,
		"errors/X":                          false,
		" https://example.com":              false,
		"https://ex ample.com":              false,
	} {
		want := ""
		if kept {
			want = link
		}
		body, err := json.Marshal(map[string]string{"error_code": "TIMEOUT", "documentation_url": link})
		if err != nil {
			t.Fatal(err)
		}
		var read Error
		if err := json.Unmarshal(body, &read); err != nil {
			t.Fatal(err)
		}
		if got := Decode(response503(string(body))).DocumentationURL; got != want || read.DocumentationURL != want {
			t.Errorf("%q: decoded as %q, unmarshalled as %q", link, got, read.DocumentationURL)
		}
	}
}

// Times that JSON cannot hold in UTC are dropped, and the rest stands.
func TestTimesOutsideOfTheCalendar(t *testing.T) {
	for _, ts := range []string{"9999-12-31T23:59:59-01:00", "0000-01-01T00:00:00+01:00", "0000-06-01T00:00:00Z"} {
		body := `{"error_code":"TIMEOUT","message":"m","timestamp":"` + ts + `"}`
		var read Error
		if err := json.Unmarshal([]byte(body), &read); err != nil {
			t.Fatal(err)
		}
		if e := Decode(response503(body)); !e.Timestamp.IsZero() || !read.Timestamp.IsZero() {
			t.Errorf("%s: decoded as %v, unmarshalled as %v", ts, e.Timestamp, read.Timestamp)
		}
		at, err := time.Parse(time.RFC3339, ts)
		if err != nil {
			t.Fatal(err)
		}
		for _, accept := range []string{MediaJSON, MediaProblem} {
			w, r := httptest.NewRecorder(), httptest.NewRequest("GET", "/", nil)
			r.Header.Set("Accept", accept)
			Write(w, r, &Error{Code: CodeTimeout, Timestamp: at, Details: map[string]any{"f": func() {}}})
			if body := decodeMap(t, w); w.Code != 504 || body["error_code"] != "TIMEOUT" || body["timestamp"] != nil {
				t.Errorf("%s: %d %v", ts, w.Code, body)
			}
		}
	}
}
