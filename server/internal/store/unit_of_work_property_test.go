package store_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// rows is what a database would hold.
type rows struct {
	errors  map[recoup.ID]recoup.Error
	streaks map[store.StreakKey]int
	history []recoup.Transition
	notices map[lifecycle.Notice]int

	receipts map[store.ReceiptKey]store.StoredReceipt
}

func newRows() *rows {
	return &rows{
		errors: map[recoup.ID]recoup.Error{}, streaks: map[store.StreakKey]int{},
		receipts: map[store.ReceiptKey]store.StoredReceipt{}, notices: map[lifecycle.Notice]int{},
	}
}

// byError is the history by error: of two errors, it does not matter which comes first.
func (r *rows) byError() map[recoup.ID]string {
	list := map[recoup.ID]string{}
	for _, h := range r.history {
		list[h.ErrorID] += fmt.Sprintln(h)
	}
	return list
}

func (r *rows) begin(now time.Time) *store.UnitOfWork {
	work := store.NewUnitOfWork(time.Time{}, slices.SortedFunc(maps.Values(r.errors), func(a, b recoup.Error) int {
		return slices.Compare(a.ID[:], b.ID[:])
	}))
	for k, n := range r.streaks {
		work.SetStreak(k, n)
	}
	work.Receipts = store.NewReceipts(now, slices.Collect(maps.Values(r.receipts)))
	return work
}

// write does what a store does at the end of a verb.
func (r *rows) write(work *store.UnitOfWork) {
	for _, e := range slices.Concat(work.Ended(), work.Updates(), work.Inserts()) {
		r.errors[e.ID] = *e
	}
	r.history = append(r.history, transitions(work)...)
	for _, n := range work.Notices() {
		r.count(n)
	}
	for _, s := range work.Streaks() {
		r.streaks[s.StreakKey] = s.Count
	}
	for _, made := range work.Receipts.Added() {
		r.receipts[made.ReceiptKey] = made
	}
	maps.DeleteFunc(r.streaks, func(_ store.StreakKey, n int) bool { return n == 0 })
}

// count counts notices by kind and recipient; a digest counts for all its errors.
func (r *rows) count(n wire.Notice) {
	digest := store.Digest{Count: 1}
	if n.Body != "" {
		if err := json.Unmarshal([]byte(n.Body), &digest); err != nil {
			panic(err)
		}
	}
	r.notices[lifecycle.Notice{Kind: n.Kind, To: n.To}] += digest.Count
}

// item is one entry of a batch; it may refer to errors that earlier ones make.
type item func(work *store.UnitOfWork) store.Outcome

// draw draws a batch of reports and steps over few entities, so that they meet.
func (w *world) draw(t *rapid.T) []item {
	var known []recoup.ID
	var items []item
	for range rapid.IntRange(1, 30).Draw(t, "items") {
		if len(known) == 0 || rapid.Bool().Draw(t, "report") {
			id := w.ids.New(w.now)
			known = append(known, id)
			r := w.reportAs(id,
				rapid.SampledFrom([]string{dol, target, "public.shq_master_error_log"}).Draw(t, "table"),
				rapid.SampledFrom([]string{"a", "b"}).Draw(t, "entity"),
				rapid.SampledFrom([]recoup.Code{"NETWORK_TIMEOUT", "DNS_TIMEOUT", "DOMAIN_NOT_FOUND"}).Draw(t, "code"),
				rapid.SampledFrom([]recoup.Severity{recoup.Medium, recoup.Critical}).Draw(t, "severity"))
			r.Receipt = w.drawReceipt(t)
			items = append(items, func(work *store.UnitOfWork) store.Outcome { return work.Report(r) })
			continue
		}
		step := w.step(rapid.SampledFrom(known).Draw(t, "error"), rapid.SampledFrom([]lifecycle.Input{
			lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}, lifecycle.Resolve{By: "ada"},
			lifecycle.Escalate{By: "ada"}, lifecycle.ArchiveNow{By: "ada"}, lifecycle.Claim{Token: recoup.ID{1}, Worker: "w1"},
			lifecycle.Fail{Token: recoup.ID{1}, Failure: failure("DNS_TIMEOUT")},
		}).Draw(t, "input"))
		step.Family = func(*recoup.Error) string { return w.family(target, "DNS_TIMEOUT") }
		step.Receipt = w.drawReceipt(t)
		items = append(items, func(work *store.UnitOfWork) store.Outcome { return work.Step(step) })
	}
	return items
}

// drawReceipt draws no receipt, or one of few, so that they meet.
func (w *world) drawReceipt(t *rapid.T) *store.Receipt {
	if rapid.Bool().Draw(t, "no receipt") {
		return nil
	}
	return w.receipt(rapid.SampledFrom([]string{"a", "b", "c"}).Draw(t, "key"), rapid.SampledFrom([]byte{1, 2}).Draw(t, "hash"))
}

// A batch means the same as its items one by one: the same answers, and the same
// rows in the end.
func TestABatchMeansItsItemsOneByOne(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		items := w.draw(t)
		batch, single := newRows(), newRows()
		all := batch.begin(w.now)
		for i, run := range items {
			one := single.begin(w.now)
			got, want := run(all), run(one)
			single.write(one)
			if got.Error != want.Error || fmt.Sprint(got.Err) != fmt.Sprint(want.Err) ||
				got.Repeated != want.Repeated || string(got.Answer) != string(want.Answer) {
				t.Fatalf("item %d is answered with %s, %v; alone with %s, %v", i, got.Error.State, got.Err, want.Error.State, want.Err)
			}
		}
		batch.write(all)
		if !maps.Equal(batch.errors, single.errors) {
			t.Errorf("errors: %+v\nwant %+v", batch.errors, single.errors)
		}
		if fmt.Sprint(batch.receipts) != fmt.Sprint(single.receipts) {
			t.Errorf("receipts: %v, want %v", batch.receipts, single.receipts)
		}
		if !maps.Equal(batch.streaks, single.streaks) {
			t.Errorf("streaks: %v, want %v", batch.streaks, single.streaks)
		}
		if !maps.Equal(batch.byError(), single.byError()) || !maps.Equal(batch.notices, single.notices) {
			t.Errorf("history: %v\nwant %v\nnotices: %v\nwant %v", batch.history, single.history, batch.notices, single.notices)
		}
	})
}
