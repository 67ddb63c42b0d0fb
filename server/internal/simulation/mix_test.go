package simulation

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// The made-up stream keeps to its time, its order and its shape.
func TestStream(t *testing.T) {
	o := Defaults(policy.Default(), fault.Default())
	m := o.Mix
	m.Errors, m.NoEntity = 20_000, 0
	m.Hours = [24]float64{9: 1, 10: 3}
	var hours [24]int
	var tables, repeats int
	last := o.Start
	seen := map[recoup.Identity]bool{}
	for f := range m.stream(rand.New(rand.NewPCG(1, 1)), o.Start, o.Length) {
		if f.At.Before(last) || !f.At.Before(o.Start.Add(o.Length)) {
			t.Fatalf("%s comes after %s", f.At, last)
		}
		last = f.At
		hours[f.At.Hour()]++
		if f.Table == "unknown.errors" {
			tables++
		}
		id := recoup.Identity{Table: f.Table, Entity: f.EntityID, Code: f.Code}
		if seen[id] {
			repeats++
		}
		seen[id] = true
	}
	if hours[9]+hours[10] != 20_000 || hours[9] < 4_700 || hours[9] > 5_300 {
		t.Errorf("by hour: %v", hours)
	}
	if last.Before(o.Start.Add(o.Length - 2*day)) {
		t.Errorf("the last one comes at %s", last)
	}
	if share := 20_000 * 0.2 / (0.2 + 3*6 + 5*2); float64(tables) < share*0.7 || float64(tables) > share*1.3 {
		t.Errorf("%d in the unknown table, expected about %.0f", tables, share)
	}
	if repeats < 1_800 || repeats > 2_800 {
		t.Errorf("%d repeats", repeats)
	}
}

// A value without weight is never drawn, wherever it stands.
func TestWheel(t *testing.T) {
	w := newWheel(map[string]float64{"a": 0, "b": 1, "c": 0, "d": 2, "e": 0})
	drawn := map[string]int{}
	r := rand.New(rand.NewPCG(1, 1))
	for range 3_000 {
		drawn[w.spin(r)]++
	}
	if len(drawn) != 2 || drawn["b"] < 800 || drawn["b"] > 1_200 {
		t.Errorf("%v", drawn)
	}
}

// Blocked time is the union of what overlaps.
func TestGate(t *testing.T) {
	at := func(s int) time.Time { return time.Unix(int64(s), 0) }
	g := gate{}
	g.shut("a", at(0))
	g.shut("a", at(5))
	g.open("a", at(10), false)
	g.open("a", at(20), false) // 20 s
	g.shut("a", at(30))
	g.open("a", at(34), false) // 4 s
	g.shut("b", at(90))        // 10 s so far
	want := Blocked{Entities: 2, Spells: 3, Now: 1, TotalSeconds: 34, MeanSeconds: 11, LongestSeconds: 20}
	if got, _ := g.sum(at(100)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Blocked time adds up beyond the 292 years of a time.Duration: over entities,
// over the spells of one, and within a spell.
func TestGateOverCenturies(t *testing.T) {
	const year = 365 * 86400
	at := func(years int) time.Time { return time.Unix(int64(years)*year, 0) }
	g := gate{}
	for _, name := range []string{"a", "b", "c"} {
		g.shut(name, at(0))
		g.open(name, at(200), false)
		g.shut(name, at(300))
		g.open(name, at(700), false)
	}
	want := Blocked{Entities: 3, Spells: 6, TotalSeconds: 1800 * year, MeanSeconds: 300 * year, LongestSeconds: 400 * year}
	if got, _ := g.sum(at(700)); got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}

// Expiry ends a block if the last of its errors expires, however many do.
func TestGateEndedByExpiry(t *testing.T) {
	for _, row := range []struct {
		name  string
		leave []bool // each blocker in turn: by expiry?
		want  int
	}{
		{"all expire", []bool{true, true, true}, 1},
		{"the last expires", []bool{false, false, true}, 1},
		{"the last is resolved", []bool{true, true, false}, 0},
		{"none expires", []bool{false, false, false}, 0},
	} {
		g, now := gate{}, time.Unix(0, 0)
		for range row.leave {
			g.shut("a", now)
		}
		for _, expired := range row.leave {
			g.open("a", now, expired)
		}
		if _, got := g.sum(now); got != row.want {
			t.Errorf("%s: expiry ended %d blocks, want %d", row.name, got, row.want)
		}
	}
}

// Books that do not balance are noticed.
func TestLostError(t *testing.T) {
	o := Defaults(policy.Default(), fault.Default())
	w := newWorld(o)
	if err := w.report(Failure{At: o.Start, Table: "outreach.dol_errors", EntityID: "e", Code: "VALIDATION_ERROR"}); err != nil {
		t.Fatal(err)
	}
	w.queue = nil
	if _, err := w.result(); err == nil {
		t.Error("an error vanished and nobody noticed")
	}
}

// Whoever is about to look at a parked error looks at its successor instead.
func TestRepeatDoesNotPostponeALook(t *testing.T) {
	o := Defaults(policy.Default(), fault.Default())
	w := newWorld(o)
	f := Failure{At: o.Start, Table: "outreach.dol_errors", EntityID: "e", Code: "VALIDATION_ERROR"}
	id := recoup.Identity{Table: f.Table, Entity: f.EntityID, Code: f.Code}
	var looks []time.Time
	for range 2 {
		if err := w.report(f); err != nil {
			t.Fatal(err)
		}
		looks = append(looks, w.open[id].look)
	}
	if looks[0].IsZero() || !looks[0].Equal(looks[1]) {
		t.Errorf("first at %s, then at %s", looks[0], looks[1])
	}
}

// The queue gives events back in the order of time, then of scheduling.
func TestQueue(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var q queue
	for i := range 1_000 {
		q.push(event{at: time.Unix(r.Int64N(50), 0), order: uint64(i)})
	}
	last := q.pop()
	for len(q) > 0 {
		next := q.pop()
		if next.at.Before(last.at) || next.at.Equal(last.at) && next.order < last.order {
			t.Fatalf("%v came after %v", next, last)
		}
		last = next
	}
}

// Archived errors are let go: what stays is what is open.
func TestMemoryIsBounded(t *testing.T) {
	o := Defaults(policy.Default(), fault.Default())
	o.Mix.Errors = 5_000
	w := newWorld(o)
	if err := w.run(t.Context()); err != nil {
		t.Fatal(err)
	}
	open := 0
	for _, e := range w.queue {
		if e.version == e.item.version && e.item.State != recoup.Archived {
			open++
		}
	}
	if len(w.open) > open || open > 1_000 {
		t.Errorf("%d known, %d open", len(w.open), open)
	}
}
