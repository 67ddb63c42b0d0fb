package store_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func (w *world) receipt(key string, hash byte) *store.Receipt {
	return &store.Receipt{
		Scope: "s", Key: key, Hash: [32]byte{hash}, ExpiresAt: w.now.Add(time.Hour),
		Answer: func(out store.Outcome) []byte { return []byte(out.Error.ID.String() + string(out.Error.State)) },
	}
}

func TestAReceiptIsWrittenOnceAndAnswered(t *testing.T) {
	w := newWorld()
	work := store.NewUnitOfWork(time.Time{}, nil)
	work.Receipts = store.NewReceipts(w.now, nil)
	in := w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	in.Receipt = w.receipt("a", 1)
	first := work.Report(in)
	e := accept(t, first)
	want := e.ID.String() + string(e.State)
	if string(first.Answer) != want || first.Repeated {
		t.Errorf("answered with %q, repeated %v", first.Answer, first.Repeated)
	}
	again := work.Report(in)
	if again.Err != nil || !again.Repeated || string(again.Answer) != want || again.Error != (recoup.Error{}) {
		t.Errorf("again answered with %+v", again)
	}
	in.Receipt = w.receipt("a", 2)
	if out := work.Report(in); !errors.Is(out.Err, store.ErrConflict) || out.Repeated || out.Answer != nil {
		t.Errorf("another request is answered with %+v", out)
	}
	added := work.Receipts.Added()
	if len(added) != 1 || added[0].ReceiptKey != in.Receipt.ID() || added[0].Hash != [32]byte{1} || string(added[0].Answer) != want ||
		!added[0].CreatedAt.Equal(w.now) || !added[0].ExpiresAt.Equal(w.now.Add(time.Hour)) {
		t.Errorf("to be written: %+v", added)
	}
	wantWritten(t, work, list(e.ID), nil, nil, nil)
}

func TestARefusedItemLeavesNoReceipt(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	for _, step := range []store.Step{w.step(e.ID, lifecycle.Unpark{By: "ada"}), w.step(recoup.ID{9}, lifecycle.Unpark{By: "ada"})} {
		step.Receipt = w.receipt("a", 1)
		if out := work.Step(step); out.Err == nil || out.Answer != nil || errors.Is(out.Err, store.ErrConflict) {
			t.Errorf("answered with %+v", out)
		}
	}
	park := w.step(e.ID, lifecycle.Park{By: "ada", Reason: "look"})
	park.Receipt = w.receipt("a", 2)
	accept(t, work.Step(park))
	if added := work.Receipts.Added(); len(added) != 1 || added[0].Hash != [32]byte{2} {
		t.Errorf("to be written: %+v", added)
	}
}

func TestAnExpiredReceiptIsReplaced(t *testing.T) {
	w := newWorld()
	found := []store.StoredReceipt{
		{ReceiptKey: store.ReceiptKey{Scope: "s", Key: "over"}, Hash: [32]byte{1}, Answer: []byte("old"), ExpiresAt: w.now},
		{ReceiptKey: store.ReceiptKey{Scope: "s", Key: "unused"}, ExpiresAt: w.now.Add(-time.Hour)},
		{ReceiptKey: store.ReceiptKey{Scope: "s", Key: "live"}, Hash: [32]byte{1}, Answer: []byte("kept"), ExpiresAt: w.now.Add(time.Microsecond)},
	}
	work := store.NewUnitOfWork(time.Time{}, nil)
	work.Receipts = store.NewReceipts(w.now, found)
	for key, repeated := range map[string]bool{"over": false, "live": true, "a": false} {
		in := w.report(dol, key, "NETWORK_TIMEOUT", recoup.Medium)
		in.Receipt = w.receipt(key, 1)
		if out := work.Report(in); out.Err != nil || out.Repeated != repeated || repeated && string(out.Answer) != "kept" {
			t.Errorf("%s: answered with %+v", key, out)
		}
	}
	var added []string
	for _, r := range work.Receipts.Added() {
		added = append(added, r.Key)
	}
	if !slices.Equal(added, []string{"a", "over"}) {
		t.Errorf("to be written: %v", added)
	}
	if got := work.Receipts.Replaced(); !slices.Equal(got, []store.ReceiptKey{{Scope: "s", Key: "over"}}) {
		t.Errorf("to be deleted before: %v", got)
	}
}

// Only what is made due at once wakes workers.
func TestAnUnparkWakesWorkers(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	for _, row := range []struct {
		inputs []lifecycle.Input
		want   bool
	}{
		{nil, false},
		{[]lifecycle.Input{lifecycle.Park{By: "ada", Reason: "look"}}, false},
		{[]lifecycle.Input{lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}}, true},
		{[]lifecycle.Input{lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}, lifecycle.Claim{Token: recoup.ID{1}, Worker: "w1"}}, false},
		{[]lifecycle.Input{lifecycle.Resolve{By: "ada"}}, false},
	} {
		work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
		for _, in := range row.inputs {
			accept(t, work.Step(w.step(e.ID, in)))
		}
		accept(t, work.Report(w.report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)))
		if got := work.Awaken(w.now); got != row.want {
			t.Errorf("after %T it is %v", row.inputs, got)
		}
	}
}
