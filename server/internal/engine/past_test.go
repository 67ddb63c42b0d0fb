package engine_test

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const day = 24 * time.Hour

// past is a failure of an earlier time, known by a key.
func past(r recoup.Report, key string, at time.Time) engine.Past {
	return engine.Past{Report: r, ID: engine.PastID("test", key, at), CreatedAt: at}
}

// imported imports failures that have to be accepted.
func (w *world) imported(list ...engine.Past) []engine.Reported {
	w.Helper()
	out, err := w.Engine.Import(w.Context(), ada, list)
	w.Must(err)
	for i := range out {
		if out[i].Err != nil {
			w.Fatalf("row %d: %v", i, out[i].Err)
		}
	}
	return out
}

// silent holds that nobody was notified and that no rate has counted anything.
func (w *world) silent() {
	w.Helper()
	notices, _, err := w.DB.Notices(w.Context(), wire.NoticeFilter{}, sqldb.Page{})
	w.Must(err)
	w.Must(w.DB.FoldActivity(w.Context()))
	counted, err := w.DB.Activity(w.Context(), store.Span{From: epoch.AddDate(-1, 0, 0), To: epoch.AddDate(1, 0, 0)})
	w.Must(err)
	counted = slices.DeleteFunc(counted, func(a store.Activity) bool { return a == store.Activity{Table: a.Table, Minute: a.Minute} })
	if len(notices) > 0 || len(counted) > 0 {
		w.Errorf("notices %+v, counted %+v", notices, counted)
	}
}

// A failure of an earlier time stands where its policy would have it by now, reckoned
// from then, and nobody hears of what has happened meanwhile.
func TestImportIsJudgedAsOfThen(t *testing.T) {
	everywhere(t, func(w *world) {
		now := w.Now()
		for _, c := range []struct {
			name, code string
			severity   recoup.Severity
			age        time.Duration
			state      recoup.State
			reason     recoup.ParkReason
			parked     time.Duration // ago
			tier       int
		}{
			{"retried within its window", "NETWORK_TIMEOUT", recoup.Medium, 10 * time.Hour, recoup.RetryPending, "", 0, 0},
			{"its window has closed", "NETWORK_TIMEOUT", recoup.Medium, 30 * time.Hour, recoup.Parked, recoup.RetryWindowClosed, 6 * time.Hour, 1},
			{"its window closed three days ago", "NETWORK_TIMEOUT", recoup.Medium, 4 * day, recoup.Escalated, recoup.RetryWindowClosed, 3 * day, 2},
			{"parked at once", "DATA_VALIDATION_ERROR", recoup.Critical, time.Hour, recoup.Parked, "", time.Hour, 1},
			{"parked for eight days", "NETWORK_TIMEOUT", recoup.Critical, 8 * day, recoup.Escalated, "", 8 * day, 3},
			{"left alone", "NETWORK_TIMEOUT", recoup.Low, 8 * day, recoup.Active, "", 0, 0},
		} {
			at := now.Add(-c.age)
			r := failing(dol, c.name, c.code)
			r.Severity = c.severity
			e := w.imported(past(r, c.name, at))[0].Error
			if stored := w.Read(e.ID); stored != e {
				w.Errorf("%s: answered %+v\nstored %+v", c.name, e, stored)
			}
			if e.State != c.state || !e.CreatedAt.Equal(at) || e.EscalationLevel != c.tier || e.RetryCount != 0 || c.reason != "" && e.ParkReason != c.reason {
				w.Errorf("%s: %+v", c.name, e)
			}
			if c.parked > 0 && (!e.ParkedAt.Equal(now.Add(-c.parked)) || !e.ReviewDueAt.After(now)) {
				w.Errorf("%s: parked at %v, review due at %v", c.name, e.ParkedAt, e.ReviewDueAt)
			}
			if ttl := e.ExpiresAt.Sub(at); ttl < 7*day || ttl > 90*day {
				w.Errorf("%s: TTL %v", c.name, ttl)
			}
			h, err := w.Engine.History(w.Context(), ada, e.ID, 10)
			if err != nil || len(h) != 1 || h[0].Actor != "ada" || !strings.HasPrefix(h[0].Reason, "imported") || !h[0].At.Equal(now) {
				w.Errorf("%s: history %+v, %v", c.name, h, err)
			}
		}
		w.silent()
		if events := w.Events(); len(events) != 6 || slices.ContainsFunc(events, func(e store.Event) bool { return e.TS.After(now.Add(-time.Hour)) }) {
			w.Errorf("events %+v", events)
		}
	})
}

// What has expired by now goes straight to the archive, and no gate is ever closed by
// it.
func TestImportOfWhatHasExpired(t *testing.T) {
	everywhere(t, func(w *world) {
		at := w.Now().Add(-200 * day)
		out := w.imported(past(failing(dol, "e1", "NETWORK_TIMEOUT"), "1", at))[0]
		e := w.Read(out.Error.ID)
		if e != out.Error || e.State != recoup.Archived || e.ArchiveReason != recoup.TTLExpired || !e.ArchivedAt.Equal(w.Now()) || !e.CreatedAt.Equal(at) || e.Blocking {
			w.Errorf("%+v", e)
		}
		h, err := w.Engine.History(w.Context(), ada, e.ID, 10)
		if err != nil || len(h) != 2 || !strings.HasPrefix(h[0].Reason, "imported") || h[0].After.Blocking || h[1].Input != string(lifecycle.Expiring) {
			w.Errorf("history %+v, %v", h, err)
		}
		log, err := w.DB.(store.PromotionReader).GateLog(w.Context(), "e1", 10)
		if err != nil || len(log) > 0 {
			w.Errorf("the gate: %+v, %v", log, err)
		}
		if len(w.Events()) > 0 {
			w.Error("an event older than the ledger's retention was kept")
		}
		w.silent()
	})
}

// A repeated import records nothing twice, whether the error is open, has been
// superseded, or was archived at once, and also after days.
func TestImportTwice(t *testing.T) {
	everywhere(t, func(w *world) {
		now := w.Now()
		rows := []engine.Past{
			past(failing(dol, "e1", "NETWORK_TIMEOUT"), "1", now.Add(-time.Hour)),
			past(failing(dol, "e1", "NETWORK_TIMEOUT"), "2", now.Add(-2*time.Hour)),
			past(failing(dol, "e2", "NETWORK_TIMEOUT"), "3", now.Add(-300*day)),
			past(failing(dol, "e3", "NETWORK_TIMEOUT"), "4", now.Add(-3*time.Hour)),
			past(failing(dol, "e3", "NETWORK_TIMEOUT"), "4", now.Add(-3*time.Hour)),
		}
		first := w.imported(rows...)
		if !first[4].Repeated || first[4].Error.ID != first[3].Error.ID {
			w.Errorf("the same row twice in a batch: %+v", first[4])
		}
		w.Wait(3 * day)
		for i, again := range w.imported(rows...) {
			if !again.Repeated || again.Error.ID != first[i].Error.ID {
				w.Errorf("row %d: %+v", i, again)
			}
		}
		list, _, err := w.DB.Errors(w.Context(), store.Filter{}, sqldb.Page{})
		archived, _, err2 := w.DB.Archived(w.Context(), dol, sqldb.Page{})
		if err != nil || err2 != nil || len(list) != 2 || len(archived) != 2 {
			w.Errorf("open %v, archived %v, %v, %v", list, archived, err, err2)
		}
	})
}

func TestImportRefusals(t *testing.T) {
	everywhere(t, func(w *world) {
		r := failing(dol, "e1", "NETWORK_TIMEOUT")
		out, err := w.Engine.Import(w.Context(), ada, []engine.Past{
			past(r, "1", w.Now().Add(2*engine.MaxAhead)), past(r, "2", engine.Earliest.Add(-time.Second)),
			past(failing(dol, "e1", "no code"), "3", w.Now()), past(failing(letters, "e1", "NETWORK_TIMEOUT"), "4", w.Now()),
		})
		w.Must(err)
		for i, field := range []string{"created_at", "created_at", "code", "table"} {
			w.wantFields(out[i].Err, nil, field)
		}
		ahead := w.imported(past(r, "5", w.Now().Add(engine.MaxAhead/2)))[0].Error
		if ahead.CreatedAt.After(w.Now()) {
			w.Errorf("made at %v, which is not yet", ahead.CreatedAt)
		}
	})
}

// A row of its own keeps out of the way of reports of the same failure, whatever
// becomes of it.
func TestImportApart(t *testing.T) {
	everywhere(t, func(w *world) {
		row := past(failing(dol, "e1", "NETWORK_TIMEOUT"), "1", w.Now().Add(-time.Hour))
		row.Apart = true
		apart := w.imported(row)[0].Error
		reported := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		w.Act(engine.Act{ID: apart.ID, Input: lifecycle.Park{By: "ada", Reason: recoup.DataQuality}})
		w.Act(engine.Act{ID: apart.ID, Input: lifecycle.Unpark{By: "ada", Reason: "mended"}})
		claimed := w.claimOne(w.Read(apart.ID))
		w.Act(engine.Act{ID: apart.ID, Input: lifecycle.Fail{Token: claimed.LeaseToken, Failure: lifecycle.Failure{Code: "NETWORK_TIMEOUT", Class: apart.Class, Category: apart.Category}}})
		again := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		if got := w.Read(apart.ID); got.State != recoup.RetryPending || got.RetryCount != 1 || again.RetryCount != 1 || w.Read(reported.ID).SupersededBy != again.ID {
			w.Errorf("apart %+v, reported %+v, again %+v", got, w.Read(reported.ID), again)
		}
	})
}

// What people or workers have done about an error is not undone by an import of the
// same failure.
func TestImportTakesOverWhatWasDone(t *testing.T) {
	everywhere(t, func(w *world) {
		parked := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		w.Act(engine.Act{ID: parked.ID, Input: lifecycle.Park{By: "ada", Reason: recoup.DataQuality}})
		w.Wait(2 * time.Hour)
		out := w.imported(
			past(failing(dol, "e1", "NETWORK_TIMEOUT"), "1", w.Now().Add(-time.Hour)),
			past(failing(dol, "e1", "NETWORK_TIMEOUT"), "2", w.Now().Add(-5*time.Hour)),
		)
		newer, older := w.Read(out[0].Error.ID), w.Read(out[1].Error.ID)
		if newer.State != recoup.Parked || newer.ParkedBy != "ada" || newer.ParkReason != recoup.DataQuality || out[0].Superseded != parked.ID {
			w.Errorf("the newer: %+v", newer)
		}
		if older.ArchiveReason != recoup.SupersededByNext || older.SupersededBy != newer.ID {
			w.Errorf("the older: %+v", older)
		}
	})
}

// A newer report that calls itself harmless does not open the gate.
func TestImportKeepsTheWorst(t *testing.T) {
	everywhere(t, func(w *world) {
		bad, harmless := failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e1", "NETWORK_TIMEOUT")
		bad.Severity, harmless.Severity = recoup.Critical, recoup.Low
		w.imported(past(bad, "1", w.Now().Add(-5*time.Hour)))
		out := w.imported(past(harmless, "2", w.Now().Add(-time.Hour)))[0]
		blocking, err := w.DB.Blocking(w.Context(), []string{"e1"}, 10)
		if err != nil || len(blocking[0]) != 1 || out.Error.ArchiveReason != recoup.SupersededByNext {
			w.Errorf("blocking %+v, %v; the harmless one %+v", blocking, err, out.Error)
		}
	})
}

// Whoever imports the same at the same time records it once.
func TestImportRace(t *testing.T) {
	everywhere(t, func(w *world) {
		var rows []engine.Past
		for i := range 60 {
			rows = append(rows, past(failing(dol, fmt.Sprint("e", i%40), "NETWORK_TIMEOUT"), fmt.Sprint(i), w.Now().Add(-time.Duration(i*20)*time.Hour)))
		}
		var recorded atomic.Int64
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				for part := range slices.Chunk(rows, 20) {
					out, err := w.Engine.Import(w.Context(), ada, slices.Clone(part))
					if err != nil {
						w.Error(err)
					}
					for i := range out {
						if out[i].Err != nil {
							w.Error(out[i].Err)
						}
						if !out[i].Repeated {
							recorded.Add(1)
						}
					}
				}
			})
		}
		all.Wait()
		if recorded.Load() != int64(len(rows)) {
			w.Errorf("%d rows were recorded %d times", len(rows), recorded.Load())
		}
	})
}

// In whatever order history arrives, and in whatever pieces, it ends the same.
func TestImportInAnyOrder(t *testing.T) {
	everywhere(t, func(w *world) {
		n := 0
		rapid.Check(w.T, func(t *rapid.T) {
			if n++; w.sql != nil && n%5 != 0 {
				return // a fifth of the draws must do
			}
			rows := rapid.SliceOfN(rapid.Custom(drawPast(w.Now())), 1, 12).Draw(t, "rows")
			order := rapid.Permutation(rows).Draw(t, "order")
			pieces := rapid.IntRange(1, len(rows)).Draw(t, "piece")
			byTime := slices.SortedStableFunc(slices.Values(rows), func(a, b engine.Past) int { return a.CreatedAt.Compare(b.CreatedAt) })
			a, b := w.arrive(fmt.Sprint(n, "a-"), byTime, len(rows)), w.arrive(fmt.Sprint(n, "b-"), order, pieces)
			if a != b {
				t.Fatalf("by time:\n%s\nin this order:\n%s", a, b)
			}
		})
	})
}

// drawPast draws a failure of one of few entities, each with a message of its own.
func drawPast(now time.Time) func(*rapid.T) engine.Past {
	return func(t *rapid.T) engine.Past {
		r := failing(rapid.SampledFrom([]string{dol, people, discovery, errorLog, "no.such"}).Draw(t, "table"), rapid.SampledFrom([]string{"x", "y"}).Draw(t, "entity"),
			rapid.SampledFrom([]string{"NETWORK_TIMEOUT", "DATABASE_BUSY", "MISSING_NAME", "DNS_TIMEOUT"}).Draw(t, "code"))
		r.Severity = rapid.SampledFrom([]recoup.Severity{"", recoup.Low, recoup.High, recoup.Critical}).Draw(t, "severity")
		r.Message = fmt.Sprint("m", rapid.Uint32().Draw(t, "message"))
		age := time.Duration(rapid.SampledFrom([]int{0, 1, 5, 23, 30, 60, 200, 1000, 3000}).Draw(t, "hours")) * time.Hour
		return past(r, "", now.Add(-age))
	}
}

// arrive imports rows in pieces, for entities of their own, and describes what has
// become of them.
func (w *world) arrive(prefix string, rows []engine.Past, piece int) string {
	w.Helper()
	var ids []recoup.ID
	for part := range slices.Chunk(rows, piece) {
		mine := slices.Clone(part)
		for i := range mine {
			mine[i].EntityID = prefix + mine[i].EntityID
			mine[i].ID = engine.PastID(prefix, fmt.Sprintf("%+v", mine[i].Report), mine[i].CreatedAt)
		}
		for _, out := range w.imported(mine...) {
			ids = append(ids, out.Error.ID)
		}
	}
	var lines []string
	for _, id := range ids {
		e := w.Read(id)
		lines = append(lines, fmt.Sprintln(e.Table, strings.TrimPrefix(e.EntityID, prefix), e.Code, e.Message, e.Severity, e.CreatedAt, e.State, e.Disposition, e.Blocking,
			e.ExpiresAt, e.RetryCount, e.WindowEndsAt, e.ParkedAt, e.ParkReason, e.EscalationLevel, e.EscalatedTo, e.NextEscalationAt, e.ReviewDueAt, e.ArchiveReason))
	}
	slices.Sort(lines)
	return strings.Join(slices.Compact(lines), "")
}

// TestARowReplacesItsError holds that the error of a source row is replaced by the report of the
// changed row, with another code and without an entity too; that what is only worse counts no
// attempt and no event; and that a table that is kept for ever records both.
func TestARowReplacesItsError(t *testing.T) {
	everywhere(t, func(w *world) {
		report := func(table, entity, code string, severity recoup.Severity, replaces recoup.ID, amends bool) recoup.Error {
			r := failing(table, entity, code)
			r.Severity = severity
			p := engine.Past{Report: r, ID: w.ID(), CreatedAt: w.Now(), Live: true, Apart: true, Replaces: replaces, Amends: amends}
			return w.imported(p)[0].Error
		}
		for _, c := range []struct {
			table, entity string
			stands        bool // the older error
		}{{dol, "e1", false}, {orphans, "", false}, {"public.shq_master_error_log", "e1", true}} {
			first := report(c.table, c.entity, "NETWORK_TIMEOUT", recoup.Low, recoup.ID{}, false)
			w.Wait(time.Minute)
			events := len(w.Events())
			worse := report(c.table, c.entity, "NETWORK_TIMEOUT", recoup.High, first.ID, true)
			if worse.Severity != recoup.High || !c.stands && (worse.RetryCount != 0 || !worse.CreatedAt.Equal(first.CreatedAt) || len(w.Events()) != events) {
				w.Errorf("%s: worse: %+v, %d events", c.table, worse, len(w.Events())-events)
			}
			again := report(c.table, c.entity, "DNS_TIMEOUT", recoup.Low, worse.ID, false)
			if again.Severity != recoup.High || again.Code != "DNS_TIMEOUT" || !c.stands && again.RetryCount != min(1, again.MaxRetries) {
				w.Errorf("%s: again: %+v", c.table, again)
			}
			for i, older := range []recoup.Error{first, worse} {
				next := []recoup.Error{worse, again}[i]
				if got := w.Read(older.ID); (got.State != recoup.Archived) != c.stands || !c.stands && (got.ArchiveReason != recoup.SupersededByNext || got.SupersededBy != next.ID) {
					w.Errorf("%s: the older error: %+v", c.table, got)
				}
			}
		}
	})
}

// TestHistoryStaysSilent lets the clock move imported errors through windows, tiers, reviews and
// expiry: nobody is notified, and they are in no rate. What a person or an attempt moves notifies
// as ever.
func TestHistoryStaysSilent(t *testing.T) {
	everywhere(t, func(w *world) {
		now := w.Now()
		critical := func(entity string) engine.Past {
			r := failing(dol, entity, "NETWORK_TIMEOUT")
			r.Severity = recoup.Critical
			return past(r, entity, now.Add(-time.Hour))
		}
		waiting := past(failing(dol, "e3", "NETWORK_TIMEOUT"), "e3", now.Add(-time.Hour))
		list := w.imported(critical("e1"), critical("e2"), waiting, past(failing(dol, "e4", "NETWORK_TIMEOUT"), "e4", now.Add(-time.Hour)))
		levels, err := w.DB.(store.FigureReader).Levels(w.Context(), now)
		w.Must(err)
		if i := slices.IndexFunc(levels, func(l store.Level) bool { return l.Table == dol }); i < 0 || levels[i].Parked != 2 || levels[i].Past.Parked != 2 || levels[i].Past.Blocking != 4 {
			w.Errorf("levels %+v", levels)
		}
		// One that expires within a day would have been announced: the job of reminders is not late for it.
		soon := w.imported(past(failing(dol, "e5", "DATA_VALIDATION_ERROR"), "e5", now.Add(-29*day-12*time.Hour)))[0].Error
		if e := w.Read(soon.ID); !e.Blocking || !e.NextReminderAt.IsZero() {
			w.Errorf("a reminder is overdue: %+v", e)
		}
		sweep := func() {
			w.Helper()
			for _, d := range []store.Deadline{store.DueWindow, store.DueEscalation, store.DueReminder, store.DueExpiry} {
				_, err := w.Engine.Sweep(w.Context(), d, 1000)
				w.Must(err)
			}
		}
		for range 8 {
			w.Wait(day)
			sweep()
		}
		if notices, _, err := w.DB.Notices(w.Context(), wire.NoticeFilter{}, sqldb.Page{}); err != nil || len(notices) > 0 {
			w.Errorf("notices %+v, %v", notices, err)
		}
		w.Must(w.DB.FoldActivity(w.Context()))
		counted, err := w.DB.Activity(w.Context(), store.Span{From: epoch.AddDate(-1, 0, 0), To: epoch.AddDate(1, 0, 0)})
		w.Must(err)
		for _, a := range counted {
			if a.Retried+a.Exhausted+a.NotParked+a.LastParked+a.Unparked+a.Deescalated != 0 {
				w.Errorf("in rates: %+v", a)
			}
		}
		if e := w.Read(list[0].Error.ID); e.State != recoup.Escalated || e.EscalationLevel != 3 || !e.Historic {
			w.Errorf("after eight days: %+v", e)
		}
		if e := w.Read(list[2].Error.ID); !e.State.InParkQueue() || e.ParkReason != recoup.RetryWindowClosed || !e.Historic {
			w.Errorf("its window has closed: %+v", e)
		}
		w.Act(engine.Act{ID: list[1].Error.ID, Input: lifecycle.Assign{To: "ben"}})
		w.Act(engine.Act{ID: list[3].Error.ID, Input: lifecycle.Unpark{Reason: "fixed"}})
		w.Act(engine.Act{ID: list[3].Error.ID, Input: lifecycle.Park{Reason: "broken again"}})
		if e := w.Read(list[3].Error.ID); e.Historic {
			w.Errorf("moved by a person: %+v", e)
		}
		w.Wait(2 * day)
		sweep()
		notices, _, err := w.DB.Notices(w.Context(), wire.NoticeFilter{}, sqldb.Page{})
		w.Must(err)
		to := map[string]bool{}
		for _, n := range notices {
			to[string(n.Kind)+" "+n.To] = true
		}
		if !to["REVIEW_MISSED ben"] || !to["PARKED dol-filings-team"] {
			w.Errorf("notices %v", to)
		}
		w.Wait(40 * day)
		sweep()
		if e := w.Read(list[0].Error.ID); e.State != recoup.Archived {
			w.Errorf("at the end of its TTL: %+v", e)
		}
	})
}
