package define_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// plan is the plan for the table of a world.
func (w *world) plan(r define.Request) *define.Plan {
	w.t.Helper()
	r.As = "shop.errors"
	if r.Source == "" {
		r.Source = "shop.failures"
	}
	plan, err := define.MakePlan(w.t.Context(), w.owner, r)
	if err != nil {
		w.t.Fatal(err)
	}
	return plan
}

const zoned = `create table shop.failures (id int primary key, order_id text, code text, created_at timestamp);
	insert into shop.failures values (1, 'a', 'X', '2026-01-01 12:00'), (2, 'b', 'X', '2026-07-01 12:00'), (3, 'c', 'X', '2026-03-29 02:30'), (4, 'd', 'X', '2026-10-25 02:30')`

// TestTimesAreReadInTheZoneOfTheOwner reads times without a time zone as sessions of the owner write
// them: by the setting of the role in the database, of the role, of the database and of the server, in
// this order. A flag comes before all of them.
func TestTimesAreReadInTheZoneOfTheOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t, zoned)
	database := one(t, w, "select current_database()")
	var zone, origin, samples string
	look := func(r define.Request) {
		t.Helper()
		plan := w.plan(r)
		if len(plan.Refusals) > 0 || plan.Zone == nil {
			t.Fatalf("%+v", plan)
		}
		zone, origin, samples = plan.Zone.Name, plan.Zone.Origin, fmt.Sprint(plan.Zone.Samples)
	}
	want := func(wantZone, wantOrigin, wantSamples string) {
		t.Helper()
		if zone != wantZone || origin != wantOrigin || samples != wantSamples {
			t.Errorf("%s (%s) %s, want %s (%s) %s", zone, origin, samples, wantZone, wantOrigin, wantSamples)
		}
	}
	look(define.Request{})
	want("UTC", "setting TimeZone of the server", "[{2026-01-01 12:00:00 2026-01-01 12:00:00} {2026-07-01 12:00:00 2026-07-01 12:00:00} {2026-03-29 02:30:00 2026-03-29 02:30:00}]")
	const berlin = "[{2026-01-01 12:00:00 2026-01-01 11:00:00} {2026-07-01 12:00:00 2026-07-01 10:00:00} {2026-03-29 02:30:00 2026-03-29 01:30:00}]"
	w.exec("alter database " + database + " set timezone = 'europe/berlin'")
	look(define.Request{})
	want("Europe/Berlin", "setting TimeZone of this database", berlin)
	w.exec("alter role " + w.role + " set timezone = 'Asia/Kolkata'")
	look(define.Request{})
	want("Asia/Kolkata", "setting TimeZone of the role "+w.role, "[{2026-01-01 12:00:00 2026-01-01 06:30:00} {2026-07-01 12:00:00 2026-07-01 06:30:00} {2026-03-29 02:30:00 2026-03-28 21:00:00}]")
	w.exec("alter role " + w.role + " in database " + database + " set timezone = 'Europe/Berlin'")
	look(define.Request{})
	want("Europe/Berlin", "setting TimeZone of the role "+w.role+" of this database", berlin)
	look(define.Request{Mapping: wire.Mapping{TimeZone: "america/new_york"}})
	want("America/New_York", "--time-zone", "[{2026-01-01 12:00:00 2026-01-01 17:00:00} {2026-07-01 12:00:00 2026-07-01 16:00:00} {2026-03-29 02:30:00 2026-03-29 06:30:00}]")
}

// TestTimeZoneIsKept adopts a table and changes every setting: its times are read as before. In the
// hour that clocks skip, and in the one that they repeat, standard time counts, as in PostgreSQL.
func TestTimeZoneIsKept(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct{ kind, rows string }{
		"timestamp": {"timestamp", "2026-01-01 11:00, 2026-07-01 10:00, 2026-03-29 01:30, 2026-10-25 01:30"},
		"text":      {"text", "2026-01-01 11:00, 2026-07-01 10:00, 2026-03-29 01:30, 2026-10-25 01:30"},
		"date":      {"date", "2025-12-31 23:00, 2026-06-30 22:00, 2026-03-28 23:00, 2026-10-24 22:00"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, zoned)
			w.as("alter table shop.failures alter created_at type " + c.kind)
			read := func() string {
				t.Helper()
				return one(t, w, `select string_agg(to_char(created_at at time zone 'UTC', 'YYYY-MM-DD HH24:MI'), ', ' order by key) from recoup.adopted_1_read('{1,2,3,4}')`)
			}
			w.adopt("shop.failures", wire.Mapping{TimeZone: "Europe/Berlin"})
			if got := read(); got != c.rows {
				t.Errorf("times %s, want %s", got, c.rows)
			}
			w.exec("alter role " + w.role + " set timezone = 'Asia/Kolkata'")
			if err := w.runner().Remake(t.Context(), "shop.failures"); err != nil {
				t.Fatal(err)
			}
			if got := read(); got != c.rows {
				t.Errorf("times after they were made anew: %s, want %s", got, c.rows)
			}
			if plan := w.plan(define.Request{Mapping: wire.Mapping{TimeZone: "europe/berlin"}}); len(plan.Refusals) > 0 {
				t.Errorf("%+v", plan.Refusals)
			}
			if plan := w.plan(define.Request{Mapping: wire.Mapping{TimeZone: "UTC"}}); len(plan.Refusals) == 0 || !strings.Contains(plan.Refusals[0].Why, `was adopted with "Europe/Berlin"`) {
				t.Errorf("%+v", plan.Refusals)
			}
		})
	}
}

// TestTimeZonesAreRefused refuses what is not the name of a time zone, or is that of the machine, or
// of no use.
func TestTimeZonesAreRefused(t *testing.T) {
	t.Parallel()
	w := newWorld(t, zoned)
	refused := func(why string, m wire.Mapping) {
		t.Helper()
		plan := w.plan(define.Request{Mapping: m})
		if len(plan.Refusals) == 0 || !strings.Contains(plan.Refusals[0].Why, why) {
			t.Errorf("%+v: refusals %+v, want %q", m, plan.Refusals, why)
		}
	}
	for _, name := range []string{"Europe/Atlantis", "UTC-5", "+03", "localtime", "UTC'; drop table shop.failures; --"} {
		refused(`times in created_at have no time zone, and "`+name, wire.Mapping{TimeZone: name})
	}
	w.as("alter table shop.failures alter created_at type timestamptz")
	refused("no column of the mapping has times without a time zone", wire.Mapping{TimeZone: "UTC"})
	w.as("alter table shop.failures alter created_at type timestamp")
	w.exec("alter role " + w.role + " set timezone = '<+03>-3'")
	refused(`"<+03>-3" (setting TimeZone of the role`, wire.Mapping{})
}

// TestPresetsStateTheirTimeZone reads times of Oban as UTC, which it writes whatever the setting is.
func TestPresetsStateTheirTimeZone(t *testing.T) {
	t.Parallel()
	for _, q := range presettest.Queues {
		w := newWorld(t, q.DDL)
		w.exec("alter role " + w.role + " set timezone = 'Asia/Kolkata'")
		zone := w.plan(define.Request{Source: q.Table, Preset: q.Preset, NoMirror: true}).Zone
		switch {
		case q.Preset != "oban" && zone != nil:
			t.Errorf("%s: %+v", q.Preset, zone)
		case q.Preset == "oban" && (zone == nil || zone.Name != "UTC" || zone.Origin != "Oban writes it" || fmt.Sprint(zone.Samples) != "[{2026-02-02 08:59:00 2026-02-02 08:59:00}]"):
			t.Errorf("Oban: %+v", zone)
		}
	}
}
