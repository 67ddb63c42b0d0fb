package api_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// expectation is a file of testdata/response: what spec 001 shows of a response,
// field by field, and what ours says beyond that. A text that begins with ~ is
// a regular expression, for sentences: ours are our own, and must hold the
// facts.
type expectation struct {
	Status int            `json:"status"`
	Body   map[string]any `json:"body"`
	Beyond []string       `json:"beyond"` // paths of members that spec 001 does not show
}

func expect(t *testing.T, name string) expectation {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "response", name+".json"))
	if err != nil {
		t.Fatal(err)
	}
	var want expectation
	if err := json.Unmarshal(data, &want); err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return want
}

// check compares a response with an expectation, all of it.
func (want expectation) check(t *testing.T, out *httptest.ResponseRecorder) {
	t.Helper()
	if out.Code != want.Status {
		t.Errorf("status %d, want %d", out.Code, want.Status)
	}
	var d difference
	d.compare("", want.Body, members(t, out.Body.Bytes()))
	for _, complaint := range d.wrong {
		t.Error(complaint)
	}
	slices.Sort(d.beyond)
	if !slices.Equal(d.beyond, want.Beyond) {
		t.Errorf("beyond the specification there are %q, want %q", d.beyond, want.Beyond)
	}
	if t.Failed() {
		t.Logf("the response is %s", out.Body)
	}
}

// difference is what a comparison found.
type difference struct {
	wrong  []string
	beyond []string
}

func (d *difference) compare(path string, want, got any) {
	switch want := want.(type) {
	case map[string]any:
		if object, ok := got.(map[string]any); ok {
			d.compareObjects(path, want, object)
			return
		}
	case []any:
		if list, ok := got.([]any); ok && len(list) == len(want) {
			for i := range want {
				d.compare(path+"."+strconv.Itoa(i), want[i], list[i])
			}
			return
		}
	case string:
		pattern, isPattern := strings.CutPrefix(want, "~")
		if text, ok := got.(string); ok && isPattern && regexp.MustCompile(pattern).MatchString(text) {
			return
		}
	}
	if !reflect.DeepEqual(want, got) {
		d.wrong = append(d.wrong, fmt.Sprintf("%s is %v, want %v", strings.TrimPrefix(path, "."), got, want))
	}
}

func (d *difference) compareObjects(path string, want, got map[string]any) {
	for _, name := range slices.Sorted(maps.Keys(want)) {
		if value, ok := got[name]; ok {
			d.compare(path+"."+name, want[name], value)
		} else {
			d.wrong = append(d.wrong, strings.TrimPrefix(path+"."+name, ".")+" is missing")
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok {
			d.beyond = append(d.beyond, strings.TrimPrefix(path+"."+name, "."))
		}
	}
}

// checkEnvelope holds an error response to the base structure of spec 001: the
// required members are there, the optional ones have their form, there are no
// others, and the header agrees with the body.
func checkEnvelope(t *testing.T, s *service, out *httptest.ResponseRecorder) recoup.Code {
	t.Helper()
	var body struct {
		Code          recoup.Code    `json:"error_code"`
		Message       string         `json:"message"`
		Details       map[string]any `json:"details"`
		RequestID     string         `json:"request_id"`
		Timestamp     time.Time      `json:"timestamp"`
		RetryAfter    int            `json:"retry_after"`
		Documentation string         `json:"documentation_url"`
	}
	decoder := json.NewDecoder(strings.NewReader(out.Body.String()))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&body); err != nil {
		t.Fatalf("%v in %s", err, out.Body)
	}
	header := out.Header()
	retryAfter, _ := strconv.Atoi(header.Get("Retry-After"))
	for what, ok := range map[string]bool{
		"error_code is UPPER_SNAKE_CASE":       regexp.MustCompile(`^[A-Z]+(_[A-Z]+)*$`).MatchString(string(body.Code)),
		"message is a sentence":                strings.HasSuffix(body.Message, "."),
		"request_id begins with req_":          strings.HasPrefix(body.RequestID, "req_"),
		"the header has the same request id":   header.Get(fault.RequestIDHeader) == body.RequestID,
		"timestamp is the time of the request": body.Timestamp.Equal(s.Now()),
		"documentation_url leads to the code":  body.Documentation == documentation+string(body.Code),
		"the header has the same retry_after":  retryAfter == body.RetryAfter,
		"it is JSON":                           header.Get("Content-Type") == fault.MediaJSON,
	} {
		if !ok {
			t.Errorf("not so: %s: %s %v", what, out.Body, header)
		}
	}
	if def, ok := fault.Default().Lookup(body.Code); ok && def.HTTPStatus != out.Code {
		t.Errorf("%s comes with status %d, and its definition says %d", body.Code, out.Code, def.HTTPStatus)
	}
	return body.Code
}
