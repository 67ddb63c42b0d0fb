package api_test

import (
	"crypto/rand"
	"maps"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

// pass waits longer than keys live, and hands out new ones.
func (w *world) pass(d time.Duration) {
	w.Helper()
	w.wait(d)
	w.keys = maps.Clone(w.keys)
	for _, role := range []httpapi.Role{httpapi.RoleAdmin, httpapi.RoleOperator} {
		key, err := httpapi.NewKey(recoup.NewIDSource(rand.Reader), rand.Reader, w.clock(), string(role), role, nil, httpapi.KeyLife)
		if err != nil {
			w.Fatal(err)
		}
		if _, err := w.store.CreateKey(w.Context(), key, act(w)); err != nil {
			w.Fatal(err)
		}
		w.keys[string(role)] = key.Secret
	}
}

// open counts the errors of a table that are not archived.
func (w *world) open(table string) (n int64) {
	w.Helper()
	w.run("counts")
	var counts recoup.StateCounts
	w.get("/v1/errors/counts").ok(&counts)
	for _, c := range counts.Counts {
		if c.Table == table && c.State != recoup.Archived {
			n += c.N
		}
	}
	return n
}

// archived lists a table's archive.
func (w *world) archived(table string) []recoup.Error {
	w.Helper()
	var page recoup.ErrorPage
	w.get("/v1/errors/archived?table=" + table).ok(&page)
	return page.Errors
}

// Spec 000, 1, 7.1 to 7.3 and 12: an error whose TTL is over is in its table's
// archive with everything that it had, counts no more, blocks no more, and is kept
// as long as the archive says.
func TestSpec000Expiry(t *testing.T) {
	rows := []struct {
		table          string
		severity       recoup.Severity
		ttl, retention time.Duration
	}{
		{dol, recoup.High, 7 * day, 365 * day},
		{dol, "", 30 * day, 365 * day},
		{target, "", 30 * day, 365 * day},
		{people, "", 30 * day, 365 * day},
		{discovery, "", 90 * day, 365 * day},
		{errorLog, "", 90 * day, 730 * day},
	}
	onBothStores(t, func(w *world) {
		for _, row := range rows {
			e := w.report(row.table, w.entity(), of("MISSING_REQUIRED_FIELD", row.severity))
			w.pass(row.ttl - time.Second)
			if w.run("ttl"); w.show(e).State == recoup.Archived || w.open(row.table) != 1 || w.gate(e.EntityID).Blocked != e.Blocking {
				w.Errorf("%s ended before its TTL of %v", row.table, row.ttl)
			}
			w.wait(time.Second)
			w.run("ttl")
			gone := w.show(e)
			if gone.State != recoup.Archived || gone.ArchiveReason != "TTL_EXPIRED" || gone.ArchivedBy != recoup.System ||
				!gone.ArchivedAt.Equal(w.clock()) || gone.FinalDisposition != e.Disposition {
				w.Errorf("%s: 7.3 wants its end notified: %+v", row.table, gone.Archive)
			}
			if gone.Code != e.Code || gone.EntityID != e.EntityID || !gone.CreatedAt.Equal(e.CreatedAt) || gone.ParkReason != e.ParkReason || gone.MaxRetries != e.MaxRetries {
				w.Errorf("%s: 7.3 wants its fields kept: %+v", row.table, gone)
			}
			if w.open(row.table) != 0 || w.gate(e.EntityID).Blocked {
				w.Errorf("%s: an archived error counts or blocks", row.table)
			}
			if list := w.archived(row.table); len(list) == 0 || list[0].ID != e.ID || !gone.PurgeAt.Equal(w.clock().Add(row.retention)) {
				w.Errorf("%s: 7.2 wants it in its archive until %v: %d there, until %v", row.table, w.clock().Add(row.retention), len(list), gone.PurgeAt)
			}
		}
	})
}

// Spec 000, 7.2: what an archive has kept long enough is deleted, and not before.
func TestSpec000ArchiveRetention(t *testing.T) {
	onBothStores(t, func(w *world) {
		e := w.act(w.report(dol, w.entity()), "archive", recoup.Act{})
		w.pass(365*day - time.Second)
		if w.run("archive"); w.show(e).State != recoup.Archived {
			w.Error("it is gone before its time")
		}
		w.wait(time.Second)
		w.run("archive")
		if a := w.get("/v1/errors/" + e.ID.String()); a.Code != http.StatusNotFound {
			w.Errorf("after a year: %d %s", a.Code, a.Body)
		}
	})
}

// Spec 000, 1 and 7.1: nothing ends an error of an INFINITE table.
func TestSpec000Infinite(t *testing.T) {
	onBothStores(t, func(w *world) {
		e := w.report(masterLog, w.entity())
		for _, verb := range []string{"park", "unpark", "resolve", "escalate", "archive", "assign", "review"} {
			a := w.do("operator", http.MethodPost, "/v1/errors/"+e.ID.String()+"/"+verb, recoup.Act{Reason: "a test", To: "ada"})
			if a.Code < 400 || a.Code >= 500 {
				w.Errorf("%s: %d %s", verb, a.Code, a.Body)
			}
		}
		w.wait(80 * day)
		w.run("ttl")
		if after := w.show(e); after.State != recoup.Active || !after.ExpiresAt.IsZero() {
			w.Errorf("it is %s until %v", after.State, after.ExpiresAt)
		}
	})
}

// Spec 000, 7.1: the other ways into the archive.
func TestSpec000ArchiveReasons(t *testing.T) {
	onBothStores(t, func(w *world) {
		byHand := w.show(w.act(w.report(dol, w.entity()), "archive", recoup.Act{}))
		if byHand.ArchiveReason != "MANUAL" || byHand.ArchivedBy != "operator" || byHand.FinalDisposition != "RETRY" {
			w.Errorf("MANUAL: %+v", byHand.Archive)
		}

		resolved := w.act(w.report(dol, w.entity()), "resolve", recoup.Act{Reason: "the register answered"})
		if resolved.State != recoup.Resolved || resolved.ResolvedBy != "operator" || resolved.ResolutionReason != "the register answered" {
			w.Errorf("RESOLVED: %+v", resolved)
		}
		w.run("resolved")
		if resolved = w.show(resolved); resolved.State != recoup.Archived || resolved.ArchiveReason != "RESOLVED" || resolved.FinalDisposition != "RESOLVED" {
			w.Errorf("RESOLVED: %s %+v", resolved.State, resolved.Archive)
		}

		older := w.report(dol, w.entity())
		newer := w.report(dol, older.EntityID)
		older = w.show(older)
		if older.State != recoup.Archived || older.ArchiveReason != "SUPERSEDED" || older.SupersededBy != newer.ID || newer.RetryCount != 1 {
			w.Errorf("SUPERSEDED: %s %+v, and the newer one has %d retries", older.State, older.Archive, newer.RetryCount)
		}
	})
}

// Spec 000, 10.1 and 10.2: the ladder, by the clock alone.
func TestSpec000Ladder(t *testing.T) {
	onBothStores(t, func(w *world) {
		local, global := w.report(dol, w.entity(), of("DUPLICATE_COMPANY", "")), w.report(orphans, w.entity())
		parked := w.clock()
		for _, rung := range []struct {
			tier   int
			after  time.Duration
			review time.Duration
			owner  string
		}{
			{1, 0, 24 * time.Hour, "dol-filings-team"},
			{2, 48 * time.Hour, 8 * time.Hour, "dol-filings-lead"},
			{3, 7 * day, 4 * time.Hour, "platform-team"},
		} {
			w.wait(parked.Add(rung.after).Sub(w.clock()) - time.Second)
			w.run("escalation")
			if early := w.show(local); rung.tier > 1 && early.EscalationLevel >= rung.tier {
				w.Errorf("tier %d came early", rung.tier)
			}
			w.wait(time.Second)
			w.run("escalation")
			e, g := w.show(local), w.show(global)
			if e.EscalationLevel != rung.tier || e.EscalatedTo != rung.owner || e.Owner() != rung.owner || !e.ReviewDueAt.Equal(w.clock().Add(rung.review)) {
				w.Errorf("tier %d: %+v", rung.tier, e.Escalation)
			}
			if rung.tier > 1 && (e.State != recoup.Escalated || !e.EscalatedAt.Equal(w.clock()) || e.EscalationReason == "" || e.Disposition != "PARKED" || !w.gate(e.EntityID).Blocked) {
				w.Errorf("tier %d: %s, %+v", rung.tier, e.State, e.Escalation)
			}
			if g.EscalationLevel != rung.tier || g.EscalatedTo != "platform-team" {
				w.Errorf("tier %d of a global table: %+v", rung.tier, g.Escalation)
			}
		}
		a := w.do("operator", http.MethodPost, "/v1/errors/"+local.ID.String()+"/escalate", recoup.Act{Reason: "higher"})
		if a.Code != http.StatusConflict {
			w.Errorf("beyond the last tier: %d %s", a.Code, a.Body)
		}
		var history recoup.ErrorHistory
		w.get("/v1/errors/" + local.ID.String() + "/history").ok(&history)
		if n := len(slices.DeleteFunc(history.Transitions, func(h recoup.Transition) bool { return h.Input != "escalate" })); n != 2 {
			w.Errorf("its history has %d escalations", n)
		}
	})
}
