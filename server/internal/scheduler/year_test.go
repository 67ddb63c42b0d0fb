package scheduler_test

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
	"testing/synctest"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var onlySeed = flag.Uint64("seed", 0, "simulate the year of this seed and no other")

// TestYear simulates years of mixed failures with the real engine, jobs, ledger,
// alert rules and notifier on the embedded store, in which things go wrong, one year
// for each seed: what nodes do is cut off between any two statements, nodes die and
// sleep, two lead for a moment, clocks jump, a node's own strays by minutes, verbs
// stall on their way to the database, policies change, those who are to be
// notified are away, refuse, or do not answer. In the end nothing goes wrong any
// more, and all that is left must come to its end.
//
// For every change a quarter of 50 years is run, and all of them in make nightly. A year
// that fails is run again with -run TestYear -seed N. RECOUP_SOAK=1 makes it a thousand.
func TestYear(t *testing.T) {
	t.Parallel()
	seeds, skip := 50, 0
	switch {
	case os.Getenv("RECOUP_SOAK") != "":
		seeds = 1000
	case testing.Short():
		seeds = 2
	default:
		skip, seeds = tier.Quarter(t, seeds)
	}
	first, last := uint64(skip+1), uint64(seeds)
	if *onlySeed != 0 {
		first, last = *onlySeed, *onlySeed
	}
	for number := first; number <= last; number++ {
		t.Run(strconv.FormatUint(number, 10), func(t *testing.T) {
			t.Parallel()
			y := simulate(t, number, true, honest, 365*day)
			for _, broken := range y.broken {
				t.Error(broken)
			}
			if t.Failed() {
				t.Logf("again: go test ./server/internal/scheduler -run TestYear -seed %d", y.seed)
			}
			t.Log(y)
		})
	}
}

// simulate lets time pass, and then things settle, in a bubble of their own: those
// who wait for each other there take no time, and do so in the same order each time.
func simulate(t *testing.T, seed uint64, rough bool, s sabotage, d time.Duration) (y *year) {
	t.Helper()
	sqlitetest.File(t, t.TempDir()) // what is made once is made outside of the bubble
	if err := registerShaky(); err != nil {
		t.Fatal(err)
	}
	synctest.Test(t, func(t *testing.T) {
		y = newYear(t, seed, rough, s)
		y.pass(d)
		y.settle()
	})
	return y
}

// pause lets the time of the bubble go by.
func pause(d time.Duration) { time.Sleep(d) }

// year is a simulated one.
type year struct {
	*testing.T
	seed     uint64
	r        *rand.Rand // of what the test's own goroutine does
	path     string
	ground   *ground
	db       *shaky
	post     *post
	watch    *watch
	policies *engine.Policies
	ids      *recoup.IDSource
	nodes    [2]*member
	births   int
	idle     int // ticks since a leader had done all there was to do

	now    time.Time
	mark   time.Time        // when it was now, in the bubble
	looked time.Time        // when it was last checked where everything is
	skew   time.Duration    // what the nodes' and the store's clocks are ahead
	off    [2]time.Duration // what each node's is ahead of the store's
	latest time.Time        // that a clock has ever shown
	rough  bool             // things go wrong
	asleep bool             // nobody falls asleep now
	due    time.Time        // when the clock has something to do; zero: that has to be looked up
	agenda agenda
	numbers

	made   map[recoup.ID]*life
	order  []recoup.ID
	events map[eventKey]recoup.Code
	swept  []time.Time  // when a leader had done all there was to do, by a clock that was right
	odd    []store.Span // what clocks showed that were wrong
	broken []string
}

// member is a process.
type member struct {
	clock    *scheduler.Clock
	engine   *engine.Engine
	book     *ledgerBook
	notifier *notify.Dispatcher
}

// ledgerBook is the real ledger, as a node has it.
type ledgerBook struct {
	*ledger.Governor
	*ledger.Writer
}

func (b *ledgerBook) Record(ctx context.Context, now time.Time, events []recoup.Event) error {
	batch := make([]ledger.Incoming, len(events))
	for i := range events {
		batch[i].Event = events[i]
	}
	governed, err := b.Govern(ctx, now, batch)
	if err != nil || len(governed.Events) == 0 {
		return err
	}
	receipt, err := b.Append(ctx, governed.Events)
	if err != nil {
		return err
	}
	return receipt.Wait(ctx)
}

// numbers say what a year was like.
type numbers struct{ steps, reports, ticks, full, deaths, doubles, stalls, jumps, wrongs, changes, delivered int }

func (y *year) String() string {
	struck, _, _ := y.ground.state()
	return fmt.Sprintf("%+v, %d faults, %d events, %d notices, %d alerts", y.numbers, struck, len(y.events), len(y.post.letters), y.watch.fired)
}

// life is what is known of a reported error.
type life struct {
	purgeAt  time.Time // once it is archived
	heir     recoup.ID // that took over its place in the park
	reported recoup.Error
}

// eventKey identifies an event.
type eventKey struct {
	id recoup.ID
	at int64
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
		T: t, seed: seed, r: rand.New(random(1)), path: sqlitetest.File(t, folder), now: epoch, mark: time.Now(), looked: epoch, latest: epoch, rough: rough,
		ids: recoup.NewIDSource(random(2)), ground: &ground{r: rand.New(random(3)), sabotage: s},
		made: map[recoup.ID]*life{}, events: map[eventKey]recoup.Code{},
	}
	grounds.Store(y.path, y.ground)
	y.db = &shaky{y: y, sabotage: s}
	y.post = &post{shaky: y.db, letters: map[recoup.ID]*letter{}, parts: map[recoup.ID][]recoup.ID{}, away: map[string]time.Time{}}
	y.watch = &watch{shaky: y.db, seen: map[subject]*holding{}, open: map[subject]wire.Alert{}, notified: map[recoup.ID]*notification{}, last: map[subject][]time.Time{}}
	y.open()
	first := y.policy()
	y.policies = engine.NewPolicies(first)
	ctx := t.Context()
	y.must(errors.Join(y.db.SyncTables(ctx, first), y.db.SyncCodes(ctx, epoch, fault.Default().All()),
		y.db.EnsureEventPartitions(ctx, epoch, first.Ledger.EventRetention)))
	for i := range y.nodes {
		y.born(i)
	}
	t.Cleanup(func() {
		for i := range y.nodes {
			y.buried(i)
		}
		y.must(y.db.Close())
		grounds.Delete(y.path)
	})
	return y
}

func (y *year) open() {
	s, err := sqlite.Open(y.Context(), y.path, sqlite.Options{Readers: 1, Driver: shakyDriver})
	y.must(err)
	s.UseClock(y.clock)
	y.db.database = s
}

func (y *year) must(err error) {
	y.Helper()
	if err != nil {
		y.Fatalf("seed %d: %v", y.seed, err)
	}
}

// clock is what the nodes' clocks show.
func (y *year) clock() time.Time {
	return y.now.Add(y.skew + time.Since(y.mark)).Truncate(time.Microsecond)
}

// since is what the nodes' monotonic clocks show.
func (y *year) since() time.Duration { return y.now.Sub(epoch) + time.Since(y.mark) }

// born starts a node in the place of another.
func (y *year) born(i int) {
	y.births++
	now := func() time.Time { return y.clock().Add(y.off[i]) }
	n := &member{book: y.newBook(now)}
	y.nodes[i] = n
	var err error
	n.engine, err = engine.New(engine.Options{
		Store: y.db, Ledger: n.book, Policies: y.policies, Codes: fault.Default, Now: now, IDs: y.ids,
	})
	y.must(err)
	n.notifier = y.post.dispatcher(y)
	jobs := scheduler.All(scheduler.Parts{Store: y.db, Engine: n.engine, Policy: y.policies.Current, Alerts: y.watch.evaluate, Jobs: gateZero(y.db.SQL())})
	for k := range jobs {
		switch j := &jobs[k]; {
		case j.Every >= time.Hour:
			j.Every, j.Late = 14*day, 30*day // a year is short
		case j.Name == "counts" || j.Name == "rollups" || j.Name == "receipts" || j.Name == "freeze":
			j.Every = 5 * hour
		}
	}
	n.clock, err = scheduler.New(scheduler.Options{
		Store: y.db, Node: fmt.Sprint("node ", y.births), Now: now, Since: y.since, NotifyTo: func() string { return "platform-team" },
		Jobs: y.db.sabotage.of(jobs), Quiet: day,
	})
	y.must(err)
}

// newBook is the ledger of a new node.
func (y *year) newBook(now func() time.Time) *ledgerBook {
	tally := ledger.NewTally()
	tenants := &ledger.Tenants{}
	y.must(tenants.Replace("1", ledger.TenantKey{ID: "1", Secret: []byte("a secret of the year")}))
	governor, err := ledger.NewGovernor(ledger.GovernorOptions{
		Registry: fault.Default(), Providers: fault.DefaultProviders(), Tenants: tenants, IDs: y.ids,
		Rules: ledger.Rules{Retention: y.policies.Current().Ledger.EventRetention, Details: redact.EventDetails()}, Tally: tally,
	})
	y.must(err)
	writer, err := ledger.NewWriter(ledger.Options{
		Store: y.db, Tally: tally, Now: now, Random: func() float64 { return 0.5 }, Flushers: 1,
	})
	y.must(err)
	return &ledgerBook{governor, writer}
}

// buried ends what a node had under way. What its ledger held is lost with it.
func (y *year) buried(i int) {
	gone, cancel := context.WithCancel(context.Background())
	cancel()
	_ = y.nodes[i].book.Close(gone) // which says how much that is
}

// bury puts a node in the place of one that has died. Some leave the file to be
// opened anew.
func (y *year) bury(i int) {
	y.deaths++
	y.buried(i)
	y.ground.revive()
	if y.r.IntN(10) == 0 {
		one := y.ground.shake(0, false)
		y.must(y.db.Close())
		y.open()
		y.ground.shake(one, true)
	}
	y.born(i)
}

// alive runs something on a node, and reports whether the node survived it.
func (y *year) alive(i int, run func() error) (ok bool, err error) {
	err = run()
	if _, _, dead := y.ground.state(); !dead {
		return true, err
	}
	y.bury(i)
	return false, errCut
}

// tick lets the nodes' clocks tick, the leader's and now and then the other's. If
// nothing went wrong meanwhile, all that was due is done.
func (y *year) tick() {
	y.ticks++
	y.latest = later(y.latest, y.clock().Add(max(0, y.off[0], y.off[1])))
	stalls := y.stalls
	one := 1 + y.r.IntN(2)
	if y.r.IntN(8) > 0 {
		one = 1
	}
	done := false
	for i := range one {
		before, _, _ := y.ground.state()
		ok, err := y.alive(i, func() error { return y.nodes[i].clock.Tick(y.Context()) })
		struck, _, _ := y.ground.state()
		if ok && err != nil && struck == before {
			y.Fatalf("seed %d: %v", y.seed, err)
		}
		done = done || ok && err == nil && struck == before && y.nodes[i].clock.Leads()
	}
	if y.idle++; !done {
		if y.idle > 100 {
			y.wrong("nobody gets anything done")
		}
		y.agenda.add(y.now.Add(time.Second+time.Duration(y.r.IntN(10))*time.Second), func() {})
		return
	}
	y.idle = 0
	if y.stalls > stalls || y.off != [2]time.Duration{} {
		return // what became due meanwhile, or is not yet by a node's clock, waits
	}
	y.full++
	if y.skew == 0 {
		y.swept = append(y.swept, y.clock())
	}
	shaking := y.ground.shake(0, false) // whoever looks is not disturbed
	y.checkSwept()
	y.ground.shake(shaking, true)
}

// doze is what happens to a leader in the middle of something: it sleeps, its term
// ends, another leads and does what there is to do, and then it wakes up.
func (y *year) doze() {
	if _, _, dead := y.ground.state(); !y.rough || y.asleep || dead || y.r.IntN(900) > 0 {
		return
	}
	y.asleep = true
	y.doubles++
	one := y.ground.shake(0, false)
	y.now = y.now.Add(scheduler.DefaultTenure)
	y.must(y.nodes[1].clock.Tick(y.Context()))
	y.ground.shake(one, true)
	y.asleep = false
}

// stall is a verb that takes long, longer than many leases: time passes on its way
// to the database, before it has its locks.
func (y *year) stall() {
	if _, _, dead := y.ground.state(); !y.rough || y.asleep || dead || y.r.IntN(40) > 0 {
		return
	}
	y.stalls++
	y.now = y.now.Add(time.Duration(1 + y.r.Int64N(int64(5*time.Minute))))
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
	if y.due.IsZero() {
		y.due = y.deadline(end)
	}
	due := y.due
	if end.Before(due) {
		due = end
	}
	at := due
	if len(y.agenda) > 0 && y.agenda[0].at.Before(at) {
		at = y.agenda[0].at
	}
	at = later(at, y.now.Add(5*time.Second)).Add(time.Duration(y.r.IntN(1000)) * time.Millisecond) // when the loop next looks
	y.now, y.mark = at.Truncate(time.Microsecond), time.Now()
	if y.rough {
		y.ground.shake(faultyOne, true)
	}
	idle := y.now.Before(due)
	for len(y.agenda) > 0 && !y.agenda[0].at.After(y.now) {
		e := heap.Pop(&y.agenda).(entry)
		if e.do != nil {
			idle = false
			e.do()
		}
	}
	if !idle {
		y.tick()
		y.due = time.Time{}
	}
	y.notify()
	y.ground.shake(0, false)
	y.now, y.mark = y.now.Add(time.Since(y.mark)), time.Now()
	y.steps++
	if y.now.Sub(y.looked) > 60*day { // often enough to see each error archived before it is purged
		y.looked = y.now
		y.checkPlaces()
	}
}

// faultyOne is of how many statements one goes wrong.
const faultyOne = 400

// deadline is the earliest time at which the clock has something to do.
func (y *year) deadline(end time.Time) time.Time {
	first := end
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		found, err := y.db.Overdue(y.Context(), d, y.clock().Add(1000*day), 1)
		y.must(err)
		if at := found.Since.Add(-y.skew + max(0, -y.off[0])); found.N > 0 && at.Before(first) {
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
	clear(y.post.away)
	y.resend()
	for i, idle := 0, 0; idle < 3 && len(y.broken) == 0; i++ { // what goes wrong no more is done at once
		if len(y.agenda) == 0 {
			idle++ // no notice is left to be sent, so this hour ends with a tick
		}
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

// quiet has notices delivered at a time.
func (y *year) quiet(at time.Time) { y.agenda.add(at, nil) }

// insist tries until it is done, as clients do. Node 0 is the one that they ask.
func (y *year) insist(run func(ctx context.Context) error) error {
	for range 100 {
		before, _, _ := y.ground.state()
		_, err := y.alive(0, func() error { return run(y.Context()) })
		if struck, _, _ := y.ground.state(); err == nil || struck == before {
			return err
		}
	}
	y.Fatalf("seed %d: it never works", y.seed)
	return nil
}
