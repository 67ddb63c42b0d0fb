package simulation_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"
	"time"

	"github.com/recoup-dev/recoup/server/internal/simulation"
)

func TestReadHistory(t *testing.T) {
	got, err := simulation.ReadHistory(strings.NewReader(`{"ts":"2026-02-03T10:00:00+01:00","table":"outreach.dol_errors","entity_id":"CO-2","code":"rate_limit_exceeded","severity":"high","retry_after":90,"message":"not looked at"}

{"ts":"2026-02-02T09:00:00Z","table":"outreach.dol_errors","code":"NETWORK_TIMEOUT"}
`))
	want := []simulation.Failure{
		{At: time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC), Table: dol, Code: "NETWORK_TIMEOUT"},
		{
			At: time.Date(2026, 2, 3, 9, 0, 0, 0, time.UTC), Table: dol, EntityID: "CO-2",
			Code: "RATE_LIMIT_EXCEEDED", Severity: "HIGH", RetryAfter: 90 * time.Second,
		},
	}
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("got %+v, %v", got, err)
	}
}

func TestReadHistoryRefuses(t *testing.T) {
	const rest = `"table":"outreach.dol_errors","code":"TIMEOUT"`
	for _, row := range []struct{ name, text, want string }{
		{"no JSON", "ts=2026", "line 1: not JSON at character 2"},
		{"half a line", `{"ts":"2026-02-02T09:00:00Z",`, "line 1: not JSON at character"},
		{"a list", `[1]`, "line 1: a array: expected an object"},
		{"no time", `{` + rest + `}`, "line 1: ts is missing"},
		{"a bad time", `{"ts":"yesterday",` + rest + `}`, `line 1: ts is "yesterday": expected a time such as`},
		{"no table", `{"ts":"2026-02-02T09:00:00Z","code":"TIMEOUT"}`, "line 1: table is missing"},
		{"no code", `{"ts":"2026-02-02T09:00:00Z","table":"t"}`, "line 1: code is empty"},
		{"a bad code", `{"ts":"2026-02-02T09:00:00Z","table":"t","code":"a-b"}`, "line 1: code has the character '-'"},
		{"a bad severity", `{"ts":"2026-02-02T09:00:00Z","severity":"loud",` + rest + `}`, `line 1: severity is "LOUD"`},
		{"a number as a table", `{"ts":"2026-02-02T09:00:00Z","table":7,"code":"TIMEOUT"}`, "line 1: table is a number: expected a string"},
		{"a negative wait", `{"ts":"2026-02-02T09:00:00Z","retry_after":-1,` + rest + `}`, "line 1: retry_after is -1"},
		{"the second line", `{"ts":"2026-02-02T09:00:00Z",` + rest + "}\n\n{}", "line 3: ts is missing"},
		{"a line without end", strings.Repeat("x", 2<<20), "line 1: longer than 1048576 bytes"},
	} {
		t.Run(row.name, func(t *testing.T) {
			got, err := simulation.ReadHistory(strings.NewReader(row.text))
			var bad *simulation.HistoryError
			if got != nil || !errors.As(err, &bad) || !strings.Contains(err.Error(), row.want) {
				t.Errorf("got %v, %v; want %q", got, err, row.want)
			}
		})
	}
}

// Every bad line is listed, up to a number nobody reads beyond.
func TestReadHistoryListsBadLines(t *testing.T) {
	_, err := simulation.ReadHistory(strings.NewReader(strings.Repeat("{}\n", 100)))
	var bad *simulation.HistoryError
	if !errors.As(err, &bad) || len(bad.Problems) != 20 || bad.Problems[19].Line != 20 {
		t.Errorf("%+v", bad)
	}
}

func TestReadHistoryReadError(t *testing.T) {
	broken := errors.New("the disk is gone")
	if _, err := simulation.ReadHistory(iotest.ErrReader(broken)); !errors.Is(err, broken) {
		t.Errorf("got %v", err)
	}
}

func FuzzReadHistory(f *testing.F) {
	f.Add(`{"ts":"2026-02-02T09:00:00Z","table":"t","code":"TIMEOUT","retry_after":1e300}`)
	f.Add("{}\n[]\n\x00")
	f.Add(`{"ts":"9999-12-31T23:59:59Z","table":"outreach.dol_errors","entity_id":"e","code":"a"}`)
	f.Fuzz(func(t *testing.T, text string) {
		history, err := simulation.ReadHistory(strings.NewReader(text))
		if err != nil || len(history) == 0 {
			return
		}
		o := defaults()
		o.History, o.Length = history, 0
		if _, err := simulation.Run(t.Context(), o); err != nil {
			t.Fatal(err)
		}
	})
}
