package conformance

import (
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

func ledgerRaces() []ledgerClause {
	return []ledgerClause{
		{"events that many nodes send at once are counted once", raceDuplicates},
		{"folding takes nothing from those who add and count meanwhile", raceFolding},
		{"many nodes can make partitions ready at once", racePartitions},
	}
}

func raceDuplicates(b *Bookkeeper) {
	const rounds, size = 5, 50
	var batches [rounds][]store.Event
	for r := range batches {
		for i := range size {
			batches[r] = append(batches[r], b.Event(fmt.Sprint("s", i%3), timeout, Epoch().Add(time.Duration(r*size+i)*minute)))
		}
		b.enter(batches[r])
	}
	var added atomic.Int64
	b.together(func(i int) error {
		random := rand.New(rand.NewPCG(uint64(i), 0))
		for _, batch := range batches {
			mine := append([]store.Event(nil), batch...)
			random.Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			n, err := b.Ledger.InsertEvents(b.Context(), mine)
			if err != nil {
				return err
			}
			added.Add(int64(n))
		}
		return nil
	})
	if got := added.Load(); got != rounds*size {
		b.Errorf("%d events were new, want %d", got, rounds*size)
	}
	b.Check(store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)})
}

func raceFolding(b *Bookkeeper) {
	const each, size = 10, 20
	span := store.Span{From: store.Day(Epoch()), To: store.Day(Epoch()).Add(day)}
	batches := make([][]store.Event, crowd*each)
	for i := range batches {
		for j := range size {
			batches[i] = append(batches[i], b.Event(fmt.Sprint("s", (i+j)%size), timeout, Epoch().Add(time.Duration(j)*minute)))
		}
		b.enter(batches[i])
	}
	var acknowledged atomic.Int64
	b.together(func(i int) error {
		for _, batch := range batches[i*each : (i+1)*each] {
			if err := b.addAndCount(batch, i%2 == 0, span, &acknowledged); err != nil {
				return err
			}
		}
		return nil
	})
	b.Check(span)
	b.must(b.Ledger.FoldRollups(b.Context()))
	b.Check(span)
}

// addAndCount adds events and looks whether at least what was acknowledged is
// counted, and no more than there will be.
func (b *Bookkeeper) addAndCount(batch []store.Event, fold bool, span store.Span, acknowledged *atomic.Int64) error {
	if _, err := b.Ledger.InsertEvents(b.Context(), batch); err != nil {
		return err
	}
	least, most := acknowledged.Add(int64(len(batch))), int64(len(b.book))
	if fold {
		if err := b.Ledger.FoldRollups(b.Context()); err != nil {
			return err
		}
	}
	counts, err := b.Ledger.TopCodes(b.Context(), span, 1)
	if err != nil {
		return err
	}
	if n := counts[0].Count; n < least || n > most {
		return fmt.Errorf("%d events are counted while there are at least %d and at most %d", n, least, most)
	}
	return nil
}

func racePartitions(b *Bookkeeper) {
	b.together(func(i int) error {
		return b.Ledger.EnsureEventPartitions(b.Context(), Epoch(), 90*day)
	})
	b.together(func(i int) error { // months that nobody has made ready
		_, err := b.Ledger.InsertEvents(b.Context(), []store.Event{b.Event("billing", timeout, Epoch().AddDate(1, i%3, 0))})
		return err
	})
	got, err := b.Ledger.Daily(b.Context(), store.DailyFilter{}, Epoch().AddDate(1, 0, 0), Epoch().AddDate(1, 2, 0))
	b.must(err)
	if len(got) != 3 || got[0].Count+got[1].Count+got[2].Count != crowd {
		b.Errorf("the counts are %v, want %d on three days", got, crowd)
	}
}
