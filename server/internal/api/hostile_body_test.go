package api_test

import (
	"fmt"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// bombs are bodies that are made to break a decoder, or whoever waits for it.
func bombs() map[string]string {
	keys := make([]string, 10_000)
	for i := range keys {
		keys[i] = fmt.Sprintf(`"k%d":0`, i)
	}
	return map[string]string{
		"deep lists":         strings.Repeat("[", 30_000),
		"deep objects":       strings.Repeat(`{"a":`, 10_000) + "1" + strings.Repeat("}", 10_000),
		"deep in a field":    `{"details":` + strings.Repeat("[", 20) + strings.Repeat("]", 20) + `}`,
		"10,000 keys":        "{" + strings.Join(keys[:5000], ",") + "}",
		"10,000 details":     `{"details":{` + strings.Join(keys[:5000], ",") + `}}`,
		"a huge number":      `{"retry_after":` + strings.Repeat("9", 10_000) + `}`,
		"a huge exponent":    `{"http_status":1e999999999}`,
		"a huge detail":      `{"details":{"limit":1e400}}`,
		"invalid UTF-8":      "{\"table\":\"\xff\xfe\"}",
		"overlong UTF-8":     "{\"table\":\"\xc0\x80\"}",
		"half a surrogate":   `{"table":"\ud800"}`,
		"a mark":             "\xef\xbb\xbf{}",
		"NULs":               strings.Repeat("\x00", 1000),
		"a string":           `"` + strings.Repeat("a", 60_000),
		"escapes":            `{"` + strings.Repeat(`\u0061`, 5_000) + `":1}`,
		"a field twice":      `{"table":"a","table":"b"}`,
		"a field hidden":     `{"table":"a","t\u0061ble":"b"}`,
		"in another case":    `{"Table":"a"}`,
		"null":               `null`,
		"true":               `true`,
		"commas":             "{" + strings.Repeat(",", 1000) + "}",
		"colons":             `{"a"::1}`,
		"a prototype":        `{"__proto__":{"admin":true}}`,
		"an id that is none": `{"correlation_id":"zzzzzzzz-zzzz-zzzz-zzzz-zzzzzzzzzzzz"}`,
	}
}

// Bodies that are made to break something are refused by every endpoint that takes
// one, quickly, and leave nothing behind. This test does not run beside others: it
// counts goroutines and memory.
func TestHostileBodies(t *testing.T) { //nolint:paralleltest // it counts what is left behind
	w := newWorld(t)
	before := w.trace()
	attack := func() {
		for _, rt := range routeInfos() {
			if rt.Method == http.MethodGet {
				continue
			}
			w.wait(time.Second) // so that it is the body that is refused, not the number of requests
			path := pathParameter.ReplaceAllString(rt.Path, "019c1d94-8a80-7000-9a83-b105619023d7")
			for name, body := range bombs() {
				if got := w.do("admin", rt.Method, path, body); got.Code < 400 || got.Code >= 500 {
					t.Errorf("%s answers %s with %d %.300s", rt.Name(), name, got.Code, got.Body)
				}
			}
		}
	}
	attack()
	goroutines, memory := left()
	attack()
	if n, m := left(); n > goroutines+2 || m > memory+4<<20 {
		t.Errorf("from %d to %d goroutines, from %d to %d bytes", goroutines, n, memory, m)
	}
	if after := w.trace(); after != before {
		t.Errorf("something was stored: from\n%s\nto\n%s", before, after)
	}
}

// left is what there is of goroutines and memory once the garbage is gone.
func left() (goroutines int, memory uint64) {
	var m runtime.MemStats
	for range 3 {
		runtime.GC()
		runtime.ReadMemStats(&m)
	}
	return runtime.NumGoroutine(), m.HeapAlloc
}

// A report that is cut off anywhere is refused, and one that is not is taken.
func TestCutOff(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	whole := string(mustJSON(recoup.Report{Table: dol, EntityID: "CO-1", Code: "TIMEOUT", Message: "é\"\\", Details: object{"limit": 3}}))
	for i := range len(whole) {
		if got := w.post("/v1/errors", whole[:i]); got.Code != http.StatusBadRequest {
			t.Fatalf("%q answers %d %s", whole[:i], got.Code, got.Body)
		}
	}
	w.post("/v1/errors", whole).ok()
}

// What is wrong with a body is named where it is.
func TestWhereItIs(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	for body, want := range map[string][2]string{
		`{"reports":[{"table":"t","code":"TIMEOUT","tabel":"t"}]}`:               {"reports[0].tabel", "unknown"},
		`{"reports":[{"table":"t","code":"TIMEOUT","table":"u"}]}`:               {"reports[0].table", "unique"},
		`{"reports":[{"table":"t","code":"TIMEOUT"}],"raports":[]}`:              {"raports", "unknown"},
		`{"reports":[{"table":"t","code":"TIMEOUT","http_status":"x"}]}`:         {"reports[0].http_status", "type"},
		`{"reports":[{"table":"t","code":"TIMEOUT","details":{"limit":1e400}}]}`: {"reports[0].details.limit", "type"},
		`{"reports":{}}`: {"reports", "type"},
		`{"reports":[]}`: {"reports", "items"},
		`{}`:             {"reports", "items"},
		`null`:           {"body", "type"},
		`[]`:             {"body", "type"},
		`{"reports":[{"table":"t","code":"TIMEOUT","sk_live_4eC39HqLyjWDarjtT1zdp7dc4eC39HqLyjWDarjt":1}]}`:           {"reports[0].(a name that looks like a secret)", "unknown"},
		`{"reports":[{"table":"t","code":"TIMEOUT","` + strings.Repeat("k", 500) + `":1}]}`:                           {"reports[0].(a name of 500 bytes)", "unknown"},
		`{"reports":[{"table":"t","code":"TIMEOUT","a\u202eb":1}]}`:                                                   {"reports[0].(a name that cannot be shown)", "unknown"},
		`{"reports":[{"table":"t","code":"TIMEOUT","correlation_id":"sk_live_4eC39HqLyjWDarjtT1zdp7dc4eC39HqLyjW"}]}`: {"reports[0].correlation_id", "format"},
	} {
		got := w.post("/v1/errors/batch", body)
		got.invalid(want[0], want[1])
		if strings.Contains(got.Body.String(), "sk_live") {
			t.Errorf("the answer repeats what was sent: %s", got.Body)
		}
	}
	e := w.post("/v1/errors/batch", strings.Repeat("[", 17)).failed(http.StatusBadRequest, fault.CodeMalformedJSON)
	if !strings.Contains(e.Message, "nested") {
		t.Errorf("the message is %q", e.Message)
	}
}
