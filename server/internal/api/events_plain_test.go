package api_test

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// plainLines are written as nearly all events are.
var plainLines = []string{
	`{"code":"TIMEOUT","service":"s"}`,
	`{ "code" : "TIMEOUT" , "service" : "s" , "http_status" : 503 }`,
	`{"event_id":"01ARZ3NDEKTSV4RRFFQ69G5FAV","ts":"2026-02-02T09:00:00Z","correlation_id":"0198c0de-0000-7000-8000-00000000000A"}`,
	`{"event_id":"","correlation_id":"","tenant":"acme","region":"eu","endpoint":"GET /x?y=1","external_service":"zerobounce"}`,
	`{"ts":"2026-02-02T09:00:00.123456789+02:00","http_status":0}`,
	`{"details":{"retryable":true,"limit":3,"field":"name","x":false,"y":0,"z":""}}`,
	`{"details":{}}`,
	`{"event_id":"not an id at all"}`,
	"{\"code\":\"\x7f\"}", `{"ts":"2026-02-02T9:00:00Z"}`, `{"ts":"2026-02-02T09:00:00,5Z"}`, // encoding/json takes them, too
}

// oddLines are not: each is right or wrong in a way that the plain reader must not
// decide about.
var oddLines = []string{
	`{}`, `null`, `[]`, `{"code":null}`, `{"details":null}`, `{"code":"a\u0041"}`, `{"code":"ü"}`, "{\"code\":\"a\tb\"}", "{\"code\":\t\"a\"}",
	`{"Code":"A"}`, `{"nope":1}`, `{"code":"A","code":"B"}`, `{"code":1}`, `{"code":"A"}x`, `{"code":"A"`, `{"code":"A",}`, `{"code" "A"}`, `{"code":"A""x":1}`,
	`{"http_status":-1}`, `{"http_status":01}`, `{"http_status":1.5}`, `{"http_status":1e2}`, `{"http_status":9007199254740993}`, `{"http_status":}`, `{"http_status":503x}`,
	`{"details":{"a":{"b":1}}}`, `{"details":{"a":[1]}}`, `{"details":{"a":null}}`, `{"details":{"a":1,"a":2}}`, `{"details":{"a":1,}}`, `{"details":{"a":1.5,"b":-2,"c":1e400}}`,
	`{"details":{"a":truex}}`, `{"details":{"a":tru}}`, `{"details":{"a":12345678901234567890}}`, `{"details":{"a":-0}}`, `{"details":{,}}`, `{"details":{"a":"1" "b":2}}`,
	`{"ts":"2026-02-02 09:00:00Z"}`, `{"ts":"2026-02-02T09:00:00+25:00"}`, `{"ts":""}`,
	`{"correlation_id":"zz"}`, `{"correlation_id":"0198c0de-0000-7000-8000-00000000000G"}`, "{\"code\":\"A\"}\v", `{"code":"A"} {"code":"B"}`, "\xff",
}

// agree fails unless a line is read alike with the plain reader and without it: the
// same event and the same count of unknown fields, or the same refusal.
func agree(t rapid.TB, line string) {
	t.Helper()
	fast, fastUnknown, fastErr := api.DecodeLines(line)
	slow, slowUnknown, slowErr := api.DecodeLinesSlowly(line)
	if fmt.Sprint(fastErr) != fmt.Sprint(slowErr) || fastUnknown != slowUnknown || !reflect.DeepEqual(fast, slow) {
		t.Fatalf("%q is read as\n%+v, %d, %v, and by encoding/json alone as\n%+v, %d, %v", line, fast, fastUnknown, fastErr, slow, slowUnknown, slowErr)
	}
}

func TestPlainEventsAreReadAsOthersAre(t *testing.T) {
	t.Parallel()
	for _, line := range plainLines {
		if !api.ReadsPlainly(line) {
			t.Errorf("%q is left to encoding/json", line)
		}
		agree(t, line)
	}
	for _, line := range oddLines {
		if api.ReadsPlainly(line) {
			t.Errorf("%q is taken", line)
		}
		agree(t, line)
	}
	for _, e := range conformance.SampleEvents(4, conformance.Epoch(), time.Second) {
		line, err := json.Marshal(e.Event)
		if err != nil || !api.ReadsPlainly(string(line)) {
			t.Errorf("%s, as the client writes it, is left to encoding/json: %v", line, err)
		}
	}
	agree(t, strings.Join(append(plainLines, oddLines[0], "", "  ", oddLines[1]), "\r\n"))
}

// Lines that are put together of good and bad pieces are read alike.
func TestPlainAndOtherEventsProperty(t *testing.T) {
	t.Parallel()
	names := []string{"event_id", "code", "correlation_id", "service", "endpoint", "http_status", "tenant", "details", "region", "external_service", "ts", "Code", "x", ""}
	values := []string{
		`"A"`, `""`, `"a b"`, `"\n"`, `"é"`, `7`, `0`, `00`, `-1`, `1.0`, `true`, `false`, `null`, `{}`, `[]`, `{"a":1}`, `{"a":"b","c":true}`, `{"a":{}}`, `{"a":1,"a":2}`,
		`"2026-02-02T09:00:00Z"`, `"2026-02-02T09:00:00.5+01:00"`, `"0198c0de-0000-7000-8000-00000000000a"`, `"01ARZ3NDEKTSV4RRFFQ69G5FAV"`, `123456789012345`, `1234567890123456`,
	}
	space := rapid.SampledFrom([]string{"", "", "", " ", "  ", "\t", "\r", "\x00"})
	rapid.Check(t, func(t *rapid.T) {
		var line strings.Builder
		line.WriteString("{")
		for i := range rapid.IntRange(0, 5).Draw(t, "members") {
			if i > 0 {
				line.WriteString(rapid.SampledFrom([]string{",", ",", ",", ",", ",,", ""}).Draw(t, "comma"))
			}
			name := rapid.SampledFrom(names).Draw(t, "name")
			fmt.Fprintf(&line, "%s%q%s:%s%s", space.Draw(t, "space"), name, space.Draw(t, "space"), rapid.SampledFrom(values).Draw(t, "value"), space.Draw(t, "space"))
		}
		line.WriteString(rapid.SampledFrom([]string{"}", "}", "}", "", "}}", "} x"}).Draw(t, "end"))
		agree(t, line.String())
	})
}

// FuzzPlainEvents: whatever a line is, it is read as encoding/json alone would.
func FuzzPlainEvents(f *testing.F) {
	for _, line := range append(plainLines, oddLines...) {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) { agree(t, line) })
}
