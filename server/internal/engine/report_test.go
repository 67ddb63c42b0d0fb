package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// secret is what must never be stored.
const secret = "AKIAIOSFODNN7EXAMPLE"

func TestReportsAreAnsweredOneByOne(t *testing.T) {
	everywhere(t, func(w *world) {
		out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{
			failing(dol, "e1", "network_timeout"),
			failing(dol, "e2", "not a code"),
			failing("no.such_table", "e3", "SOMETHING_NEW"),
		})
		if err != nil {
			w.Fatal(err)
		}
		first, lost := out[0].Error, out[2].Error
		if first.Code != "NETWORK_TIMEOUT" || first.State != recoup.RetryPending || !first.Blocking || w.Read(first.ID) != first {
			w.Errorf("first: %+v", first)
		}
		w.wantFields(out[1].Err, []string{"not a code"}, "code")
		if lost.Table != orphans || lost.ReportedTable != "no.such_table" || lost.Code != "SOMETHING_NEW" || lost.State != recoup.Parked {
			w.Errorf("orphan: %+v", lost)
		}
		if got := w.events(); len(got) != 2 {
			w.Errorf("events %v", got)
		}
		if h, err := w.Engine.History(w.Context(), ada, first.ID, 10); err != nil || len(h) != 1 || h[0].Actor != "ada" {
			w.Errorf("history %+v, %v", h, err)
		}
	})
}

// Everything that is wrong is said at once, and nothing that was sent is repeated.
func TestReportValidation(t *testing.T) {
	everywhere(t, func(w *world) {
		bad := recoup.Report{
			EntityID: "entity\nwith a break", Code: "+++", Severity: "BAD", Service: " padded", Endpoint: "/v1/" + secret + "?a=b",
			Region: strings.Repeat("x", 201), ExternalService: "\xff", HTTPStatus: 99, RetryAfter: -1, Message: "nul \x00",
		}
		out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{bad})
		if err != nil {
			w.Fatal(err)
		}
		w.wantFields(out[0].Err, []string{secret, "with a break", "padded", "BAD", "xxx"},
			"table", "entity_id", "service", "endpoint", "region", "external_service", "http_status", "code", "severity", "retry_after", "message")
		if _, err := w.Engine.Report(w.Context(), ada, make([]recoup.Report, engine.MaxBatch+1)); err == nil {
			w.Error("a batch above the limit was taken")
		} else {
			w.wantFields(err, nil, "items")
		}
		if list, _, err := w.DB.Errors(w.Context(), store.Filter{}, sqldb.Page{}); err != nil || len(list) > 0 {
			w.Errorf("stored %v, %v", list, err)
		}
	})
}

func TestSecretsInReports(t *testing.T) {
	everywhere(t, func(w *world) {
		for field, r := range map[string]recoup.Report{
			"table":            failing(secret, "e1", "NETWORK_TIMEOUT"),
			"entity_id":        failing(dol, secret, "NETWORK_TIMEOUT"),
			"code":             failing(dol, "e1", secret),
			"service":          {Table: dol, Code: "NETWORK_TIMEOUT", Service: secret},
			"region":           {Table: dol, Code: "NETWORK_TIMEOUT", Region: secret},
			"external_service": {Table: dol, Code: "NETWORK_TIMEOUT", ExternalService: secret},
		} {
			out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{r})
			if err != nil {
				w.Fatal(err)
			}
			w.wantFields(out[0].Err, []string{secret}, field)
		}
		report := failing(dol, "e1", "NETWORK_TIMEOUT")
		report.Message = "refused for " + secret
		out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{report})
		if err != nil || out[0].Err != nil {
			w.Fatal(err, out[0].Err)
		}
		if kept := w.Read(out[0].Error.ID).Message; strings.Contains(kept, secret) || !strings.HasPrefix(kept, "refused for ") || len(out[0].Redacted) == 0 {
			w.Errorf("kept %q, evidence %v", kept, out[0].Redacted)
		}
	})
}

// A report that is sent again under its receipt is the same report.
func TestReportWithAReceipt(t *testing.T) {
	everywhere(t, func(w *world) {
		r := failing(dol, "e1", "NETWORK_TIMEOUT")
		older := w.Report(r)[0]
		send := func(payload string) engine.Reported {
			out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{r}, w.receipt("k1", payload))
			if err != nil {
				w.Fatal(err)
			}
			return out[0]
		}
		first := send("p")
		w.Wait(time.Minute)
		again := send("p")
		if first.Repeated || !again.Repeated || again.Error.ID != first.Error.ID || again.Error.State != first.Error.State || again.Superseded != older.ID {
			w.Errorf("first %v, again %v (%v), superseded %v", first.Error.ID, again.Error.ID, again.Repeated, again.Superseded)
		}
		if got := w.events(); len(got) != 2 {
			w.Errorf("%d events for two reports", len(got))
		}
		if other := send("another"); !errors.Is(other.Err, store.ErrConflict) {
			w.Errorf("another payload under the key: %v", other.Err)
		}
	})
}

// An event stands or falls with its act: where the database refuses one, neither is
// there, and the neighbours of the batch are.
func TestEventsStandWithTheirActs(t *testing.T) {
	everywhere(t, func(w *world) {
		def, _ := fault.Default().Lookup("NETWORK_TIMEOUT")
		unknown := *def
		unknown.Code, unknown.Example = "GHOST_FAILED", nil
		ghost, err := fault.Default().With(unknown)
		if err != nil {
			w.Fatal(err)
		}
		w.Ledger.Codes = ghost
		w.Engine.Codes = func() *fault.Registry { return ghost } // with a code that the database does not have
		out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{
			failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "GHOST_FAILED"), failing(dol, "e3", "DNS_TIMEOUT"),
		})
		if err != nil || out[0].Err != nil || !errors.Is(out[1].Err, store.ErrRefused) || out[2].Err != nil {
			w.Fatalf("%v, %+v", err, out)
		}
		if gate, err := w.Engine.Gate(w.Context(), "e2"); err != nil || len(gate.Blockers) != 0 {
			w.Errorf("an error without its event: %v, %v", gate.Blockers, err)
		}
		leased := w.claimOne(out[0].Error)
		failure, err := w.Engine.Failure("GHOST_FAILED", nil, 0)
		if err != nil {
			w.Fatal(err)
		}
		_, err = w.Engine.One(w.Context(), ada, engine.Act{ID: leased.ID, Input: lifecycle.Fail{Token: leased.LeaseToken, Failure: failure}})
		if now := w.Read(leased.ID); !errors.Is(err, store.ErrRefused) || now.RetryCount != 0 || now.LeaseToken != leased.LeaseToken {
			w.Errorf("%v, %+v", err, now)
		}
		if got := w.events(); !slices.Equal(got, []recoup.Code{"DNS_TIMEOUT", "NETWORK_TIMEOUT"}) {
			w.Errorf("events %v", got)
		}
	})
}

// An attempt that failed and is reported as well is one event.
func TestOneAttemptIsOneEvent(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		token := w.claimOne(e).LeaseToken
		failure, _ := w.Engine.Failure("NETWORK_TIMEOUT", nil, 0)
		w.Act(engine.Act{ID: e.ID, Input: lifecycle.Fail{Token: token, Failure: failure}})
		again := failing(dol, "e1", "NETWORK_TIMEOUT")
		again.LeaseToken = token
		if next := w.Report(again)[0]; next.RetryCount != 1 {
			w.Errorf("%d retries", next.RetryCount)
		}
		if got := w.events(); len(got) != 2 {
			w.Errorf("events %v", got)
		}
	})
}

// A repeat of an error whose table has left the policy: the gate stays closed, and
// its neighbours are served.
func TestRepeatInATableThatLeftThePolicy(t *testing.T) {
	everywhere(t, func(w *world) {
		older := w.Report(failing(target, "e1", "NETWORK_TIMEOUT"))[0]
		next := without(w.T, target)
		w.Engine.Policies.Use(next)
		if repeat := w.Report(failing(target, "e1", "NETWORK_TIMEOUT"))[0]; repeat.Table != target || repeat.RetryCount != 1 ||
			repeat.PolicyVersion != older.PolicyVersion || w.Read(older.ID).SupersededBy != repeat.ID {
			w.Errorf("before the store follows: %+v", repeat)
		}
		if err := w.DB.SyncTables(w.Context(), next); err != nil {
			w.Fatal(err)
		}
		out, err := w.Engine.Report(w.Context(), ada, []recoup.Report{
			failing(dol, "e2", "NETWORK_TIMEOUT"), failing(target, "e1", "NETWORK_TIMEOUT"), failing(target, "e3", "NETWORK_TIMEOUT"),
		})
		if err != nil || out[0].Err != nil || out[2].Err != nil || out[2].Error.Table != orphans {
			w.Fatal(err, out)
		}
		if out[1].Err != nil || out[1].Error.Table != target || out[1].Error.RetryCount != 2 {
			w.Errorf("got %v, %+v", out[1].Err, out[1].Error)
		}
		if gate, err := w.Engine.Gate(w.Context(), "e1"); err != nil || len(gate.Blockers) != 1 {
			w.Errorf("%d blockers, %v", len(gate.Blockers), err)
		}
	})
}

// Errors follow the version that admitted them, also where their table says
// something else by now: they can be claimed and parked, and go on to block.
func TestOlderVersionsStayUsable(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "NETWORK_TIMEOUT"))
		next := edited(w.T, "2.0.0", "    blocks: true\n    because: DOL", "    blocks: false\n    because: DOL")
		w.Engine.Policies.Use(next)
		if err := w.DB.SyncTables(w.Context(), next); err != nil {
			w.Fatal(err)
		}
		w.claimOne(made[0])
		parked := w.Act(engine.Act{ID: made[1].ID, Input: lifecycle.Park{Reason: "look"}})
		if !parked.Error.Blocking || !w.Read(made[0].ID).Blocking {
			w.Error("a new version has opened the gate of errors that it did not admit")
		}
		if fresh := w.Report(failing(dol, "e3", "NETWORK_TIMEOUT"))[0]; fresh.Blocking {
			w.Error("the new version does not hold for what is new")
		}
	})
}

// A month that has no partition yet gets one, and neither report nor event is lost.
func TestReportsMakeTheirPartition(t *testing.T) {
	everywhere(t, func(w *world) {
		w.Wait(120 * 24 * time.Hour)
		w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "DNS_TIMEOUT"))
		list, _, err := w.DB.Events(w.Context(), store.EventFilter{From: w.Now(), To: w.Now().Add(time.Hour)}, sqldb.Page{})
		if err != nil || len(list) != 2 {
			w.Errorf("events %v, %v", list, err)
		}
	})
}
