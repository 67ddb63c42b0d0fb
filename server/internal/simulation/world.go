package simulation

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// world is the state of a simulation: the open errors, what is due, the counts.
type world struct {
	Options
	dice     *rand.Rand
	now      time.Time
	queue    queue
	open     map[recoup.Identity]*item
	streaks  map[streak]int
	tallies  map[string]*tally // by table
	gate     gate
	outcome  Result
	reported int
	ids      uint64
}

// item is an open error, and what workers and people are about to do with it.
type item struct {
	recoup.Error
	tally   *tally
	version uint32    // of its event in the queue: older ones are void
	answer  time.Time // when its worker reports; zero: not at work, or lost
	look    time.Time // when a person looks at it; zero: nobody has to
}

// streak identifies a count of failures of one family for one entity.
type streak struct{ family, entity string }

func newWorld(o Options) *world {
	w := &world{
		Options: o, now: o.Start, dice: rand.New(rand.NewPCG(o.Seed, 2)),
		open: map[recoup.Identity]*item{}, streaks: map[streak]int{}, tallies: map[string]*tally{}, gate: gate{},
	}
	for _, t := range o.Policy.Tables() {
		w.tallies[t.Name] = newTally(t.Name)
	}
	if len(o.History) > 0 {
		w.now = o.History[0].At
		w.Start = w.now
	}
	return w
}

// id makes ids that are unique within a simulation and the same in the next.
func (w *world) id() (id recoup.ID) {
	w.ids++
	binary.BigEndian.PutUint64(id[8:], w.ids)
	return id
}

// report lets a failure be reported, in the place of an open error for the same
// table, entity and code.
func (w *world) report(f Failure) error {
	failure, severity, err := w.classify(f)
	if err != nil {
		return err
	}
	effective := w.Policy.Resolve(policy.Question{
		Table: f.Table, Entity: f.EntityID != "", Code: failure.Code,
		Class: failure.Class, Category: failure.Category, Severity: severity,
	})
	failure.Streak = w.streak(effective.Table, f.EntityID, failure.Code)
	it := &item{tally: w.tallies[effective.Table.Name]}
	older := w.open[recoup.Identity{Table: f.Table, Entity: f.EntityID, Code: failure.Code}]
	var current *recoup.Error
	if older != nil {
		current = &older.Error
	}
	next, effects, err := lifecycle.Step(w.Policy, current, lifecycle.Report{
		ID: w.id(), Table: f.Table, EntityID: f.EntityID, Failure: failure, Severity: severity,
	}, w.now)
	if err != nil {
		return fmt.Errorf("report %s in %s: %w", f.Code, f.Table, err)
	}
	it.Error = next
	w.reported++
	it.tally.Reported++
	if effective.Orphaned {
		it.tally.Orphans++
	}
	w.count(it, lifecycle.Reported, &effects)
	w.block(it, false, it.Blocking)
	if effects.Superseded != nil {
		w.supersede(older, it)
	}
	if f.EntityID != "" && !effective.Table.Infinite() && !effective.Table.DeadLetter {
		w.open[it.Identity()] = it
	}
	w.settle(it)
	return nil
}

// supersede lets go of an error that a newer one has replaced. Whoever was about
// to look at it will look at its successor.
func (w *world) supersede(older, it *item) {
	w.block(older, older.Blocking, false)
	older.tally.Archived[recoup.SupersededByNext]++
	older.version++
	it.look = older.look
}

// classify judges a failure as the registry does, its condition proven or not.
func (w *world) classify(f Failure) (lifecycle.Failure, recoup.Severity, error) {
	def, code, err := w.Registry.Fold(string(f.Code))
	if err != nil {
		return lifecycle.Failure{}, "", err
	}
	proven := def.Class == recoup.ClassConditional && w.dice.Float64() < w.Proven
	return lifecycle.Failure{
		Code: code, Class: def.Effective(proven), Category: def.Category, RetryAfter: f.RetryAfter,
	}, cmp.Or(f.Severity, def.Severity), nil
}

// streak returns how many failures of the code's family the entity already has.
func (w *world) streak(t *policy.Table, entity string, code recoup.Code) int {
	family := w.Policy.FamilyOf(t, code)
	if family == nil {
		return 0
	}
	return w.streaks[streak{family.Name, entity}]
}

// step applies an input to an open error and keeps the books.
func (w *world) step(it *item, kind lifecycle.Kind, in lifecycle.Input) error {
	next, effects, err := lifecycle.Step(w.Policy, &it.Error, in, w.now)
	if err != nil {
		return err
	}
	blocked := it.Blocking
	it.Error = next
	w.count(it, kind, &effects)
	w.block(it, blocked, it.Blocking)
	return nil
}

// count books what a step has caused.
func (w *world) count(it *item, kind lifecycle.Kind, effects *lifecycle.Effects) {
	it.tally.count(it, kind, effects)
	switch s := effects.Streak; s.Op {
	case lifecycle.StreakCount:
		w.streaks[streak{s.Family, it.EntityID}]++
	case lifecycle.StreakReset:
		delete(w.streaks, streak{s.Family, it.EntityID})
	}
	if effects.Archive && w.open[it.Identity()] == it {
		delete(w.open, it.Identity())
	}
}

// block books that an error begins or ceases to block its entity.
func (w *world) block(it *item, before, after bool) {
	switch {
	case after && !before:
		w.gate.shut(it.EntityID, w.now)
		it.tally.gate.shut(it.EntityID, w.now)
	case before && !after:
		expired := it.ArchiveReason == recoup.TTLExpired
		w.gate.open(it.EntityID, w.now, expired)
		it.tally.gate.open(it.EntityID, w.now, expired)
	}
}
