package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func promotions() []clause {
	return []clause{
		{"an entity without errors goes on, and each promotion gets the next number", promoteFree},
		{"an entity that is blocked stays, and the answer says by what", promoteBlocked},
		{"the gate opens when its last blocker ends, however it ends", promoteAfter},
		{"what is ignored, archived or in a table that does not block holds nobody back", promoteHarmless},
		{"a dead letter holds back the entity it names", promoteLetter},
		{"the gate's log has what blocked, what ceased to and who was promoted, in order", gateOrder},
		{"an entity is known by its errors, open and archived, and by its promotions", knownEntity},
		{"no promotion slips between a blocking error and its end", raceGate},
	}
}

func (d *Driver) wantPromoted(entity string) int64 {
	d.Helper()
	done, blockers, err := d.Promote(entity)
	if err != nil || len(blockers) != 0 {
		d.Fatalf("%s does not go on: %v, %v", entity, ids(blockers), err)
	}
	if !done.At.Equal(d.Now()) {
		d.Errorf("%s is said to go on at %v, want %v", entity, done.At, d.Now())
	}
	return done.Seq
}

func (d *Driver) wantBlocked(entity string, by ...recoup.ID) {
	d.Helper()
	_, blockers, err := d.Promote(entity)
	if !errors.Is(err, store.ErrBlocked) {
		d.Fatalf("%s is answered with %v, want that it is blocked", entity, err)
	}
	d.wantIDs(blockers, by...)
	for _, e := range blockers {
		if diff := difference(e, d.Read(e.ID)); diff != "" {
			d.Errorf("a blocker is not named as it is:%s", diff)
		}
	}
}

func promoteFree(d *Driver) {
	last := int64(0)
	for i := range 5 {
		seq := d.wantPromoted(fmt.Sprint("e", i%2))
		if seq <= last {
			d.Errorf("promotion %d got the number %d after %d", i, seq, last)
		}
		last = seq
	}
}

func promoteBlocked(d *Driver) {
	a := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(minute)
	b := d.Park(d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	d.Report(dol, "e10", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantBlocked("e1", a.ID, b.ID)
	d.wantPromoted("e2")
	d.Apply(b.ID, lifecycle.Escalate{By: "ada"})
	d.wantBlocked("e1", a.ID, b.ID)
	d.Resolve(a.ID)
	d.wantBlocked("e1", b.ID)
	again := d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Low)
	d.wantBlocked("e1", again.ID)
	d.Check()
}

func promoteAfter(d *Driver) {
	ends := map[string]func(e recoup.Error){
		"resolved": func(e recoup.Error) { d.Resolve(e.ID) },
		"archived": func(e recoup.Error) { d.Archive(e.ID) },
		"succeeded": func(e recoup.Error) {
			leased := d.ClaimDue(e)
			d.Apply(e.ID, lifecycle.Succeed{Token: leased.LeaseToken})
		},
		"expired": func(e recoup.Error) {
			d.WaitUntil(e.ExpiresAt)
			d.wantBlocked("expired", e.ID)
			d.Apply(e.ID, lifecycle.Expire{})
		},
	}
	for entity, end := range ends {
		e := d.Report(dol, entity, "NETWORK_TIMEOUT", recoup.Medium)
		d.wantBlocked(entity, e.ID)
		end(e)
		d.wantPromoted(entity)
	}
	d.Check()
}

func promoteHarmless(d *Driver) {
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Low)
	d.Report(discovery, "e1", "NETWORK_TIMEOUT", recoup.High)
	d.Report(errorLog, "e1", "NETWORK_TIMEOUT", recoup.Critical)
	d.Report(masterLog, "e1", "NETWORK_TIMEOUT", recoup.Critical)
	d.Report("no.such_table", "e1", "NETWORK_TIMEOUT", recoup.Critical)
	d.wantPromoted("e1")
	d.Check()
}

func promoteLetter(d *Driver) {
	d.Report(letters, "", "NETWORK_TIMEOUT", recoup.Medium)
	e := d.Report(letters, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantBlocked("e1", e.ID)
	d.Archive(e.ID)
	d.wantPromoted("e1")
	d.Check()
}

// gate reads what happened at an entity's gate.
func (d *Driver) gate(entity string) []store.GateEntry {
	d.Helper()
	log, err := d.Store.GateLog(d.Context(), entity, sqldb.MaxPage)
	if err != nil {
		d.Fatalf("gate log: %v", err)
	}
	for i, entry := range log {
		if i > 0 && entry.Seq <= log[i-1].Seq || entry.Entity != entity {
			d.Errorf("entry %d is %+v after %+v", i, entry, log[max(i-1, 0)])
		}
	}
	return log
}

func gateOrder(d *Driver) {
	d.wantPromoted("e1")
	a := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantBlocked("e1", a.ID)
	d.Park(a.ID, "look") // blocks as before
	b := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Resolve(b.ID)
	d.Archive(b.ID) // blocks no more already
	seq := d.wantPromoted("e1")
	log := d.gate("e1")
	type entry struct {
		act store.GateAct
		id  recoup.ID
	}
	want := []entry{{store.GateBlock, a.ID}, {store.GateUnblock, a.ID}, {store.GateBlock, b.ID}, {store.GateUnblock, b.ID}}
	var got []entry
	for _, g := range log {
		if g.Act != store.GatePromote {
			got = append(got, entry{g.Act, g.ID})
		}
	}
	if !slices.Equal(got, want) {
		d.Errorf("the gate tells of %v, want %v", got, want)
	}
	if len(log) != 6 || log[0].Act != store.GatePromote || log[5].Act != store.GatePromote || log[5].Seq != seq {
		d.Errorf("the promotions are not first and last: %+v", log)
	}
	if first, err := d.Store.GateLog(d.Context(), "e1", 3); err != nil || !slices.Equal(first, log[:3]) {
		d.Errorf("the first three entries are %+v, %v", first, err)
	}
}

func knownEntity(d *Driver) {
	want := func(entity string, known bool) {
		d.Helper()
		if got, err := d.Store.KnowsEntity(d.Context(), entity); got != known || err != nil {
			d.Errorf("%s is known: %t, %v", entity, got, err)
		}
	}
	for _, entity := range []string{"e1", "e2", "e3"} {
		want(entity, false)
	}
	d.Report(discovery, "e1", "NETWORK_TIMEOUT", recoup.High) // which blocks nobody
	want("e1", true)
	e := d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	d.Archive(e.ID)
	want("e2", true)
	d.wantPromoted("e3")
	want("e3", true)
	want("e", false)
}

// raceGate reports, ends and promotes a few entities at once, and then reads in
// the gate's own order whether anyone went on while something blocked them.
func raceGate(d *Driver) {
	const entities, rounds = 3, 25
	name := func(i int) string { return fmt.Sprint("e", i%entities) }
	var mu sync.Mutex
	passed := map[string][]int64{}
	d.together(crowd, func(i int) error {
		for round := range rounds {
			entity := name(i + round)
			if i%2 == 0 {
				if err := d.block(entity); err != nil {
					return err
				}
				continue
			}
			done, blockers, err := d.Promote(entity)
			switch {
			case err == nil:
				mu.Lock()
				passed[entity] = append(passed[entity], done.Seq)
				mu.Unlock()
			case errors.Is(err, store.ErrBusy):
			case !errors.Is(err, store.ErrBlocked) || len(blockers) == 0:
				return fmt.Errorf("promote: blocked by %d, %w", len(blockers), err)
			}
		}
		return nil
	})
	for i := range entities {
		d.wantPromoted(name(i))
		d.checkGate(name(i), passed[name(i)])
	}
	d.Check()
}

// block reports a failure for an entity and ends it, or what has replaced it.
func (d *Driver) block(entity string) error {
	ctx := d.Context()
	if _, err := d.TryReport(ctx, d.Failing(dol, entity, "NETWORK_TIMEOUT", recoup.Medium)); err != nil {
		return err
	}
	list, err := d.Store.Blocking(ctx, []string{entity}, 10)
	if err != nil {
		return err
	}
	var ends []Act
	for _, b := range list[0] {
		ends = append(ends, Act{b.ID, lifecycle.Resolve{By: "ada"}})
	}
	_, err = d.TryActs(ctx, ends...)
	return err
}

// checkGate replays a gate's log: nobody goes on while something blocks.
func (d *Driver) checkGate(entity string, passed []int64) {
	d.Helper()
	blocking := map[recoup.ID]bool{}
	numbers := map[int64]bool{}
	for _, entry := range d.gate(entity) {
		switch {
		case entry.Act == store.GatePromote:
			numbers[entry.Seq] = true
			if len(blocking) > 0 {
				d.Errorf("%s went on at %d past %d errors", entity, entry.Seq, len(blocking))
			}
		case blocking[entry.ID] == (entry.Act == store.GateBlock):
			d.Errorf("%v: %s at %d, twice", entry.ID, entry.Act, entry.Seq)
		case entry.Act == store.GateBlock:
			blocking[entry.ID] = true
		default:
			delete(blocking, entry.ID)
		}
	}
	for _, seq := range passed {
		if !numbers[seq] {
			d.Errorf("promotion %d of %s is not in the log", seq, entity)
		}
	}
}
