package conformance

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Whole is a store with everything that a node asks of it.
type Whole interface {
	Store
	DeadLetters
	store.AuditReader
	SQL() sqldb.DB
	Ledger
	Alerting
}

// Filler leads a database through a piece of every life that a slice has, and says what it
// answers about that.
type Filler struct {
	Fill     func(t TB, s Whole)
	Snapshot func(ctx context.Context, s Whole, put func(of string, got any, err error))
}

// Fill leads a fresh database through a piece of every life that it can hold, so that
// no table of it is left empty.
func Fill(t TB, s Whole, slices ...Filler) {
	t.Helper()
	d := NewDriver(t, s)
	fillErrors(d)
	for _, try := range []func(*Bookkeeper){eventReturns, dropsAddUp, fillFiles} {
		try(NewBookkeeper(t, s))
	}
	newLetterDriver(t, s).submit("folded", 1)
	if err := errors.Join(s.FoldActivity(t.Context()), s.FoldRollups(t.Context())); err != nil {
		t.Fatalf("%v", err)
	}
	d.Report(dol, "not folded", "NETWORK_TIMEOUT", recoup.Medium)
	eventTimeless(NewBookkeeper(t, s))
	fillLetters(newLetterDriver(t, s))
	for _, try := range []func(*serviceDriver){jobKept, processedAdds, fillService} {
		try(newServiceDriver(t, s))
	}
	fillAlerts(&alertDriver{newServiceDriver(t, s), s})
	for _, fill := range slices {
		fill.Fill(t, s)
	}
}

// fillErrors leaves an error in each state, one that is leased, and one that is
// archived.
func fillErrors(d *Driver) {
	d.Helper()
	streaks(d)
	d.ClaimDue(d.Report(dol, "leased", "NETWORK_TIMEOUT", recoup.Medium))
	d.Park(d.Report(dol, "parked", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	d.Resolve(d.Report(dol, "resolved", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.Archive(d.Report(dol, "archived", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.wantFirst(d.reportOnce("receipt", d.receipt("a", "x")))
	d.wantPromoted("free")
}

// fillLetters leaves work that waits, that is leased and that is paused, and dead
// letters that are new and in a replay.
func fillLetters(d *letterDriver) {
	d.Helper()
	sealed := slow
	sealed.Payload = []byte("sealed")
	l := d.dead(sealed)
	d.validated(l.Dead.ErrorID)
	ids := d.deadMany(3, malformed)
	d.validated(ids...)
	d.replayed(2, ids...)
	d.ack(d.claim(1))
	d.submit("fetch", 4)
	q := d.claim(2)[0]
	d.must(d.store.SaveCheckpoint(d.Context(), q.LeaseToken, store.Checkpoint{WorkID: q.WorkID, Stage: "fetch", KeyID: "k", Sealed: []byte("x"), At: d.now}))
	d.must(d.store.SetPause(d.Context(), recoup.WorkPause{PauseScope: recoup.PauseScope{Pipeline: "other"}, By: "ada", Reason: "wait", At: d.now}))
	d.must(d.store.SaveHeartbeats(d.Context(), []store.Heartbeat{{Queue: dol, Node: "n1", LastClaimAt: d.now, Workers: []store.WorkerSeen{{Name: "w1", At: d.now}}}}))
}

// fillFiles leaves a day of events that is in a file.
func fillFiles(b *Bookkeeper) {
	b.Helper()
	act := store.Act{By: "ada", At: Epoch()}
	b.must(b.Ledger.SetEventFiling(b.Context(), "/files", act))
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(store.Day(Epoch()), 1, 1), act))
}

func fillAlerts(d *alertDriver) {
	d.Helper()
	d.silenced(d.silence("high-errors", "DOL Filings", 2))
	_, err := d.store.SwitchProvider(d.Context(), store.Switch{Group: "email_validation", To: "zerobounce"}, d.act("ada"))
	d.must(err)
	alertKept(d)
}

func fillService(d *serviceDriver) {
	d.Helper()
	d.signedIn(d.session(1))
	d.saved(d.view("late", "DOL Filings", "parked:yes", "older:2d"), wire.Key{Name: "ada"})
	d.running(NewDriver(d.TB, d.store), 1)
	d.addPlatformKey("a", "tenant")
	d.addPolicy("9", "version: 9")
}

// Snapshot is all that a store answers about what it holds, as text.
func Snapshot(t TB, s Whole, slices ...Filler) string {
	t.Helper()
	var text strings.Builder
	put := func(of string, got any, err error) {
		t.Helper()
		line, bad := json.Marshal(got)
		if err != nil || bad != nil {
			t.Fatalf("%s: %v, %v", of, err, bad)
		}
		fmt.Fprintf(&text, "%s\t%s\n", of, line)
	}
	ctx, page := t.Context(), sqldb.Page{Limit: sqldb.MaxPage}
	open := putErrors(ctx, s, put)
	putLetters(ctx, s, put)
	for _, e := range open {
		log, err := s.GateLog(ctx, e.EntityID, 100)
		put("gate log of "+e.EntityID, log, err)
	}
	for _, of := range slices {
		of.Snapshot(ctx, s, put)
	}
	events, _, err := s.Events(ctx, store.EventFilter{}, page)
	put("events", events, err)
	top, err := s.TopCodes(ctx, store.Span{From: Epoch().AddDate(-1, 0, 0), To: Epoch().AddDate(1, 0, 0)}, 100)
	put("top codes", top, err)
	putService(ctx, s, put)
	return text.String()
}

type putter = func(of string, got any, err error)

func putErrors(ctx context.Context, s Whole, put putter) []recoup.Error {
	page := sqldb.Page{Limit: sqldb.MaxPage}
	open, _, err := s.Errors(ctx, store.Filter{}, page)
	put("errors", open, err)
	archived, _, err := s.Archived(ctx, dol, page)
	put("archived", archived, err)
	for _, e := range slices.Concat(open, archived) {
		history, err := s.History(ctx, e.ID, 100)
		put("history", history, err)
	}
	counts, err := s.Counts(ctx)
	put("counts", counts, err)
	levels, err := s.Levels(ctx, Epoch().Add(time.Hour))
	put("levels", levels, err)
	return open
}

func putLetters(ctx context.Context, s Whole, put putter) {
	page := sqldb.Page{Limit: sqldb.MaxPage}
	letters, _, err := s.DeadLetters(ctx, store.DeadLetterFilter{}, page)
	put("dead letters", letters, err)
	for _, l := range letters {
		rounds, err := s.Rounds(ctx, l.Dead.ErrorID, 100)
		put("rounds", rounds, err)
		notes, err := s.Notes(ctx, recoup.Note{ErrorID: l.Dead.ErrorID}, 100)
		put("notes", notes, err)
	}
	groups, _, err := s.Groups(ctx, store.GroupFilter{}, page)
	put("groups", groups, err)
	replays, _, err := s.Replays(ctx, store.ReplayFilter{}, page)
	put("replays", replays, err)
	pauses, err := s.Pauses(ctx, Epoch(), nil)
	put("pauses", pauses, err)
}

func putService(ctx context.Context, s Whole, put putter) {
	page := sqldb.Page{Limit: sqldb.MaxPage}
	keys, _, err := s.Keys(ctx, page)
	put("keys", keys, err)
	audit, _, err := s.Audit(ctx, wire.AuditFilter{}, store.AuditCursor{}, 100)
	put("audit", audit, err)
	views, _, err := s.Views(ctx, recoup.ID{}, nil, page)
	put("views", views, err)
	current, err := s.CurrentPolicy(ctx)
	put("policy", current, err)
	jobs, err := s.Jobs(ctx)
	put("jobs", jobs, err)
	notices, _, err := s.Notices(ctx, wire.NoticeFilter{}, page)
	put("notices", notices, err)
	alerts, _, err := s.Alerts(ctx, store.AlertFilter{}, page)
	put("alerts", alerts, err)
	silences, _, err := s.Silences(ctx, time.Time{}, page)
	put("silences", silences, err)
	providers, err := s.Providers(ctx)
	put("providers", providers, err)
	activity, err := s.Activity(ctx, store.Span{From: Epoch().AddDate(-1, 0, 0), To: Epoch().AddDate(1, 0, 0)})
	put("activity", activity, err)
}
