package conformance

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// alertClause is one sentence about alerts, their figures and the outbox, and
// how it is tried.
type alertClause struct {
	says string
	try  func(d *alertDriver)
}

// RunAlerts holds a store to the specification of what is kept for alerts. Each
// clause runs in parallel on a fresh store; open registers its own clean-up.
func RunAlerts(t *testing.T, open func(t *testing.T) Alerting) {
	first := open(t)
	clauses := slices.Concat(verdictClauses(), silenceClauses(), movingAlerts(), providerClauses(), activityClauses(), deadlineClauses(), levelClauses(), noticeClauses())
	if _, ok := first.(Ledger); ok {
		clauses = append(clauses, recentClauses()...)
	}
	if _, ok := first.(RawInserter); ok {
		clauses = append(clauses, rawLevelClauses()...)
	}
	for _, c := range clauses {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			s := open(t)
			c.try(&alertDriver{newServiceDriver(t, s), s})
		})
	}
}

// alertDriver uses a store with a clock that is moved by hand.
type alertDriver struct {
	*serviceDriver
	store Alerting
}

func verdictClauses() []alertClause {
	return []alertClause{
		{"an alert is kept as it is saved, version by version", alertKept},
		{"what is open comes by rule and scope, and what is resolved does not", alertOpen},
		{"alerts are listed newest first, by state, rule and scope", alertListed},
		{"an alert that is resolved stays as it is", alertOver},
		{"what an alert is about and when it began is permanent", alertPermanent},
		{"of a rule and a scope one alert is open", alertOnce},
		{"of eight verdicts at once that open one alert, one stands", alertRace},
		{"a verdict stands or falls as a whole", verdictWhole},
		{"what a leader decides whose term is over is refused", verdictFenced},
		{"a verdict notifies once", verdictNotifies},
		{"a verdict switches providers, for the reason of its alert", verdictSwitches},
		{"what was resolved before a time is purged, oldest first, and nothing else", alertPurged},
	}
}

// alert is an alert that is pending.
func (d *alertDriver) alert(rule, scope string) wire.Alert {
	return wire.Alert{
		ID: d.ids.New(d.now), Rule: rule, Scope: scope, State: wire.AlertPending, Severity: wire.AlertHigh, Action: wire.NotifyHubTeam,
		Condition: "error_rate > 5% over 24h", Value: 0.0625, Samples: 320, PendingAt: d.now,
	}
}

// fires returns the alert as it is once people were notified.
func (d *alertDriver) fires(a wire.Alert) wire.Alert {
	a.State, a.FiredAt, a.NotifiedAt, a.Notified = wire.AlertFiring, d.now, d.now, a.Notified+1
	return a
}

// resolves returns the alert as it is once it is over.
func (d *alertDriver) resolves(a wire.Alert) wire.Alert {
	a.State, a.ResolvedAt = wire.AlertResolved, d.now
	return a
}

// save saves alerts, as the leader of the first term.
func (d *alertDriver) save(alerts ...wire.Alert) error {
	d.Helper()
	return d.decides(store.Verdict{Alerts: alerts})
}

func (d *alertDriver) decides(v store.Verdict) error {
	d.Helper()
	t, _ := d.bid("n1")
	return d.store.SaveAlerts(d.Context(), t, d.now, v)
}

// wantAlert says how the store must have an alert.
func (d *alertDriver) wantAlert(want wire.Alert) {
	d.Helper()
	got, err := d.store.Alert(d.Context(), want.ID)
	d.must(err)
	wantSame(d.serviceDriver, got, want)
}

// wantOpen says which alerts must be open, in order.
func (d *alertDriver) wantOpen(want ...wire.Alert) {
	d.Helper()
	got, err := d.store.OpenAlerts(d.Context())
	d.must(err)
	wantSame(d.serviceDriver, got, want)
}

func alertKept(d *alertDriver) {
	a := d.alert("high-errors", "DOL Filings")
	d.must(d.save(a))
	d.wantAlert(a)
	d.wait(5 * time.Minute)
	a = d.fires(a)
	a.Value, a.Samples, a.Severity, a.Action, a.Condition = -1e-300, 1<<40, wire.AlertCritical, wire.PageOnCall, "error_rate > 6% over 24h"
	d.must(d.save(a))
	d.wantAlert(a)
	d.wait(4 * time.Hour)
	a.NotifiedAt, a.Notified, a.Value = d.now, 2, 0
	d.must(d.save(a))
	d.wantAlert(a)
	d.wait(time.Minute)
	a = d.resolves(a)
	d.must(d.save(a))
	d.wantAlert(a)
	_, err := d.store.Alert(d.Context(), d.ids.New(d.now))
	d.wantErr(err, sqldb.ErrNotFound)
}

func alertOpen(d *alertDriver) {
	d.wantOpen()
	b, a, all, other := d.alert("b", "x"), d.alert("b", "a"), d.alert("b", ""), d.fires(d.alert("a", "z"))
	d.must(d.save(b, a, all, other))
	d.wantOpen(other, all, a, b)
	d.must(d.save(d.resolves(a), d.resolves(all)))
	d.wantOpen(other, b)
	again := d.alert("b", "")
	d.must(d.save(again))
	d.wantOpen(other, again, b)
}

func alertListed(d *alertDriver) {
	var all []wire.Alert
	for i := range 12 {
		d.wait(time.Duration(i%3) * time.Second)
		a := d.alert(fmt.Sprint("r", i%2), []string{"", "x", "y"}[i%3])
		d.must(d.save(a))
		if i < 9 {
			fired := d.fires(a)
			if i%4 > 1 {
				fired.Notified, fired.NotifiedAt = 0, time.Time{} // silenced
			}
			d.must(d.save(fired))
			a = d.resolves(fired)
			d.must(d.save(a))
		}
		all = append(all, a)
	}
	slices.SortFunc(all, func(a, b wire.Alert) int {
		return -cmpCursor(sqldb.Cursor{At: a.PendingAt, ID: a.ID}, sqldb.Cursor{At: b.PendingAt, ID: b.ID})
	})
	for _, f := range []store.AlertFilter{
		{}, {Rule: "r1"}, {Scope: "y"}, {Rule: "r0", Scope: "x"}, {Rule: "none"}, {States: []wire.AlertState{wire.AlertResolved}},
		{States: []wire.AlertState{wire.AlertPending, wire.AlertFiring}}, {States: []wire.AlertState{wire.AlertPending}, Scope: "x"},
		{States: []wire.AlertState{wire.AlertFiring}}, {States: []wire.AlertState{"?"}},
		{Rule: "r0", Notified: true}, {Rule: "r0", Scope: "x", Notified: true}, {Rule: "r1", Notified: true},
		{Rule: "r0", Scope: "y", Notified: true, States: []wire.AlertState{wire.AlertResolved}},
		{Rule: "r0", Scope: "y", Notified: true, States: []wire.AlertState{wire.AlertFiring}},
	} {
		var want []wire.Alert
		for _, a := range all {
			if (f.Rule == "" || f.Rule == a.Rule) && (f.Scope == "" && !f.Notified || f.Scope == a.Scope) && (!f.Notified || a.Notified > 0) && (f.States == nil || slices.Contains(f.States, a.State)) {
				want = append(want, a)
			}
		}
		got := walked(d.serviceDriver, func(c sqldb.Cursor) ([]wire.Alert, sqldb.Cursor, error) {
			return d.store.Alerts(d.Context(), f, sqldb.Page{Cursor: c, Limit: 5})
		}, sqldb.Cursor.IsZero)
		wantSame(d.serviceDriver, got, want)
	}
}

func cmpCursor(a, b sqldb.Cursor) int {
	if c := a.At.Compare(b.At); c != 0 {
		return c
	}
	return slices.Compare(a.ID[:], b.ID[:])
}

func alertOver(d *alertDriver) {
	open := d.alert("r", "x")
	over := d.resolves(open)
	d.must(d.save(open))
	d.must(d.save(over))
	changed := over
	changed.Value = 7
	for _, a := range []wire.Alert{open, over, changed, d.fires(open)} {
		d.wantErr(d.save(a), store.ErrRefused)
	}
	d.wantErr(d.save(d.resolves(d.alert("r", "x"))), store.ErrRefused) // it never began
	d.wantAlert(over)
}

func alertPermanent(d *alertDriver) {
	a := d.fires(d.alert("r", "x"))
	d.must(d.save(a))
	for name, change := range map[string]func(*wire.Alert){
		"its rule":            func(a *wire.Alert) { a.Rule = "other" },
		"its scope":           func(a *wire.Alert) { a.Scope = "" },
		"its beginning":       func(a *wire.Alert) { a.PendingAt = a.PendingAt.Add(-time.Hour) },
		"when it fired":       func(a *wire.Alert) { a.FiredAt = a.FiredAt.Add(time.Hour) },
		"that it fired":       func(a *wire.Alert) { a.State, a.FiredAt = wire.AlertPending, time.Time{} },
		"what was notified":   func(a *wire.Alert) { a.Notified, a.NotifiedAt = 0, time.Time{} },
		"a state of its own":  func(a *wire.Alert) { a.State = "ODD" },
		"an end too early":    func(a *wire.Alert) { a.ResolvedAt = d.now },
		"no end":              func(a *wire.Alert) { a.State = wire.AlertResolved },
		"notified at no time": func(a *wire.Alert) { a.NotifiedAt = time.Time{} },
		"fewer than none":     func(a *wire.Alert) { a.Samples = -1 },
	} {
		next := a
		change(&next)
		if err := d.save(next); err == nil {
			d.Errorf("%s was changed", name)
		}
	}
	d.wantAlert(a)
	d.wantOpen(a)
}

func alertOnce(d *alertDriver) {
	a, all := d.alert("r", "x"), d.alert("r", "")
	d.must(d.save(a, all))
	d.wantErr(d.save(d.alert("r", "x")), store.ErrConflict)
	d.wantErr(d.save(d.alert("r", "")), store.ErrConflict)
	d.wantErr(d.save(d.alert("new", ""), d.alert("new", "")), store.ErrRefused)
	d.wantOpen(all, a)
	next := d.alert("r", "x")
	d.must(d.save(d.resolves(a), next)) // in one verdict
	d.wantOpen(all, next)
}

func alertRace(d *alertDriver) {
	t := d.leads("n1", 1)
	made := make([]bool, 8)
	d.together(len(made), func(i int) error {
		err := d.store.SaveAlerts(d.Context(), t, d.now, store.Verdict{Alerts: []wire.Alert{d.alert("r", "x")}})
		if made[i] = err == nil; errors.Is(err, store.ErrConflict) {
			return nil
		}
		return err
	})
	open, err := d.store.OpenAlerts(d.Context())
	if d.must(err); len(open) != 1 || len(slices.DeleteFunc(made, func(ok bool) bool { return !ok })) != 1 {
		d.Errorf("%d verdicts stand and %d alerts are open", len(made), len(open))
	}
}

// verdict is one of everything.
func (d *alertDriver) verdict(key string) store.Verdict {
	a := d.fires(d.alert("provider-errors", "zerobounce"))
	return store.Verdict{
		Alerts:   []wire.Alert{a},
		Notices:  []wire.Notice{{Kind: "ALERT", To: "platform-team", Key: key, Body: `{"rule":"provider-errors"}`}},
		Switches: []store.Switch{{Group: "email_validation", To: "zerobounce", AlertID: a.ID}},
	}
}

// wantNothing says that no verdict must have left anything.
func (d *alertDriver) wantNothing() {
	d.Helper()
	d.wantOpen()
	d.pending(0)
	d.wantProviders()
	d.wantActs()
}

func (d *alertDriver) wantProviders(want ...recoup.Provider) {
	d.Helper()
	got, err := d.store.Providers(d.Context())
	d.must(err)
	wantSame(d.serviceDriver, got, want)
}

func verdictWhole(d *alertDriver) {
	for name, c := range map[string]struct {
		spoil func(*store.Verdict)
		want  error
	}{
		"an alert": {func(v *store.Verdict) { v.Alerts = append(v.Alerts, v.Alerts[0]); v.Alerts[1].ID = d.ids.New(d.now) }, store.ErrRefused},
		"a notice": {func(v *store.Verdict) { v.Notices[0].Body = "{" }, recoup.ErrBadJSON},
		"a switch": {func(v *store.Verdict) { v.Switches[0].From = "millionverifier" }, store.ErrConflict},
		"a second switch": {func(v *store.Verdict) {
			v.Switches = append(v.Switches, store.Switch{Group: "email_validation", To: "third"})
		}, store.ErrConflict},
	} {
		v := d.verdict("k")
		c.spoil(&v)
		if err := d.decides(v); err == nil {
			d.Errorf("%s that cannot be was accepted", name)
		} else {
			d.wantErr(err, c.want)
		}
		d.wantNothing()
	}
	d.must(d.decides(d.verdict("k")))
	d.must(d.decides(store.Verdict{}))
	d.pending(1)
}

func verdictFenced(d *alertDriver) {
	asleep := d.leads("n1", 1)
	d.wait(term)
	awake := d.leads("n2", 2)
	v := d.verdict("k")
	notices := store.Verdict{Notices: v.Notices}
	d.wantErr(d.store.SaveAlerts(d.Context(), asleep, d.now, v), store.ErrRefused)
	d.wantErr(d.store.SaveAlerts(d.Context(), asleep, d.now, notices), store.ErrRefused)
	d.wantErr(d.store.SaveAlerts(d.Context(), asleep, d.now, store.Verdict{}), store.ErrRefused)
	d.wantErr(d.store.SaveAlerts(d.Context(), store.Term{Name: "none", Number: 1}, d.now, v), store.ErrRefused)
	d.wantNothing()
	d.must(d.store.SaveAlerts(d.Context(), awake, d.now, v))
	d.must(d.store.Resign(d.Context(), awake))
	d.wantErr(d.store.SaveAlerts(d.Context(), awake, d.now, store.Verdict{Alerts: []wire.Alert{d.resolves(v.Alerts[0])}}), store.ErrRefused)
	d.wantOpen(v.Alerts...)
}

func verdictNotifies(d *alertDriver) {
	v := d.verdict("alert:1")
	d.must(d.decides(v))
	d.wait(time.Microsecond)
	again, made := v.Notices[0], d.now.Add(-time.Microsecond)
	again.Key = "alert:2"
	d.must(d.decides(store.Verdict{Notices: append(v.Notices, again)}))
	d.pending(2)
	n, want := d.claimed(10, "alert:1", "alert:2")[0], v.Notices[0]
	want.ID, want.CreatedAt, want.DueAt, want.Attempts = n.ID, made, made, 1
	wantSame(d.serviceDriver, n, want)
}

func verdictSwitches(d *alertDriver) {
	v := d.verdict("k")
	d.must(d.decides(v))
	a := v.Alerts[0]
	first := recoup.Provider{Group: "email_validation", Active: "zerobounce", Since: d.now, By: recoup.System, Reason: a.Condition, AlertID: a.ID}
	d.wantProviders(first)
	d.wait(time.Hour)
	back := store.Switch{Group: "email_validation", From: "zerobounce", To: "millionverifier", Reason: "quiet for 1h"}
	d.wantErr(d.decides(store.Verdict{Switches: []store.Switch{{Group: "email_validation", To: "millionverifier"}}}), store.ErrConflict)
	d.must(d.decides(store.Verdict{Switches: []store.Switch{back}}))
	d.wantProviders(recoup.Provider{Group: "email_validation", Active: "millionverifier", Since: d.now, By: recoup.System, Reason: "quiet for 1h"})
	acts := d.acts()
	if len(acts) != 2 {
		d.Fatalf("the audit tells of %d acts", len(acts))
	}
	for i, reason := range []string{a.Condition, "quiet for 1h"} {
		if e := acts[i]; e.Actor != recoup.System || e.Act != store.ActProviderSwitch || e.Target != "email_validation" || e.Reason != reason {
			d.Errorf("the audit tells %+v", e)
		}
	}
	wantSame(d.serviceDriver, acts[0].Details, recoup.EncodeJSON(map[string]any{"to": "zerobounce", "alert_id": a.ID.String()}))
}

func alertPurged(d *alertDriver) {
	var over []wire.Alert
	for i := range 5 {
		d.wait(time.Minute)
		a := d.alert("r", fmt.Sprint(i))
		d.must(d.save(a))
		a = d.resolves(a)
		d.must(d.save(a))
		over = append(over, a)
	}
	open := d.alert("r", "open")
	d.must(d.save(open))
	purge := func(before time.Time, limit, want int) {
		n, err := d.store.PurgeAlerts(d.Context(), before, limit)
		if d.must(err); n != want {
			d.Fatalf("%d alerts were purged, want %d", n, want)
		}
	}
	purge(over[0].ResolvedAt, 10, 0)
	purge(over[3].ResolvedAt, 2, 2)
	_, err := d.store.Alert(d.Context(), over[1].ID)
	d.wantErr(err, sqldb.ErrNotFound)
	d.wantAlert(over[2])
	purge(over[3].ResolvedAt, 2, 1)
	purge(d.now.Add(day), 10, 2)
	d.wantOpen(open)
}
