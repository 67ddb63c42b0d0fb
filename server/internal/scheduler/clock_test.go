package scheduler_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// fake is a job that does what a test says.
func fake(name string, chunk func(ctx context.Context, t scheduler.Run) (int, bool, error)) scheduler.Job {
	return scheduler.Job{Name: name, Every: time.Second, Late: time.Minute, Chunk: chunk}
}

func counting(n *int) scheduler.Job {
	return fake("x", func(context.Context, scheduler.Run) (int, bool, error) { *n++; return 1, false, nil })
}

// One leads. When it is silent for a term another takes over, when it resigns at
// once; what is known of the jobs goes on from one to the next.
func TestHandover(t *testing.T) {
	everywhere(t, func(w *world) {
		ran := map[string]*int{"a": new(int), "b": new(int)}
		a, b := w.node("a", counting(ran["a"])), w.node("b", counting(ran["b"]))
		both := func(wantA, wantB int) {
			w.Helper()
			w.tick(a)
			w.tick(b)
			if *ran["a"] != wantA || *ran["b"] != wantB {
				w.Fatalf("a ran %d times and b %d, want %d and %d", *ran["a"], *ran["b"], wantA, wantB)
			}
		}
		both(1, 0)
		both(1, 0) // it is not time yet
		w.Wait(time.Second)
		both(2, 0)
		if leader, err := b.Leader(w.Context()); leader != "a" || err != nil {
			w.Errorf("b thinks that %q leads, %v", leader, err)
		}
		w.Wait(scheduler.DefaultTenure - time.Microsecond) // a dies
		if w.tick(b); *ran["b"] != 0 {
			w.Fatal("a led still")
		}
		w.Wait(time.Microsecond)
		w.tick(b)
		w.Wait(time.Second)
		both(2, 2)
		if err := b.Resign(w.Context()); err != nil {
			w.Fatal(err)
		}
		w.Wait(time.Second)
		both(3, 2)
		if got := w.known("x"); got.Runs != 5 || got.Rows != 5 || got.Error != "" || !got.StartedAt.Equal(w.Now()) {
			w.Errorf("known is %+v", got)
		}
	})
}

// A leader that slept over the end of its term, in the middle of a chunk, writes
// nothing any more: neither what its job fences nor how that went.
func TestSleeper(t *testing.T) {
	everywhere(t, func(w *world) {
		asleep, awake := make(chan struct{}), make(chan struct{})
		var refused error
		slow := fake("x", func(ctx context.Context, t scheduler.Run) (int, bool, error) {
			close(asleep)
			<-awake
			refused = w.DB.SaveJob(context.WithoutCancel(ctx), t.Term, store.Job{Name: "fenced", Runs: 1})
			return 0, false, refused
		})
		slow.Fenced = true
		n := 0
		a, b := w.node("a", slow), w.node("b", counting(&n))
		done := make(chan error)
		go func() { done <- a.Tick(w.Context()) }()
		<-asleep
		w.Wait(scheduler.DefaultTenure)
		w.tick(b)
		close(awake)
		if err := <-done; err != nil {
			w.Errorf("the sleeper fails with %v", err)
		}
		if !errors.Is(refused, store.ErrTermOver) && !errors.Is(refused, store.ErrRefused) || w.known("fenced").Runs != 0 {
			w.Errorf("what the sleeper fenced was answered with %v", refused)
		}
		if got := w.known("x"); got.Runs != 1 || n != 1 || a.Leads() || !b.Leads() {
			w.Errorf("known is %+v, a leads: %v, b leads: %v", got, a.Leads(), b.Leads())
		}
		if _, err := a.Run(w.Context(), "x", 0); !errors.Is(err, scheduler.ErrNotLeader) {
			w.Errorf("a node that does not lead ran a fenced job: %v", err)
		}
	})
}

// A job that fails, or that has much to do, keeps nobody waiting.
func TestJobsTakeTurns(t *testing.T) {
	everywhere(t, func(w *world) {
		var order []string
		bad, left := errors.New("the disk is full"), 3
		c := w.node("a",
			fake("fails", func(context.Context, scheduler.Run) (int, bool, error) {
				order = append(order, "fails")
				return 0, true, bad
			}),
			fake("long", func(context.Context, scheduler.Run) (int, bool, error) {
				order, left = append(order, "long"), left-1
				return 200, left > 0, nil
			}),
			fake("short", func(context.Context, scheduler.Run) (int, bool, error) {
				order = append(order, "short")
				w.Wait(time.Second) // so that it is due again at once
				return 0, true, nil // it says that there is more, and moves nothing
			}),
		)
		w.tick(c)
		if want := []string{"fails", "long", "short", "fails", "long", "short", "fails", "long", "short"}; !slices.Equal(order, want) {
			w.Errorf("the order is %v", order)
		}
		if got := w.known("fails"); got.Failures != 1 || got.Runs != 1 || got.Error != "the disk is full" { // the rest is no news
			w.Errorf("known is %+v", got)
		}
		if got := w.known("long"); got.Rows != 600 || got.Runs != 1 || got.Error != "" {
			w.Errorf("known is %+v", got)
		}
		bad = nil
		w.Wait(time.Second)
		w.tick(c)
		if got := w.known("fails"); got.Failures != 3 || got.Runs != 4 || got.Error != "" {
			w.Errorf("known is %+v", got)
		}
	})
}

// A job that is not done as often as it should be because it fails is tried
// again soon, and one whose clock went back does not wait for it to come again.
func TestJobsComeAgain(t *testing.T) {
	everywhere(t, func(w *world) {
		n, bad := 0, errors.New("no")
		job := fake("x", func(context.Context, scheduler.Run) (int, bool, error) { n++; return 0, false, bad })
		job.Every = time.Hour
		c := w.node("a", job)
		for i, row := range []struct {
			wait time.Duration
			want int
			err  error
		}{
			{0, 1, bad}, {29 * time.Second, 1, bad}, {time.Second, 2, nil}, {30 * time.Second, 2, nil},
			{59 * time.Minute, 2, nil}, {30 * time.Second, 3, nil}, {-48 * time.Hour, 4, nil}, {time.Minute, 4, nil},
		} {
			bad = row.err
			w.Wait(row.wait)
			if w.tick(c); n != row.want {
				w.Fatalf("row %d: it ran %d times, want %d", i, n, row.want)
			}
		}
	})
}

// People are notified once of a job that falls behind, and once when it has caught
// up, whoever leads; the next time they are notified again.
func TestLate(t *testing.T) {
	everywhere(t, func(w *world) {
		var overdue time.Time
		var bad error
		job := fake("x", func(context.Context, scheduler.Run) (int, bool, error) { return 0, false, bad })
		job.Overdue = func(context.Context, time.Time, int) (store.Overdue, error) {
			return store.Overdue{N: 1, Since: overdue}, nil
		}
		nodes := []*scheduler.Clock{w.node("a", job), w.node("b", job)}
		want := []wire.NoticeKind(nil)
		turn := 0
		notified := func(more ...wire.NoticeKind) {
			w.Helper()
			for range 4 {
				w.Wait(scheduler.DefaultQuiet)
				c := nodes[turn%2]
				turn++
				w.tick(c)
				if err := c.Resign(w.Context()); err != nil {
					w.Fatal(err)
				}
			}
			if want = append(want, more...); !slices.Equal(w.notices(), want) {
				w.Fatalf("notified %v, want %v", w.notices(), want)
			}
		}
		notified()
		overdue = w.Now().Add(time.Second)
		notified()
		notified(wire.NoticeJobLate)
		notified()
		overdue = time.Time{}
		notified(wire.NoticeJobRecovered)
		bad = errors.New("no")
		notified()
		notified(wire.NoticeJobLate) // silence
		bad = nil
		notified(wire.NoticeJobRecovered)
		if got := w.known("x"); got.Lag != 0 || got.Failures == 0 {
			w.Errorf("known is %+v", got)
		}
	})
}

// A leader that dies anywhere between finding a job late, notifying people and
// noting that it did is followed by one that notifies them, and of nothing twice.
func TestLateOnce(t *testing.T) {
	everywhere(t, func(w *world) {
		since := epoch.Add(-time.Hour)
		job := fake("x", func(context.Context, scheduler.Run) (int, bool, error) { return 0, false, nil })
		job.Overdue = func(context.Context, time.Time, int) (store.Overdue, error) {
			return store.Overdue{N: 1, Since: since}, nil
		}
		lead := func(calls int) {
			w.Helper()
			c, err := scheduler.New(scheduler.Options{
				Store: &mortal{database: w.DB, calls: calls}, Node: fmt.Sprint("n", w.Now()), Now: w.Now,
				NotifyTo: func() string { return "platform-team" }, Jobs: []scheduler.Job{job},
			})
			if err != nil {
				w.Fatal(err)
			}
			if err := c.Tick(w.Context()); (err == nil) != (calls > 6) {
				w.Fatalf("after %d calls: %v", calls, err)
			}
			w.Wait(scheduler.DefaultTenure)
		}
		for calls := range 5 { // lead, jobs, save, notify, save
			lead(calls)
		}
		since = time.Time{}
		for calls := range 5 {
			lead(calls)
		}
		for range 3 {
			lead(100)
		}
		if got := w.notices(); !slices.Equal(got, []wire.NoticeKind{wire.NoticeJobLate, wire.NoticeJobRecovered}) {
			w.Errorf("notified %v", got)
		}
	})
}

// mortal is a store whose user dies after so many calls.
type mortal struct {
	database
	calls int
}

func (m *mortal) dies() error {
	if m.calls == 0 {
		return errors.New("dead")
	}
	m.calls--
	return nil
}

func (m *mortal) Lead(ctx context.Context, b store.Bid) (store.Term, bool, error) {
	if err := m.dies(); err != nil {
		return store.Term{}, false, err
	}
	return m.database.Lead(ctx, b)
}

func (m *mortal) Jobs(ctx context.Context) ([]store.Job, error) {
	if err := m.dies(); err != nil {
		return nil, err
	}
	return m.database.Jobs(ctx)
}

func (m *mortal) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	if err := m.dies(); err != nil {
		return err
	}
	return m.database.SaveJob(ctx, term, job)
}

func (m *mortal) AddNotices(ctx context.Context, now time.Time, notices []wire.Notice) (int, error) {
	if err := m.dies(); err != nil {
		return 0, err
	}
	return m.database.AddNotices(ctx, now, notices)
}

// Clocks of many nodes that tick at once do everything, and nothing twice.
func TestManyClocks(t *testing.T) {
	everywhere(t, func(w *world) {
		const errs = 450 // more than two chunks
		reports := make([]recoup.Report, errs)
		for i := range reports {
			reports[i] = recoup.Report{Table: dol, EntityID: fmt.Sprint("e", i), Code: "NETWORK_TIMEOUT"}
		}
		made := w.Report(reports...)
		w.Wait(31 * 24 * time.Hour)
		var all sync.WaitGroup
		for i := range 3 {
			c := w.node(fmt.Sprint("n", i), w.jobs()...)
			all.Go(func() {
				if err := c.Tick(w.Context()); err != nil {
					w.Error(err)
				}
			})
			all.Go(func() { // and a person beside them
				if _, err := c.Run(w.Context(), "ttl", time.Minute); err != nil && !errors.Is(err, store.ErrBusy) {
					w.Error(err)
				}
			})
		}
		all.Wait()
		for _, e := range made {
			got := w.Read(e.ID)
			history, err := w.DB.History(w.Context(), e.ID, 100)
			if err != nil {
				w.Fatal(err)
			}
			ends := slices.DeleteFunc(history, func(h recoup.Transition) bool { return h.Input != "expire" })
			if got.State != recoup.Archived || len(ends) != 1 {
				w.Fatalf("%v is %s, and has expired %d times", e.ID, got.State, len(ends))
			}
		}
		notified, err := w.DB.PendingNotices(w.Context(), 5*errs)
		if err != nil {
			w.Fatal(err)
		}
		unblocked, seen := 0, map[wire.Notice]bool{}
		for _, n := range notified {
			if n.Kind == wire.NoticeUnblocked {
				unblocked += digested(w, &n)
			}
			same := wire.Notice{Kind: n.Kind, To: n.To, ErrorID: n.ErrorID, Key: n.Key, Body: n.Body}
			if seen[same] {
				w.Errorf("notified twice: %+v", n)
			}
			seen[same] = true
		}
		if unblocked != errs {
			w.Errorf("%d were notified", unblocked)
		}
	})
}

// What is wrong with the options is said at once.
func TestOptions(t *testing.T) {
	t.Parallel()
	good := scheduler.Options{
		Store: &mortal{}, Node: "n", Now: time.Now, NotifyTo: func() string { return "" },
		Jobs: []scheduler.Job{fake("x", func(context.Context, scheduler.Run) (int, bool, error) { return 0, false, nil })},
	}
	if _, err := scheduler.New(good); err != nil {
		t.Fatal(err)
	}
	for name, spoil := range map[string]func(*scheduler.Options){
		"no store": func(o *scheduler.Options) { o.Store = nil }, "no node": func(o *scheduler.Options) { o.Node = "" },
		"no jobs": func(o *scheduler.Options) { o.Jobs = nil }, "twice": func(o *scheduler.Options) { o.Jobs = append(o.Jobs, o.Jobs[0]) },
		"no chunk": func(o *scheduler.Options) { o.Jobs = []scheduler.Job{{Name: "y", Every: 1, Late: 1}} },
	} {
		o := good
		spoil(&o)
		if _, err := scheduler.New(o); err == nil || !strings.Contains(err.Error(), "scheduler: ") {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// digested is how many errors a notice is about.
func digested(w *world, n *wire.Notice) int {
	w.Helper()
	if n.Body == "" {
		return 1
	}
	var d store.Digest
	if err := json.Unmarshal([]byte(n.Body), &d); err != nil {
		w.Fatal(err)
	}
	return d.Count
}
