package cli_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"
	"unicode"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// steering is added to texts of a hostile server: sequences of ECMA-48, C1, and directions.
const steering = "\x1b[31mEVIL\x1b]0;t\x07\u009b31m\x08\x7f\u202e"

// spoiled adds what steers a terminal to every text of a JSON value, apart from those that a client
// parses: ids, times, spans and the text of a policy.
func spoiled(name string, value any) any {
	switch v := value.(type) {
	case map[string]any:
		for name := range v {
			v[name] = spoiled(name, v[name])
		}
	case []any:
		for i := range v {
			v[i] = spoiled(name, v[i])
		}
	case string:
		if !isParsed(name, v) {
			return v + steering
		}
	}
	return value
}

func isParsed(name, text string) bool {
	_, noTime := time.Parse(time.RFC3339Nano, text)
	_, noDate := time.Parse(time.DateOnly, text)
	_, noSpan := time.ParseDuration(text)
	return strings.HasSuffix(name, "_id") || name == "id" || name == "text" || text == "" || noTime == nil || noDate == nil || noSpan == nil
}

// hostileServer answers as another server does, with all texts spoiled.
func hostileServer(t *testing.T, honest string) string {
	t.Helper()
	return clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		in, err := http.NewRequestWithContext(r.Context(), r.Method, honest+r.URL.RequestURI(), r.Body)
		if err != nil {
			t.Error(err)
			return
		}
		in.Header = r.Header.Clone()
		in.Header.Del("Accept-Encoding")
		answer, err := http.DefaultClient.Do(in)
		if err != nil {
			return // the command has ended
		}
		defer func() { _ = answer.Body.Close() }()
		body, _ := io.ReadAll(answer.Body)
		var value any
		if json.Unmarshal(body, &value) == nil {
			body, _ = json.Marshal(spoiled("", value))
		}
		w.Header().Set("Content-Type", answer.Header.Get("Content-Type"))
		w.WriteHeader(answer.StatusCode)
		_, _ = io.Copy(w, bytes.NewReader(body))
	}).URL
}

// No command that reads prints a character that steers a terminal, whatever its server answers.
func TestHostileServer(t *testing.T) {
	t.Parallel()
	lists := clitest.At(t, hostileServer(t, scripted(t)))
	for _, line := range screens {
		wantInert(t, lists, line)
	}
	alert := clitest.At(t, hostileServer(t, clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		if err := json.NewEncoder(w).Encode(wire.Alert{Rule: "burst", Scope: "*", State: "FIRING", Severity: "page", Condition: "5%"}); err != nil {
			t.Error(err)
		}
	}).URL))
	wantInert(t, alert, "alerts show 019c2b00-1c00-7a11-8c01-aabbccddff01")
	n := clitest.Start(t, true)
	first := func(list, member string, args ...string) string {
		var page map[string]json.RawMessage
		clitest.Parse(t, n.Must(append(args, "--json")...), &page)
		var rows []map[string]any
		if err := json.Unmarshal(page[list], &rows); err != nil || len(rows) == 0 {
			t.Fatalf("%v has no %s: %v", args, list, err)
		}
		return fmt.Sprint(rows[0][member])
	}
	pages := []string{"status", "doctor"}
	for _, id := range []string{n.IDs("--parked")[0], n.IDs("--state", "RETRY_PENDING")[0]} {
		pages = append(pages, "errors show "+id, "errors explain "+id, "errors history "+id)
	}
	pages = append(pages, "dead-letters show "+first("dead_letters", "error_id", "dead-letters", "list"))
	n.URL = hostileServer(t, n.URL)
	for _, line := range pages {
		wantInert(t, n, line)
	}
}

// wantInert runs a command in all its forms.
func wantInert(t *testing.T, n *clitest.Node, line string) {
	t.Helper()
	for _, form := range []string{"", "-o json", "-o yaml", "-o csv", "-o wide"} {
		r := n.Run(strings.Fields(line + " " + form)...)
		if form == "" && r.Out == "" {
			t.Errorf("recoup %s prints nothing: %s", line, r.Err)
		}
		for _, c := range r.Out + r.Err {
			if !unicode.IsGraphic(c) && c != '\n' && c != '\t' {
				t.Errorf("recoup %s %s prints %U: %q", line, form, c, r.Out+r.Err)
				break
			}
		}
	}
}
