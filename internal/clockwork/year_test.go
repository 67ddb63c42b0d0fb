package clockwork_test

import (
	"container/heap"
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"strconv"
	"testing"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/clockwork"
	"recoup/internal/engine"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/sqlite"
)

var onlySeed = flag.Uint64("seed", 0, "simulate the year of this seed and no other")

// TestYear simulates years of mixed failures with the real engine, the real jobs
// and the embedded store, in which things go wrong, one year for each seed: jobs
// are cut off between any two calls of the store, nodes die and sleep, two lead for
// a moment, clocks jump, policies change, notifications fail and time out. In the
// end nothing goes wrong any more, and all that is left must come to its end.
//
// A year that fails is run again with -run TestYear -seed N. RECOUP_SOAK=1 makes
// it a thousand years.
func TestYear(t *testing.T) {
	t.Parallel()
	seeds := 50
	switch {
	case os.Getenv("RECOUP_SOAK") != "":
		seeds = 1000
	case testing.Short():
		seeds = 2
	}
	first := uint64(1)
	if *onlySeed != 0 {
		first, seeds = *onlySeed, 1
	}
	for i := range uint64(seeds) {
		t.Run(strconv.FormatUint(first+i, 10), func(t *testing.T) {
			t.Parallel()
			y := newYear(t, first+i, true, honest)
			y.pass(365 * day)
			y.settle()
			for _, broken := range y.broken {
				t.Error(broken)
			}
			if t.Failed() {
				t.Logf("again: go test ./internal/clockwork -run TestYear -seed %d", y.seed)
			}
			t.Log(y)
		})
	}
}

// year is a simulated one.
type year struct {
	*testing.T
	seed     uint64
	r        *rand.Rand
	path     string
	db       *shaky
	policies *engine.Policies
	ids      *recoup.IDSource
	engine   *engine.Engine
	nodes    [2]*clockwork.Clock
	births   int
	idle     int // ticks since a leader had done all there was to do

	now    time.Time
	skew   time.Duration // what the nodes' clocks are ahead
	latest time.Time     // that a clock has ever shown
	rough  bool          // things go wrong
	agenda agenda
	numbers

	made     map[recoup.ID]*life
	order    []recoup.ID
	events   map[eventKey]recoup.Code
	received map[recoup.ID]*letter
	swept    []time.Time  // when a leader had done all there was to do, by a clock that was right
	odd      []store.Span // what clocks showed that were wrong
	broken   []string
}

// numbers tell what a year was like.
type numbers struct{ reports, ticks, full, deaths, doubles, jumps, changes, delivered int }

func (y *year) String() string {
	return fmt.Sprintf("%+v, %d faults, %d events", y.numbers, y.db.struck, len(y.events))
}

// life is what is known of a reported error.
type life struct {
	purgeAt  time.Time // once it is archived
	reported recoup.Error
}

// eventKey identifies an event.
type eventKey struct {
	id recoup.ID
	at int64
}

// letter is a notice as it came.
type letter struct {
	store.PendingNotice
	times, excused int
}

func newYear(t *testing.T, seed uint64, rough bool, s sabotage) *year {
	t.Helper()
	folder := t.TempDir()
	if info, err := os.Stat("/dev/shm"); err == nil && info.IsDir() { // nothing here is about a disk
		if folder, err = os.MkdirTemp("/dev/shm", "recoup-year-"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = os.RemoveAll(folder) })
	}
	random := func(stream byte) *rand.ChaCha8 {
		return rand.NewChaCha8([32]byte{stream, byte(seed), byte(seed >> 8), byte(seed >> 16), byte(seed >> 24)})
	}
	y := &year{
		T: t, seed: seed, r: rand.New(random(1)), path: newFile(t, folder), now: epoch, latest: epoch, rough: rough,
		policies: engine.NewPolicies(policy.Default()), ids: recoup.NewIDSource(random(2)),
		made: map[recoup.ID]*life{}, events: map[eventKey]recoup.Code{}, received: map[recoup.ID]*letter{},
	}
	y.db = &shaky{r: y.r, sleep: y.doubled, recorded: y.recorded, sabotage: s}
	y.open()
	t.Cleanup(func() { y.must(y.db.Close()) })
	ctx := t.Context()
	y.must(errors.Join(y.db.SyncTables(ctx, policy.Default()), y.db.SyncCodes(ctx, epoch, fault.Default().All()),
		y.db.EnsureEventPartitions(ctx, epoch, policy.Default().Ledger.EventRetention)))
	var err error
	y.engine, err = engine.New(engine.Options{
		Store: y.db, Ledger: book{y.db}, Policies: y.policies, Codes: fault.Default, Now: y.clock, IDs: y.ids,
	})
	y.must(err)
	for i := range y.nodes {
		y.born(i)
	}
	return y
}

func (y *year) open() {
	s, err := sqlite.Open(y.Context(), y.path, sqlite.Options{Readers: 1})
	y.must(err)
	y.db.database = s
}

func (y *year) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatalf("seed %d: %v", y.seed, err)
	}
}

// clock is what the nodes' clocks show.
func (y *year) clock() time.Time { return y.now.Add(y.skew) }

// born starts a node in the place of another.
func (y *year) born(i int) {
	y.births++
	jobs := clockwork.All(clockwork.Parts{Store: y.db, Engine: y.engine, Policy: y.policies.Current})
	for k := range jobs {
		if jobs[k].Every >= time.Hour {
			jobs[k].Every = 14 * day // a year is short
		}
	}
	var err error
	y.nodes[i], err = clockwork.New(clockwork.Options{
		Store: y.db, Node: fmt.Sprint("node ", y.births), Now: y.clock, Tell: func() string { return "platform-team" },
		Jobs: y.db.sabotage.of(jobs), Quiet: day,
	})
	y.must(err)
}

// alive runs something on a node, and reports whether the node survived it. Some
// of those that die leave the file to be opened anew.
func (y *year) alive(i int, run func() error) (ok bool, err error) {
	defer func() {
		switch r := recover(); r {
		case nil:
		case death{}:
			y.deaths++
			ok, err = false, errCut
			if y.r.IntN(10) == 0 {
				y.must(y.db.Close())
				y.open()
			}
			y.born(i)
		default:
			panic(r)
		}
	}()
	return true, run()
}

// tick lets the nodes' clocks tick, the leader's and now and then the other's. If
// nothing went wrong meanwhile, all that was due is done.
func (y *year) tick() {
	y.ticks++
	y.latest = later(y.latest, y.clock())
	one := 1 + y.r.IntN(2)
	if y.r.IntN(8) > 0 {
		one = 1
	}
	done := false
	for i := range one {
		before := y.db.struck
		ok, err := y.alive(i, func() error { return y.nodes[i].Tick(y.Context()) })
		if ok && err != nil && y.db.struck == before {
			y.Fatalf("seed %d: %v", y.seed, err)
		}
		done = done || ok && err == nil && y.db.struck == before && y.nodes[i].Leads()
	}
	if y.idle++; !done {
		if y.idle > 100 {
			y.wrong("nobody gets anything done")
		}
		y.agenda.add(y.now.Add(time.Second+time.Duration(y.r.IntN(10))*time.Second), func() {})
		return
	}
	y.full, y.idle = y.full+1, 0
	if y.skew == 0 {
		y.swept = append(y.swept, y.clock())
	}
	y.checkSwept()
}

// doubled is what happens while a leader sleeps in the middle of something: its
// term ends, another leads and does what there is to do, and then it wakes up.
func (y *year) doubled() {
	if y.r.IntN(3) > 0 {
		return // it was a short sleep
	}
	y.doubles++
	one := y.db.one
	y.db.one = 0
	defer func() { y.db.one = one }()
	y.now = y.now.Add(clockwork.DefaultTenure)
	y.must(y.nodes[1].Tick(y.Context()))
}

// pass lets time go by, from one thing that happens to the next.
func (y *year) pass(d time.Duration) {
	end := y.now.Add(d)
	y.plan(end)
	for y.now.Before(end) && len(y.broken) == 0 {
		y.next(end)
	}
}

// next goes on to the next thing that happens, or to the end.
func (y *year) next(end time.Time) {
	at := y.deadline(end)
	if len(y.agenda) > 0 && y.agenda[0].at.Before(at) {
		at = y.agenda[0].at
	}
	at = later(at, y.now.Add(5*time.Second)).Add(time.Duration(y.r.IntN(1000)) * time.Millisecond) // when the loop next looks
	y.now = at.Truncate(time.Microsecond)
	y.db.one = 0
	if y.rough {
		y.db.one = 100
	}
	for len(y.agenda) > 0 && !y.agenda[0].at.After(y.now) {
		heap.Pop(&y.agenda).(entry).do()
	}
	y.tick()
	y.notify()
	y.db.one = 0
	if y.ticks%199 == 0 {
		y.checkPlaces()
	}
}

// deadline is the earliest time at which the clock has something to do.
func (y *year) deadline(end time.Time) time.Time {
	first := end
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		found, err := y.db.Overdue(y.Context(), d, y.clock().Add(1000*day), 1)
		y.must(err)
		if at := found.Since.Add(-y.skew); found.N > 0 && at.Before(first) {
			first = at
		}
	}
	return first
}

// settle lets things go right from now on, until nothing is left to be done, and
// holds what was to what should have been.
func (y *year) settle() {
	y.rough = false
	y.right()
	for i := 0; (len(y.agenda) > 0 || i < 3) && len(y.broken) == 0; i++ { // what goes wrong no more is done at once
		y.next(y.now.Add(hour))
		if i > 10_000 {
			y.Fatalf("seed %d: it goes on for ever", y.seed)
		}
	}
	y.checkDrained()
	for end := y.now.Add(200 * day); y.now.Before(end) && len(y.broken) == 0; {
		y.next(end)
	}
	y.checkPlaces()
	y.checkEnded()
	y.checkLives()
	y.checkNotices()
	y.checkLedger()
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}

// agenda is what happens when.
type agenda []entry

type entry struct {
	at time.Time
	do func()
}

func (a agenda) Len() int           { return len(a) }
func (a agenda) Less(i, j int) bool { return a[i].at.Before(a[j].at) }
func (a agenda) Swap(i, j int)      { a[i], a[j] = a[j], a[i] }
func (a *agenda) Push(x any)        { *a = append(*a, x.(entry)) }
func (a *agenda) Pop() any {
	last := (*a)[len(*a)-1]
	*a = (*a)[:len(*a)-1]
	return last
}

func (a *agenda) add(at time.Time, do func()) { heap.Push(a, entry{at, do}) }

// insist tries until it is done, as clients do. Node 0 is the one that they ask.
func (y *year) insist(run func(ctx context.Context) error) error {
	for range 100 {
		before := y.db.struck
		_, err := y.alive(0, func() error { return run(y.Context()) })
		if err == nil || y.db.struck == before {
			return err
		}
	}
	y.Fatalf("seed %d: it never works", y.seed)
	return nil
}
