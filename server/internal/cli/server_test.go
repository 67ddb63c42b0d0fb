package cli_test

import (
	"encoding/json"
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Everything that prints for machines prints JSON and nothing else.
func TestServerJSON(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	parked, waiting := n.IDs("--parked"), n.IDs("--state", "RETRY_PENDING")
	for _, args := range [][]string{
		{"errors", "list", "--limit", "2"}, {"errors", "list", "--parked", "--all"}, {"errors", "list", "--all"},
		{"errors", "list", "--archived", "--table", "outreach.dol_errors"}, {"errors", "list", "--archived", "--table", "outreach.dol_errors", "--all"},
		{"errors", "show", parked[0]}, {"errors", "explain", parked[0]}, {"errors", "history", parked[0]},
		{"errors", "assign", parked[0], "--to", "ada"}, {"errors", "review", parked[0], parked[1]},
		{"errors", "park", waiting[0], "--reason", "x", "--dry-run"}, {"errors", "park", waiting[0], "--reason", "x"},
		{"errors", "escalate", "--entity", "nobody", "--reason", "x", "--yes"},
		{"report", "--table", "outreach.dol_errors", "--entity", "E", "--code", "TIMEOUT"},
		{"promotion", "check", "nobody/knows it"}, {"promote", "nobody", "--phase", "p"},
		{"events"}, {"events", "--all"}, {"events", "send"}, {"top"}, {"export", "events"}, {"export", "events", "--rows"},
		{"keys", "create", "--role", "reader", "--name", "x"}, {"keys", "list"}, {"keys", "list", "--valid"},
	} {
		r := n.Run(append(args, "--json")...)
		if !json.Valid([]byte(r.Out)) || r.Status != command.ExitDone || r.Err != "" {
			t.Errorf("%v: status %d, printed %s, said %s", args, r.Status, r.Out, r.Err)
		}
	}
	r := n.Run("promotion", "check", "CO-20260205-000001", "--json")
	var got recoup.PromotionStatus
	clitest.Parse(t, r.Out, &got)
	if r.Status != command.ExitRefused || !got.Blocked || len(got.Blockers) == 0 || r.Err != "" {
		t.Errorf("a closed gate: status %d: %+v, %s", r.Status, got, r.Err)
	}
}

// That nothing listens at an address is reported at once, with the way to a server.
func TestNoServer(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed again at once
	if err != nil {
		t.Fatal(err)
	}
	address := "http://" + free.Addr().String()
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	want := "recoup: no server answers at " + address + ": connect: connection refused\n" +
		"'recoup demo' starts one with sample data, 'recoup serve' one that keeps its data.\n" +
		"--server URL or $RECOUP_SERVER names one elsewhere.\n"
	for _, line := range []string{"errors list", "promotion check x", "top", "report --table a.b --code X", "events", "keys list"} {
		out, stderr, status := clitest.Run(t, append(strings.Fields(line), "--server", address)...)
		if status != command.ExitRefused || stderr != want || out != "" {
			t.Errorf("%s: status %d, said %q, printed %q", line, status, stderr, out)
		}
	}
}

// A server is named by the environment where no flag does.
func TestServerOfTheEnvironment(t *testing.T) {
	var key string
	s := clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		key = r.Header.Get("Authorization")
		_, _ = w.Write([]byte("{}"))
	})
	t.Setenv("RECOUP_SERVER", s.URL)
	t.Setenv("RECOUP_KEY", "rdb_environment")
	for _, line := range []string{"errors list", "keys list", "promotion check x"} {
		if out, stderr, status := clitest.Run(t, strings.Fields(line)...); status != command.ExitDone || key != "Bearer rdb_environment" {
			t.Errorf("%s: status %d with %q: %s %s", line, status, key, out, stderr)
		}
	}
	if _, stderr, status := clitest.Run(t, "top", "--key", "rdb_flag"); status != command.ExitDone || key != "Bearer rdb_flag" {
		t.Errorf("the flag does not win: status %d with %q: %s", status, key, stderr)
	}
	_, stderr, status := clitest.Run(t, "keys", "list", "--database", "sqlite:"+t.TempDir()+"/none.db")
	if status != command.ExitRefused || !strings.Contains(stderr, "there is no database file of that name") {
		t.Errorf("the flag --database does not win: status %d: %s", status, stderr)
	}
}

// A refusal for lack of permission says what is missing, and how to get it.
func TestPermissions(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	reader := strings.TrimSpace(n.Must("keys", "create", "--role", "reader", "--name", "looker"))
	limited := strings.TrimSpace(n.Must("keys", "create", "--role", "operator", "--name", "one hub", "--hub", "dol-filings"))
	for _, row := range []struct {
		key, command string
		want         []string
	}{
		{"", "errors list", []string{"INVALID_API_KEY", "way out  Set $RECOUP_KEY."}},
		{"rdb_nonsense", "errors list", []string{"INVALID_API_KEY"}},
		{reader, "report --table outreach.dol_errors --entity x --code TIMEOUT", []string{"INSUFFICIENT_PERMISSIONS", "role            reader", "required roles  ingest, worker, operator, admin", "way out         Ask an administrator"}},
		{reader, "keys create --role admin --name me", []string{"INSUFFICIENT_PERMISSIONS", "required roles  admin"}},
		{reader, "export events --rows", []string{"INSUFFICIENT_PERMISSIONS", "Only a key of the role admin may export rows"}},
		{limited, "events", []string{"INSUFFICIENT_PERMISSIONS", "hubs     dol-filings"}},
		{limited, "report --table people.people_errors --entity x --code TIMEOUT", []string{"INSUFFICIENT_PERMISSIONS"}},
	} {
		r := n.As(command.Streams{}, row.key, strings.Fields(row.command)...)
		for _, want := range append(row.want, "  request ", "recoup: ") {
			if !strings.Contains(r.Err, want) {
				t.Errorf("%s: said %q, without %q", row.command, r.Err, want)
			}
		}
		if r.Status != command.ExitRefused || r.Out != "" {
			t.Errorf("%s: status %d, printed %q", row.command, r.Status, r.Out)
		}
	}
	n.Wait(91 * 24 * time.Hour)
	if r := n.As(command.Streams{}, reader, "errors", "list"); r.Status != command.ExitRefused || !strings.Contains(r.Err, "expired at  2026-05-06T08:00:00Z") {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
}

// A long Retry-After is not waited for: it is reported.
func TestPatience(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		calls.Add(1)
		w.Header().Set("Retry-After", "90")
		w.WriteHeader(http.StatusTooManyRequests)
		_, _ = w.Write([]byte(`{"error_code":"RATE_LIMIT_EXCEEDED","message":"Too many.","details":{"limit":5,"window_sec":60},"request_id":"r-1"}`))
	})
	_, stderr, status := clitest.Run(t, "top", "--server", s.URL)
	for _, want := range []string{"recoup: RATE_LIMIT_EXCEEDED: Too many.\n", "limit       5\n", "request     r-1\n", "way out     Try again in 90s.\n"} {
		if !strings.Contains(stderr, want) {
			t.Errorf("said %q, without %q", stderr, want)
		}
	}
	if status != command.ExitRefused || calls.Load() != 1 {
		t.Errorf("status %d after %d calls", status, calls.Load())
	}
}

// What was done before a failure is reported with it.
func TestFailureHalfway(t *testing.T) {
	t.Parallel()
	var calls atomic.Int64
	s := clitest.Stub(t, func(w http.ResponseWriter, _ *http.Request) {
		if calls.Add(1) == 1 {
			_, _ = w.Write([]byte(`{"matched":200,"applied":200}`))
			return
		}
		w.WriteHeader(http.StatusInternalServerError)
		_, _ = w.Write([]byte(`{"error_code":"RUNTIME_BUG","message":"A \u001b[2Jbug.","request_id":"r-2"}`))
	})
	args := []string{"errors", "review", "--server", s.URL}
	for range 300 {
		args = append(args, "0198c0de-0000-7000-8000-000000000001")
	}
	_, stderr, status := clitest.Run(t, args...)
	if status != command.ExitRefused || !strings.HasPrefix(stderr, "200 errors reviewed before it failed:\nrecoup: RUNTIME_BUG: A  [2Jbug.\n") {
		t.Errorf("status %d: %q", status, stderr)
	}
}
