package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func silenceClauses() []alertClause {
	return []alertClause{
		{"a silence is added and ended by somebody, for a reason", silenceKept},
		{"the first end of a silence stands, and its own time is one", silenceEnds},
		{"a silence needs a reason, some time and an id of its own", silenceRefused},
		{"silences are listed newest first, all or those that hold", silenceListed},
		{"silences that are long over are deleted, ended ones when their time would be", silencePurged},
	}
}

// silence is a silence of some hours.
func (d *alertDriver) silence(rule, scope string, hours int) wire.Silence {
	return wire.Silence{ID: d.ids.New(d.now), Rule: rule, Scope: scope, Until: d.now.Add(time.Duration(hours) * time.Hour)}
}

func (d *alertDriver) silenced(s wire.Silence) wire.Silence {
	d.Helper()
	got, err := d.store.AddSilence(d.Context(), s, d.act("ada"))
	d.must(err)
	return got
}

// wantSilences says which silences must hold at a time, or must be there at all.
func (d *alertDriver) wantSilences(at time.Time, want ...wire.Silence) {
	d.Helper()
	got := walked(d.serviceDriver, func(c sqldb.Cursor) ([]wire.Silence, sqldb.Cursor, error) {
		return d.store.Silences(d.Context(), at, sqldb.Page{Cursor: c, Limit: 2})
	}, sqldb.Cursor.IsZero)
	wantSame(d.serviceDriver, got, want)
}

func silencePurged(d *alertDriver) {
	var all []wire.Silence
	for i := range 4 {
		all = append(all, d.silenced(d.silence("r", fmt.Sprint(i), 4-i)))
		d.wait(time.Minute)
	}
	_, err := d.store.EndSilence(d.Context(), all[0].ID, d.act("ada"))
	d.must(err)
	purge := func(before time.Time, limit, want int) {
		d.Helper()
		n, err := d.store.PurgeAlerts(d.Context(), before, limit)
		if d.must(err); n != want {
			d.Fatalf("%d silences were purged, want %d", n, want)
		}
	}
	purge(all[3].Until, 10, 0)
	purge(all[1].Until, 1, 1)
	d.wantSilences(time.Time{}, all[3], all[1], d.ended(all[0]))
	purge(all[1].Until, 10, 1)
	d.wantSilences(time.Time{}, all[1], d.ended(all[0]))
	purge(all[0].Until.Add(time.Second), 10, 2)
	d.wantSilences(time.Time{})
}

// ended is a silence that ada has ended just now.
func (d *alertDriver) ended(s wire.Silence) wire.Silence {
	s.EndedAt, s.EndedBy = d.now, "ada"
	return s
}

func silenceKept(d *alertDriver) {
	s := d.silence("high-errors", "DOL Filings", 2)
	got := d.silenced(s)
	s.Reason, s.At, s.By = "because", d.now, "ada"
	wantSame(d.serviceDriver, got, s)
	d.wantSilences(d.now, s)
	everything := d.silenced(d.silence("", "", 1))
	d.wait(time.Minute)
	ended, err := d.store.EndSilence(d.Context(), s.ID, d.act("bob"))
	d.must(err)
	s.EndedAt, s.EndedBy = d.now, "bob"
	wantSame(d.serviceDriver, ended, s)
	d.wantSilences(d.now, everything)
	acts := d.wantActs("ada silence.add "+s.ID.String(), "ada silence.add "+everything.ID.String(), "bob silence.end "+s.ID.String())
	wantSame(d.serviceDriver, acts[0].Details, store.Act{}.OnSilence("", &s).Details)
	_, err = d.store.EndSilence(d.Context(), d.ids.New(d.now), d.act("ada"))
	d.wantErr(err, sqldb.ErrNotFound)
}

func silenceEnds(d *alertDriver) {
	s := d.silenced(d.silence("r", "", 1))
	d.wait(time.Minute)
	ended, err := d.store.EndSilence(d.Context(), s.ID, d.act("bob"))
	d.must(err)
	d.wait(time.Minute)
	again, err := d.store.EndSilence(d.Context(), s.ID, d.act("eve"))
	d.must(err)
	wantSame(d.serviceDriver, again, ended)
	over := d.silenced(d.silence("r", "", 1))
	d.wait(time.Hour)
	got, err := d.store.EndSilence(d.Context(), over.ID, d.act("eve"))
	d.must(err)
	wantSame(d.serviceDriver, got, over)
	d.wantActs("ada silence.add "+s.ID.String(), "bob silence.end "+s.ID.String(), "ada silence.add "+over.ID.String())
}

func silenceRefused(d *alertDriver) {
	s := d.silence("r", "", 1)
	_, err := d.store.AddSilence(d.Context(), s, store.Act{By: "ada", At: d.now})
	d.wantErr(err, store.ErrRefused)
	_, err = d.store.AddSilence(d.Context(), d.silence("r", "", 0), d.act("ada"))
	d.wantErr(err, store.ErrRefused)
	d.wantActs()
	s = d.silenced(s)
	_, err = d.store.AddSilence(d.Context(), wire.Silence{ID: s.ID, Until: s.Until.Add(day)}, d.act("eve"))
	d.wantErr(err, store.ErrConflict)
	d.wantSilences(time.Time{}, s)
}

func silenceListed(d *alertDriver) {
	var all []wire.Silence
	for i := range 7 {
		d.wait(time.Duration(i%2) * time.Minute)
		all = append(all, d.silenced(d.silence(fmt.Sprint("r", i), "", 1+i%3)))
	}
	_, err := d.store.EndSilence(d.Context(), all[4].ID, d.act("bob"))
	d.must(err)
	all[4].EndedAt, all[4].EndedBy = d.now, "bob"
	slices.SortFunc(all, func(a, b wire.Silence) int {
		return -cmpCursor(sqldb.Cursor{At: a.At, ID: a.ID}, sqldb.Cursor{At: b.At, ID: b.ID})
	})
	d.wantSilences(time.Time{}, all...)
	for _, at := range []time.Time{d.now, d.now.Add(time.Hour), d.now.Add(2*time.Hour - time.Microsecond), d.now.Add(day)} {
		anything := wire.Alert{}
		d.wantSilences(at, slices.DeleteFunc(slices.Clone(all), func(s wire.Silence) bool {
			s.Rule = ""
			return !s.Covers(&anything, at)
		})...)
	}
}

func providerClauses() []alertClause {
	return []alertClause{
		{"a group is switched from the provider in use, and from no other", providerSwitched},
		{"of eight who switch a group at once, one does", providerRace},
	}
}

func providerSwitched(d *alertDriver) {
	d.wantProviders()
	group := store.Switch{Group: "email_validation", To: "zerobounce"}
	got, err := d.store.SwitchProvider(d.Context(), group, d.act("ada"))
	d.must(err)
	want := recoup.Provider{Group: "email_validation", Active: "zerobounce", Since: d.now, By: "ada", Reason: "because"}
	wantSame(d.serviceDriver, got, want)
	d.wait(time.Minute)
	for _, bad := range []store.Switch{
		group,
		{Group: group.Group, From: "millionverifier", To: "third"},
		{Group: group.Group, From: "zerobounce", To: "zerobounce"},
		{Group: group.Group, From: "zerobounce"},
		{Group: "other", From: "a", To: "b"},
	} {
		_, err := d.store.SwitchProvider(d.Context(), bad, d.act("eve"))
		d.wantErr(err, store.ErrConflict)
	}
	d.wantProviders(want)
	_, err = d.store.SwitchProvider(d.Context(), store.Switch{Group: "a", To: "x"}, d.act("bob"))
	d.must(err)
	back, err := d.store.SwitchProvider(d.Context(), store.Switch{Group: group.Group, From: "zerobounce", To: "millionverifier"}, d.act("bob"))
	d.must(err)
	d.wantProviders(recoup.Provider{Group: "a", Active: "x", Since: d.now, By: "bob", Reason: "because"}, back)
	d.wantActs("ada provider.switch email_validation", "bob provider.switch a", "bob provider.switch email_validation")
}

func providerRace(d *alertDriver) {
	for round, from := range []string{"", "one", "two"} {
		to := []string{"one", "two", "three"}[round]
		var done atomic.Int64
		d.together(8, func(int) error {
			_, err := d.store.SwitchProvider(d.Context(), store.Switch{Group: "g", From: from, To: to}, d.act("ada"))
			switch {
			case err == nil:
				done.Add(1)
			case errors.Is(err, store.ErrConflict):
				return nil
			}
			return err
		})
		if done.Load() != 1 || len(d.acts()) != round+1 {
			d.Fatalf("%d switched, and the audit tells of %d", done.Load(), len(d.acts()))
		}
	}
}
