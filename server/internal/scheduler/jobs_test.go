package scheduler_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	hour = time.Hour
	day  = 24 * time.Hour
)

// run runs a job after a look at what it would do, and says how much both were.
func (w *world) run(c *scheduler.Clock, name string) (would, moved int) {
	w.Helper()
	preview, err := c.Preview(w.Context(), name)
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	ran, err := c.Run(w.Context(), name, time.Minute)
	if err != nil || ran.More {
		w.Fatalf("%s: %+v, %v", name, ran, err)
	}
	return int(preview.Rows), int(ran.Rows)
}

// Every job does what it is for when its time has come, says before how much that
// is, and does nothing before or again.
func TestJobs(t *testing.T) {
	everywhere(t, func(w *world) {
		c := w.node("n", w.jobs()...)
		for _, row := range []struct {
			job   string
			make  func()        // something to do, and lets the time pass until then
			would int           // how much there is to do; what others have left may come on top
			moved func(int) int // what of that is moved
		}{
			{"leases", w.leased, 1, same},
			{"windows", func() { w.retrying("window"); w.Wait(24*hour + time.Microsecond) }, 1, same},
			{"ttl", func() { w.retrying("ttl"); w.Wait(30 * day) }, 1, same},
			{"resolved", func() { w.Act(engine.Act{ID: w.retrying("done"), Input: lifecycle.Resolve{Reason: "done"}}) }, 1, same},
			{"escalation", func() { w.parked("up"); w.Wait(48 * hour) }, 1, same},
			{"reminders", func() { w.parked("review"); w.Wait(24 * hour) }, 1, same},
			{"freeze", w.batch, 1, twice}, // a batch, of two recoveries
			{"outbox", func() { w.delivered(); w.Wait(30*day + time.Microsecond) }, 1, same},
			{"processed", func() { w.processed(); w.Wait(36 * day) }, 1, twice}, // an hour, and its minute
			{"archive", func() { w.Wait(370 * day) }, 1, same},
			{"rollup-retention", func() { w.Wait(800 * day) }, 1, same}, // the hours went before
		} {
			w.tick(c)
			if would, moved := w.run(c, row.job); would+moved > 0 {
				w.Fatalf("%s: %d to do and %d done before there is anything", row.job, would, moved)
			}
			row.make()
			would, moved := w.run(c, row.job)
			if would < row.would || moved != row.moved(would) {
				w.Fatalf("%s: %d to do and %d done, want %d", row.job, would, moved, row.would)
			}
			if would, moved := w.run(c, row.job); would+moved != 0 {
				w.Fatalf("%s: %d to do and %d done once more", row.job, would, moved)
			}
		}
		for _, name := range []string{"counts", "rollups", "partitions", "events", "receipts"} {
			if would, _ := w.run(c, name); would != 0 {
				w.Errorf("%s: %d to do", name, would)
			}
		}
		if events, _, err := w.DB.Events(w.Context(), store.EventFilter{}, sqldb.Page{}); err != nil || len(events) != 0 {
			w.Errorf("%d events are left, %v", len(events), err)
		}
	})
}

func same(n int) int  { return n }
func twice(n int) int { return 2 * n }

// retrying is an error that waits for a worker.
func (w *world) retrying(entity string) recoup.ID {
	w.Helper()
	return w.Report(recoup.Report{Table: dol, EntityID: entity, Code: "NETWORK_TIMEOUT"})[0].ID
}

// parked is an error that waits for a person.
func (w *world) parked(entity string) recoup.ID {
	w.Helper()
	e := w.Report(recoup.Report{Table: dol, EntityID: entity, Code: "VALIDATION_ERROR"})[0]
	if e.State != recoup.Parked {
		w.Fatalf("it is %s", e.State)
	}
	return e.ID
}

// leased lets a lease run out.
func (w *world) leased() {
	w.Helper()
	w.retrying("leased")
	w.Wait(time.Minute)
	claimed, err := w.Engine.Claim(w.Context(), engine.Caller{Name: "w"}, recoup.RetryClaim{Tables: []string{dol}, Worker: "w", Limit: 10})
	if err != nil || len(claimed) != 1 {
		w.Fatalf("claimed %v, %v", claimed, err)
	}
	w.Wait(claimed[0].LeaseEndsAt.Sub(w.Now()))
}

// batch makes a batch with two failed intakes, and lets its time pass.
func (w *world) batch() {
	w.Helper()
	gate := policy.Default().Gate
	step := func(in gatezero.Input) gatezero.DecideCase {
		return func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(gate, c, in, w.Now())
		}
	}
	ids := recoup.NewIDSource(zeros{})
	store := gatezero.NewStore(w.DB.SQL())
	_, err := store.CreateBatch(w.Context(), "b", w.Now())
	intakes := make([]recoup.Intake, 2)
	steps := make([]gatezero.CaseStep, 2)
	for i := range intakes {
		intakes[i] = recoup.Intake{ID: ids.New(w.Now()), BatchID: "b", ImportKey: fmt.Sprint(i), CompanyName: "c", Status: recoup.IntakePending,
			CreatedAt: w.Now(), UpdatedAt: w.Now()}
		steps[i] = gatezero.CaseStep{ID: intakes[i].ID, Decide: step(gatezero.Fail{RecoveryID: ids.New(w.Now()), Reason: "TIMEOUT"})}
	}
	if err == nil {
		_, err = store.ImportIntakes(w.Context(), "b", w.Now(), intakes)
	}
	if err == nil {
		_, err = store.RecordResults(w.Context(), steps)
	}
	if err == nil {
		_, err = store.StepBatch(w.Context(), "b", step(gatezero.Complete{}))
	}
	if err != nil {
		w.Fatal(err)
	}
	w.Wait(gate.RecoveryWindow)
}

type zeros struct{}

func (zeros) Read(p []byte) (int, error) { clear(p); return len(p), nil }

// delivered delivers the notices that wait.
func (w *world) delivered() {
	w.Helper()
	list, err := w.DB.ClaimNotices(w.Context(), w.Now(), time.Minute, sqldb.MaxPage)
	if err != nil || len(list) == 0 {
		w.Fatalf("%d to tell, %v", len(list), err)
	}
	done := make([]store.Delivery, len(list))
	for i := range list {
		done[i] = store.Delivery{ID: list[i].ID, Attempt: list[i].Attempts, Delivered: true}
	}
	if _, err := w.DB.FinishNotices(w.Context(), w.Now(), done); err != nil {
		w.Fatal(err)
	}
}

func (w *world) processed() {
	w.Helper()
	if err := w.DB.AddProcessed(w.Context(), []store.Processed{{Minute: w.Now(), Service: "s", N: 1}}); err != nil {
		w.Fatal(err)
	}
}

// The escalation ladder of spec 000, 10.1, by the clock alone: who owns a parked
// error when, until when it is to be reviewed, and what they are notified of.
func TestEscalationTable(t *testing.T) {
	everywhere(t, func(w *world) {
		c := w.node("n", w.jobs()...)
		id := w.parked("co-1")
		parked := w.Now()
		for _, row := range []struct {
			after    time.Duration // parked
			tier     int
			owner    func(*policy.Table) string
			notified []wire.NoticeKind
		}{
			{0, 1, owner(1), []wire.NoticeKind{wire.NoticeParked}},
			{24*hour - time.Second, 1, owner(1), nil},
			{24 * hour, 1, owner(1), []wire.NoticeKind{wire.NoticeReviewMissed}},
			{48*hour - time.Second, 1, owner(1), nil},
			{48 * hour, 2, owner(2), []wire.NoticeKind{wire.NoticeEscalated}},
			{56*hour - time.Second, 2, owner(2), nil},
			{56 * hour, 2, owner(2), []wire.NoticeKind{wire.NoticeReviewMissed}},
			{7*day - time.Second, 2, owner(2), nil},
			{7 * day, 3, owner(3), []wire.NoticeKind{wire.NoticeEscalated}},
			{7*day + 4*hour - time.Second, 3, owner(3), nil},
			{7*day + 4*hour, 3, owner(3), []wire.NoticeKind{wire.NoticeReviewMissed}},
			{29*day - time.Second, 3, owner(3), nil},
			{29 * day, 3, owner(3), []wire.NoticeKind{wire.NoticeExpiring}},
			{30*day - time.Second, 3, owner(3), nil},
		} {
			w.Wait(parked.Add(row.after).Sub(w.Now()))
			before := len(w.notices())
			if row.after == 0 {
				before = 0
			}
			w.tick(c)
			e := w.Read(id)
			table, _ := policy.Default().Table(e.Table)
			if got := w.notices()[before:]; e.EscalationLevel != row.tier || e.EscalatedTo != row.owner(table) || !slices.Equal(got, row.notified) {
				w.Fatalf("parked for %v: tier %d, %s, notified %v; want %d, %s, %v", row.after, e.EscalationLevel, e.EscalatedTo, got,
					row.tier, row.owner(table), row.notified)
			}
		}
		w.Wait(time.Second)
		if w.tick(c); w.Read(id).ArchiveReason != recoup.TTLExpired {
			w.Errorf("after its TTL it is %+v", w.Read(id))
		}
	})
}

func owner(tier int) func(*policy.Table) string {
	return func(t *policy.Table) string { return t.Owner(tier) }
}
