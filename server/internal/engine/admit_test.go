package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// write writes a row as any program may. It takes its time from the database's own
// clock, and ours is set by it.
func (w *world) write(statement string, args ...any) {
	w.Helper()
	ctx := w.Context()
	err := w.sql(statement, args...)
	rows, unread := w.DB.Unadmitted(ctx, 1000)
	if err := errors.Join(err, unread); err != nil || len(rows) == 0 {
		w.Fatal(len(rows), err)
	}
	w.Wait(rows[len(rows)-1].CreatedAt.Add(time.Second).Sub(w.Now()))
	if err := errors.Join(w.DB.EnsurePartitions(ctx, w.Now()),
		w.DB.EnsureEventPartitions(ctx, w.Now(), w.Engine.Policies.Current().Ledger.EventRetention)); err != nil {
		w.Fatal(err)
	}
}

// admit admits what is there and returns it by entity.
func (w *world) admit(want int) map[string]recoup.Error {
	w.Helper()
	rows, err := w.DB.Unadmitted(w.Context(), 1000)
	if err != nil || len(rows) != want {
		w.Fatalf("%d rows wait, %v", len(rows), err)
	}
	if n, err := w.Engine.Admit(w.Context()); err != nil || n != want {
		w.Fatalf("%d admitted, %v", n, err)
	}
	made := map[string]recoup.Error{}
	for _, row := range rows {
		e := w.Read(row.ID)
		if e.PolicyVersion == "" || e.Table != row.Table || !e.CreatedAt.Equal(row.CreatedAt) {
			w.Errorf("%s: version %q in %s", row.EntityID, e.PolicyVersion, e.Table)
		}
		made[row.EntityID] = e
	}
	if n, err := w.Engine.Admit(w.Context()); err != nil || n != 0 {
		w.Errorf("%d admitted again, %v", n, err)
	}
	return made
}

func TestAdmit(t *testing.T) {
	postgresOnly(t, func(w *world) {
		w.write(`insert into outreach.dol_errors (outreach_id, code, message) values ('e1', 'NETWORK_TIMEOUT', 'key ' || $1::text)`, secret)
		w.write(`insert into outreach.dol_errors (outreach_id, code, severity) values ('e2', 'NETWORK_TIMEOUT', 'CRITICAL')`)
		w.write(`insert into people.people_errors (outreach_id, code) values ('e3', 'whatever_it_is')`)
		if gate, err := w.Engine.Gate(w.Context(), "e1"); err != nil || !gate.Blocked {
			w.Errorf("it does not block at once: %v", err)
		}
		made := w.admit(3)
		e1, e2, e3 := made["e1"], made["e2"], made["e3"]
		if e1.State != recoup.RetryPending || strings.Contains(e1.Message, secret) || !strings.HasPrefix(e1.Message, "key ") {
			w.Errorf("%s: %q", e1.State, e1.Message)
		}
		if e2.State != recoup.Parked || e3.State != recoup.RetryPending || e3.Category != recoup.Operational {
			w.Errorf("%s, %s %s", e2.State, e3.State, e3.Category)
		}
		w.Wait(time.Hour)
		claimed, err := w.Engine.Claim(w.Context(), ada, recoup.RetryClaim{Worker: "w1", Limit: 10})
		if err != nil || len(claimed) != 2 {
			w.Errorf("%d claimed, %v", len(claimed), err)
		}
	})
}

// The database cuts a long message of plain SQL, possibly within a secret: what is left of the
// secret goes when the row is admitted.
func TestAdmitACutMessage(t *testing.T) {
	postgresOnly(t, func(w *world) {
		w.write(`insert into outreach.dol_errors (outreach_id, code, message) values ('e1', 'NETWORK_TIMEOUT', repeat('x ', 4070) || $1::text || repeat(' y', 5000))`, secret)
		got := w.admit(1)["e1"].Message
		if want := fmt.Sprintf(" [cut: %d bytes]", 8140+len(secret)+10000); !strings.HasSuffix(got, want) || len(got) > 8192 || !strings.HasPrefix(got, "x x ") {
			w.Errorf("%d bytes are kept, ending with %q", len(got), got[max(0, len(got)-40):])
		}
		if strings.Contains(got, secret[:6]) {
			w.Error("the beginning of a secret is kept")
		}
	})
}

// A row without its entity is admitted among the orphans, where the database has put
// it; one of a table that is gone stays where it was written. Neither holds up others.
func TestAdmitWhereAReportWouldBeAnOrphan(t *testing.T) {
	postgresOnly(t, func(w *world) {
		w.write(`insert into company.url_discovery_failures (code) values ('NETWORK_TIMEOUT')`)
		w.write(`insert into outreach.company_target_errors (outreach_id, code) values ('e1', 'NETWORK_TIMEOUT')`)
		w.write(`insert into outreach.dol_errors (outreach_id, code) values ('e2', 'NETWORK_TIMEOUT')`)
		next := without(w.T, target)
		if err := w.DB.SyncTables(w.Context(), next); err != nil {
			w.Fatal(err)
		}
		w.Engine.Policies.Use(next)
		made := w.admit(3)
		if e := made[""]; e.State != recoup.Parked || e.Table != "public.shq_orphan_errors" || e.ReportedTable != discovery {
			w.Errorf("without an entity: %s in %s, of %s", e.State, e.Table, e.ReportedTable)
		}
		if e := made["e1"]; e.PolicyVersion != "1.0.0" || !e.Blocking {
			w.Errorf("of a table that is gone: version %s, blocking %v", e.PolicyVersion, e.Blocking)
		}
		if e := made["e2"]; e.PolicyVersion != "2.0.0" {
			w.Errorf("version %s", e.PolicyVersion)
		}
	})
}

// Rows of one key that wait together become one error.
func TestAdmitRepeats(t *testing.T) {
	postgresOnly(t, func(w *world) {
		for range 3 {
			w.write(`insert into outreach.dol_errors (outreach_id, code) values ('e1', 'NETWORK_TIMEOUT')`)
		}
		rows, err := w.DB.Unadmitted(w.Context(), 10)
		if err != nil {
			w.Fatal(err)
		}
		w.admit(3)
		var states []recoup.State
		for _, row := range rows {
			states = append(states, w.Read(row.ID).State)
		}
		if !slices.Equal(states, []recoup.State{recoup.Archived, recoup.Archived, recoup.RetryPending}) {
			w.Errorf("became %v", states)
		}
	})
}

// What plain SQL has written is cleaned when it is admitted. Until then nobody can
// act on it, because an act would carry its message as it is to the archive.
func TestNoActBeforeAdmission(t *testing.T) {
	postgresOnly(t, func(w *world) {
		w.write(`insert into outreach.dol_errors (outreach_id, code, message) values ('e1', 'NETWORK_TIMEOUT', 'key ' || $1::text)`, secret)
		rows, err := w.DB.Unadmitted(w.Context(), 10)
		if err != nil || len(rows) != 1 {
			w.Fatal(len(rows), err)
		}
		for _, in := range []lifecycle.Input{
			lifecycle.Park{Reason: "look"}, lifecycle.Resolve{Reason: "done"}, lifecycle.ArchiveNow{Reason: "done"},
		} {
			_, err := w.Engine.One(w.Context(), ada, engine.Act{ID: rows[0].ID, Input: in})
			if err == nil || !strings.Contains(err.Error(), "not admitted yet") {
				w.Errorf("%T: %v", in, err)
			}
		}
		w.Report(recoup.Report{Table: "outreach.dol_errors", EntityID: "e1", Code: "NETWORK_TIMEOUT"}) // does not replace it
		if n, err := w.Engine.Admit(w.Context()); n != 1 || err != nil {
			w.Fatal(n, err)
		}
		if e := w.Read(rows[0].ID); strings.Contains(e.Message, secret) || !strings.HasPrefix(e.Message, "key ") {
			w.Errorf("%s: %q", e.State, e.Message)
		}
	})
}
