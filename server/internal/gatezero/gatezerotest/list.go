package gatezerotest

import (
	"fmt"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func gateLists() []gateClause {
	return []gateClause{
		{"eligible recoveries are listed longest waiting first, page by page", gateEligible},
		{"exhausted recoveries are listed last exhausted first, page by page", gateExhausted},
		{"batches are listed newest first with their counts, page by page", gateBatchList},
		{"a timeline is cut at its limit, oldest first", gateTimelineLimit},
	}
}

// walk reads a list to its end in pages of this size.
func (d *gateDriver) walk(size int, read func(p sqldb.Page) ([]gatezero.Case, sqldb.Cursor, error)) []recoup.ID {
	d.Helper()
	var ids []recoup.ID
	for p := (sqldb.Page{Limit: size}); ; {
		list, next, err := read(p)
		d.must(err)
		if len(list) > size {
			d.Fatalf("a page of %d has %d", size, len(list))
		}
		ids = append(ids, recoveryIDs(list)...)
		if next.IsZero() {
			return ids
		}
		p.Cursor = next
	}
}

func gateEligible(d *gateDriver) {
	d.batch("b1")
	d.batch("b2")
	want := map[string][]recoup.ID{}
	for i := range 30 {
		batch := []string{"b1", "b2", ""}[i%3]
		id := d.failed(batch).Recovery.ID
		want[batch], want["all"] = append(want[batch], id), append(want["all"], id)
		if i%6 == 5 {
			d.wait(minute) // six fail at the same time
		}
	}
	d.wait(day - minute)
	late := d.failed("b1").Recovery.ID
	if held := d.claim(2); len(held) != 2 {
		d.Fatalf("claimed %d", len(held))
	}
	d.stepBatch("b2", gatezero.Kill{By: "ada"})
	for _, size := range []int{1, 4, 100} {
		for batch, ids := range want {
			filter := batch
			if batch == "all" || batch == "" {
				filter, ids = "", want["all"]
			}
			got := d.walk(size, func(p sqldb.Page) ([]gatezero.Case, sqldb.Cursor, error) {
				return d.store.Eligible(d.Context(), filter, d.now, p)
			})
			if !slices.Equal(got, ids) || slices.Contains(got, late) {
				d.Errorf("%s in pages of %d: %d recoveries, want %d in order", batch, size, len(got), len(ids))
			}
		}
	}
	first, _, err := d.store.Eligible(d.Context(), "b1", d.now, sqldb.Page{Limit: 1})
	d.must(err)
	d.wantStored(first...)
	if !first[0].Lease.Leased(d.now) || first[0].Intake.CompanyName == "" {
		d.Errorf("listed is %+v", first[0])
	}
}

func gateExhausted(d *gateDriver) {
	want := map[string][]recoup.ID{}
	for i := range 3 {
		batch := d.batch(fmt.Sprint("b", i))
		intakes := d.intakes(batch, 4)
		d.stepBatch(batch, gatezero.Complete{})
		for _, intake := range intakes {
			want[batch] = append(want[batch], d.fails(intake).Recovery.ID)
		}
		d.failed("") // never listed
		d.wait(minute)
	}
	d.wait(14*day - 3*minute)
	for range 3 {
		d.freeze(100, 4)
		d.wait(minute)
	}
	for _, batch := range []string{"b2", "b1", "b0"} {
		slices.Reverse(want[batch])
		want[""] = append(want[""], want[batch]...)
	}
	for batch, ids := range want {
		for _, size := range []int{1, 3, 100} {
			got := d.walk(size, func(p sqldb.Page) ([]gatezero.Case, sqldb.Cursor, error) {
				return d.store.Exhausted(d.Context(), batch, p)
			})
			if !slices.Equal(got, ids) {
				d.Errorf("%q in pages of %d: %v, want %v", batch, size, got, ids)
			}
		}
	}
}

func gateBatchList(d *gateDriver) {
	var want []string
	for i := range 7 {
		want = append(want, d.batch(fmt.Sprint("b", i)))
		d.intakes(want[i], i)
		if i%2 == 1 {
			d.wait(minute)
		}
	}
	slices.Reverse(want)
	for _, size := range []int{1, 3, 100} {
		var got []string
		for after := (gatezero.BatchCursor{}); ; {
			list, next, err := d.store.Batches(d.Context(), after, size)
			d.must(err)
			for _, b := range list {
				got = append(got, b.ID)
				if n := b.Intakes[recoup.IntakePending]; fmt.Sprint("b", n) != b.ID {
					d.Errorf("%s has %d pending", b.ID, n)
				}
			}
			if after = next; next.IsZero() {
				break
			}
		}
		if !slices.Equal(got, want) {
			d.Errorf("in pages of %d: %v, want %v", size, got, want)
		}
	}
}

func gateTimelineLimit(d *gateDriver) {
	c := d.claimed(d.failed(""))
	_, err := d.finish(c.Recovery.ID, d.pass(c))
	d.must(err)
	rows, err := d.store.Timeline(d.Context(), c.Intake.ID, 2)
	d.must(err)
	d.sameEvents(rows, []recoup.AIREvent{"FAIL", "AUTH"})
	rows, err = d.store.Timeline(d.Context(), d.id(), 2)
	d.must(err)
	d.sameEvents(rows, []recoup.AIREvent{})
}
