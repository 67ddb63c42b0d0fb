package errorcmd_test

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/cli"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/cli/errorcmd"
)

// What a person sees who looks around and acts on single errors.
func TestErrorsTranscript(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	n.Wait(3 * time.Hour)
	parked := n.IDs("--parked", "--table", "people.people_errors", "--code", "MISSING_NAME")
	slices.Sort(parked)
	retried := n.IDs("--state", "retry_pending", "--table", "outreach.dol_errors", "--code", "NETWORK_TIMEOUT")
	one, other, waiting := parked[1], parked[2], retried[0]
	clitest.Golden(t, "errors.golden", n.Transcript(
		[]string{"errors", "list", "--limit", "4"},
		[]string{"errors", "list", "--parked", "--table", "people.people_errors"},
		[]string{"errors", "list", "--assigned-to", "nobody"},
		[]string{"errors", "list", "--before", "48h"},
		[]string{"errors", "show", one},
		[]string{"errors", "explain", one},
		[]string{"errors", "assign", one, "--to", "grace"},
		[]string{"errors", "review", one, "--reason", "asked the provider"},
		[]string{"errors", "escalate", one, "--reason", "no answer", "--to-tier", "3"},
		[]string{"errors", "unpark", one, "--reason", "answered"},
		[]string{"errors", "history", one},
		[]string{"errors", "park", waiting, "--reason", "the server is being moved"},
		[]string{"errors", "resolve", other, "--reason", "the name was found"},
		[]string{"errors", "archive", waiting, "--reason", "it never comes back"},
		[]string{"errors", "show", waiting},
		[]string{"errors", "explain", waiting},
		[]string{"errors", "list", "--archived", "--table", "outreach.dol_errors"},
		[]string{"errors", "show", "0198c0de-0000-7000-8000-000000000001"},
	))
}

func TestErrorsMisused(t *testing.T) {
	t.Parallel()
	const id = "0198c0de-0000-7000-8000-000000000001"
	for _, row := range []struct {
		args   []string
		stderr string
	}{
		{[]string{"show"}, "ID is missing"},
		{[]string{"show", "nope"}, `"nope" is not an id: expected a UUID or a ULID`},
		{[]string{"list", "--state", "BROKEN"}, `unknown state "BROKEN": expected one of ACTIVE, RETRY_PENDING, PARKED, ESCALATED, RESOLVED`},
		{[]string{"list", "--before", "yesterday"}, `--before "yesterday" is not a time: expected an age such as 90m`},
		{[]string{"list", "--after", "soon"}, `--after "soon" is not a time`},
		{[]string{"list", "--tier", "4"}, "--tier is 4: expected a number from 1 to 3"},
		{[]string{"list", "--limit", "0"}, "--limit is 0: expected a number from 1 to 1000"},
		{[]string{"list", "--archived"}, "--archived needs --table"},
		{[]string{"list", "--archived", "--table", "x", "--code", "y"}, "--archived lists the archive of a --table, and takes no other filter"},
		{[]string{"park", "--reason", "x"}, "neither an id nor a filter is given: --all means every open error"},
		{[]string{"park", id, "--table", "x", "--reason", "x"}, "ids and a filter are given: expected one of the two"},
		{[]string{"park", id, "--all", "--reason", "x"}, "ids and a filter are given"},
		{[]string{"park", id}, "--reason is missing"},
		{[]string{"resolve", id, "--reason", " "}, "--reason is missing"},
		{[]string{"assign", id}, "--to is missing"},
		{[]string{"escalate", id, "--reason", "x", "--to-tier", "9"}, "--to-tier is 9"},
		{[]string{"review", "--server", "nowhere", id}, "the server must be an address such as https://recoup.example.com"},
	} {
		_, stderr, status := clitest.Run(t, append([]string{"errors"}, row.args...)...)
		if status != command.ExitUsage || !strings.Contains(stderr, row.stderr) {
			t.Errorf("%v: status %d, said %q, want %q", row.args, status, stderr, row.stderr)
		}
	}
}

// A filter acts only on what was shown, and only if that is confirmed by its
// number.
func TestErrorsByFilter(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	filter := []string{"--table", "outreach.dol_errors", "--code", "EIN_MISMATCH"}
	act := append([]string{"errors", "resolve", "--reason", "corrected"}, filter...)
	for _, row := range []struct {
		streams command.Streams
		more    []string
		status  int
		stderr  string
	}{
		{command.Streams{}, nil, command.ExitRefused, "this needs a confirmation, and standard input is not a terminal: repeat it with --yes"},
		{clitest.Typed("y\n"), nil, command.ExitRefused, "not confirmed: nothing was changed"},
		{clitest.Typed("5\n"), nil, command.ExitRefused, "not confirmed: nothing was changed"},
		{clitest.Typed(""), nil, command.ExitRefused, "not confirmed: nothing was changed"},
		{command.Streams{}, []string{"--dry-run"}, command.ExitDone, ""},
	} {
		r := n.As(row.streams, "", append(act, row.more...)...)
		if r.Status != row.status || !strings.Contains(r.Err, row.stderr) {
			t.Errorf("%+v: status %d, said %q", row, r.Status, r.Err)
		}
		if left := len(n.IDs(filter...)); left != 4 {
			t.Fatalf("%+v: it left %d of 4", row, left)
		}
	}
	n.PassTime()
	r := n.As(clitest.Typed("4\n"), "", act...)
	if r.Status != command.ExitDone || r.Out != "4 of 4 errors resolved.\n" || !strings.Contains(r.Err, "4 of 4 errors would be resolved.\nResolve 4 errors? Type 4 to go on: ") {
		t.Errorf("status %d, printed %q, said %q", r.Status, r.Out, r.Err)
	}
	if left := n.IDs(append(filter, "--state", "PARKED")...); len(left) != 0 {
		t.Errorf("left: %v", left)
	}
	if r := n.Run(append(act, "--yes", "--entity", "nobody")...); r.Status != command.ExitDone || r.Err != "No error matches.\n" {
		t.Errorf("status %d, said %q", r.Status, r.Err)
	}
}

// What cannot be done is reported with its reason, and the rest is done. For a single
// error the exits are listed.
func TestErrorsRefused(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, true)
	one := n.Run("errors", "escalate", n.IDs("--state", "RETRY_PENDING")[0], "--reason", "impatience")
	for _, want := range []string{"recoup: INVALID_TRANSITION: ", "\n  state    RETRY_PENDING\n", "\n  exits    park, resolve", "\n  request  ", "\n  way out  Choose one of its exits."} {
		if !strings.Contains(one.Err, want) {
			t.Errorf("said %q, without %q", one.Err, want)
		}
	}
	if one.Status != command.ExitRefused || one.Out != "" {
		t.Errorf("status %d, printed %q", one.Status, one.Out)
	}
	table := []string{"--table", "outreach.dol_errors"}
	all, parked := n.IDs(append(table, "--limit", "1")...), n.IDs(append(table, "--parked", "--limit", "1")...)
	if len(all) != 16 || len(parked) < 4 {
		t.Fatalf("all are %d, %d of them parked", len(all), len(parked))
	}
	n.PassTime()
	r := n.Run(append([]string{"errors", "review", "--yes", "--json"}, table...)...)
	var got recoup.BulkResult
	clitest.Parse(t, r.Out, &got)
	if r.Status != command.ExitRefused || got.Matched != len(all) || got.Applied != len(parked) || got.NotDone != len(all)-len(parked) || len(got.Refused) != got.NotDone {
		t.Errorf("status %d: %+v; all %d, parked %d", r.Status, got, len(all), len(parked))
	}
	r = n.Run(append([]string{"errors", "review"}, all...)...)
	if r.Status != command.ExitRefused || !strings.Contains(r.Err, " were not:\nERRORS  REASON") || !strings.Contains(r.Err, " and ") {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
	if r = n.Run(append([]string{"errors", "review", "--dry-run"}, all...)...); r.Status != command.ExitDone || !strings.Contains(r.Out, "would be reviewed") {
		t.Errorf("status %d: %s %s", r.Status, r.Out, r.Err)
	}
}

// More errors than one request changes are changed all the same, in chunks.
func TestErrorsInSteps(t *testing.T) {
	t.Parallel()
	var steps []int
	s := clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		var b recoup.BulkAct
		if err := json.NewDecoder(r.Body).Decode(&b); err != nil || r.URL.Path != "/v1/errors/archive" {
			t.Errorf("%s: %v", r.URL, err)
		}
		steps = append(steps, len(b.IDs))
		_ = json.NewEncoder(w).Encode(recoup.BulkResult{Preview: b.Preview, Matched: len(b.IDs), Applied: len(b.IDs)})
	})
	var out, stderr bytes.Buffer
	args := []string{"errors", "archive", "--reason", "a test", "--server", s.URL}
	for i := range 2*errorcmd.ChunkSize + 50 {
		args = append(args, recoup.ID{1, byte(i >> 8), byte(i)}.String())
	}
	status := cli.Run(t.Context(), args, command.Streams{Out: &out, Err: &stderr})
	if status != command.ExitDone || out.String() != "450 of 450 errors archived.\n" || !slices.Equal(steps, []int{errorcmd.ChunkSize, errorcmd.ChunkSize, 50}) {
		t.Errorf("status %d in steps of %v, printed %q, said %q", status, steps, &out, &stderr)
	}
}

// What a filter selects is an operation of the server, which is frozen, confirmed by its
// number and waited for.
func TestErrorsAsAnOperation(t *testing.T) {
	t.Parallel()
	id, many := recoup.ID{1}, 10_001
	var asked []string
	o := recoup.Operation{ID: id, State: recoup.OperationFrozen, Act: "archive", Members: many, Refused: 1}
	s := clitest.Stub(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/v1/errors" {
			_, _ = w.Write([]byte(`{"errors":[{}]}`))
			return
		}
		asked = append(asked, strings.ReplaceAll(r.Method+" "+r.URL.Path, id.String(), "ID"))
		switch {
		case strings.HasSuffix(r.URL.Path, "/items"):
			_ = json.NewEncoder(w).Encode(recoup.OperationItems{Items: []recoup.OperationItem{{ErrorID: recoup.ID{2}, Reason: "its time has come"}}})
			return
		case strings.HasSuffix(r.URL.Path, "/cancel"):
			o.State, o.EndedAt = recoup.OperationCancelled, clitest.Morning
		case strings.HasSuffix(r.URL.Path, "/confirm"):
			o.State = recoup.OperationRunning
		case o.State == recoup.OperationRunning:
			o.State, o.Applied, o.EndedAt = recoup.OperationDone, many-1, clitest.Morning
		}
		_ = json.NewEncoder(w).Encode(o)
	})
	act := func(typed string) (status int, stdout, said string) {
		asked = nil
		var out, stderr bytes.Buffer
		person := clitest.Typed(typed)
		person.Out, person.Err = &out, &stderr
		status = cli.Run(t.Context(), []string{"errors", "archive", "--reason", "a test", "--all", "--server", s.URL}, person)
		return status, out.String(), stderr.String()
	}

	status, out, said := act("no\n")
	if want := []string{"POST /v1/operations", "GET /v1/operations/ID/items", "POST /v1/operations/ID/cancel"}; !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if status != command.ExitRefused || out != "" || !strings.Contains(said, "not confirmed: nothing was changed") {
		t.Errorf("status %d, printed %q, said %q", status, out, said)
	}

	o.State, o.EndedAt = recoup.OperationFrozen, time.Time{}
	status, out, said = act("10000\n")
	want := []string{"POST /v1/operations", "GET /v1/operations/ID/items", "POST /v1/operations/ID/confirm", "GET /v1/operations/ID", "GET /v1/operations/ID/items"}
	if !slices.Equal(asked, want) {
		t.Errorf("asked %q, want %q", asked, want)
	}
	if status != command.ExitRefused || out != "10000 of 10001 errors archived.\n" || !strings.Contains(said, "its time has come") ||
		!strings.Contains(said, id.String()+" done: archive 10001 errors, 10000 applied, 1 refused, 0 left\n") {
		t.Errorf("status %d, printed %q, said %q", status, out, said)
	}
}

func TestUpNext(t *testing.T) {
	t.Parallel()
	s := command.Streams{Now: func() time.Time { return clitest.Morning }}
	at := clitest.Morning.Add
	for _, row := range []struct {
		e    recoup.Error
		want string
	}{
		{recoup.Error{State: recoup.Active}, ""},
		{recoup.Error{State: recoup.Resolved, ExpiresAt: at(time.Hour)}, ""},
		{recoup.Error{State: recoup.RetryPending, Retry: recoup.Retry{NextRetryAt: at(90 * time.Second)}, ExpiresAt: at(time.Hour)}, "retry in 1m"},
		{recoup.Error{State: recoup.RetryPending, Retry: recoup.Retry{NextRetryAt: at(-time.Second)}}, "retry due"},
		{recoup.Error{State: recoup.Parked, Escalation: recoup.Escalation{EscalationLevel: 1, NextEscalationAt: at(48*time.Hour - time.Second)}}, "tier 2 in 2d"},
		{recoup.Error{State: recoup.Escalated, ExpiresAt: at(time.Hour)}, "expires in 1h"},
		{recoup.Error{State: recoup.RetryPending, Lease: recoup.Lease{LeaseToken: recoup.ID{1}, LeaseWorker: "w", LeaseEndsAt: at(time.Minute)}}, "leased by w for 1m"},
	} {
		if got := errorcmd.UpNext(s, &row.e); got != row.want {
			t.Errorf("%+v: %q, want %q", row.e, got, row.want)
		}
	}
}
