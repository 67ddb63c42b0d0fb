package conformance

import (
	"cmp"
	"errors"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func fileClauses() []ledgerClause {
	return []ledgerClause{
		{"a day is read sorted by code, time and id, with its counts, as of one moment", fileDay},
		{"whoever reads a day ends it with an error", fileDayEnds},
		{"the days of the ledger know their files, and a file takes the place of an older one", fileDays},
		{"while events are filed a month is dropped only if all of it is in files", fileDrop},
		{"filing is turned on and off, and that is audited", fileSwitch},
	}
}

func fileDay(b *Bookkeeper) {
	from := store.Day(Epoch())
	var want []store.Event
	for i, code := range []recoup.Code{timeout, "DNS_TIMEOUT", timeout, "VALIDATION_ERROR", timeout} {
		e := b.Event("billing", code, from.Add(time.Duration(20-i)*time.Minute))
		e.Details, e.HTTPStatus, e.Endpoint = map[string]any{"limit": int64(i)}, 500+i, "/pay"
		want = append(want, e)
	}
	twin := want[0]
	twin.ID = b.ids.New(Epoch())
	want = append(want, twin, b.Event("billing", timeout, from), b.Event("billing", timeout, from.Add(day-time.Microsecond)))
	b.Add(slices.Concat(want, []store.Event{b.Event("billing", timeout, from.Add(-time.Microsecond)), b.Event("billing", timeout, from.Add(day))})...)
	slices.SortFunc(want, func(x, y store.Event) int {
		return cmp.Or(strings.Compare(string(x.Code), string(y.Code)), x.TS.Compare(y.TS), slices.Compare(x.ID[:], y.ID[:]))
	})
	var counts []recoup.CodeCount
	var got []store.Event
	late := b.Event("late", timeout, from.Add(time.Hour))
	b.must(b.Ledger.ReadEventDay(b.Context(), from.Add(5*time.Hour), func(list []recoup.CodeCount) error {
		counts = list
		b.Add(late) // beside it, and therefore not in it
		return nil
	}, func(e *store.Event) error {
		got = append(got, *e)
		return nil
	}))
	if !slices.Equal(counts, []recoup.CodeCount{{Code: "DNS_TIMEOUT", Count: 1}, {Code: timeout, Count: 6}, {Code: "VALIDATION_ERROR", Count: 1}}) {
		b.Errorf("the counts are %v", counts)
	}
	for i := range got {
		got[i].TS = got[i].TS.UTC()
	}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("read %v\nwant %v", got, want)
	}
}

func fileDayEnds(b *Bookkeeper) {
	b.Add(b.Event("billing", timeout, Epoch()), b.Event("billing", timeout, Epoch()))
	enough := errors.New("enough")
	counted := func([]recoup.CodeCount) error { return nil }
	seen := 0
	err := b.Ledger.ReadEventDay(b.Context(), Epoch(), counted, func(*store.Event) error { seen++; return enough })
	if !errors.Is(err, enough) || seen != 1 {
		b.Errorf("%d events, %v", seen, err)
	}
	err = b.Ledger.ReadEventDay(b.Context(), Epoch(), func([]recoup.CodeCount) error { return enough }, nil)
	if !errors.Is(err, enough) {
		b.Errorf("%v", err)
	}
	b.must(b.Ledger.ReadEventDay(b.Context(), Epoch(), counted, func(*store.Event) error { return nil })) // which takes no harm
}

// fileOf is the manifest's row of a day.
func fileOf(of time.Time, rows int64, version int) store.EventFile {
	return store.EventFile{Place: "/files", EventFile: wire.EventFile{
		Day: of, Name: "events", Version: version, Rows: rows, Bytes: 1000, SHA256: strings.Repeat("0a", 32), First: of, Last: of.Add(time.Hour), WrittenAt: of.Add(2 * day),
	}}
}

func fileDays(b *Bookkeeper) {
	first := store.Day(Epoch())
	b.Add(b.Event("a", timeout, first), b.Event("b", timeout, first), b.Event("a", timeout, first.Add(2*day)), b.Event("a", timeout, first.Add(3*day)))
	act := store.Act{By: "test", At: Epoch()}
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(first, 1, 3), act)) // in a place that was emptied since
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(first, 2, 2), act))
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(first, 1, 1), act)) // of a node that was slow
	got, err := b.Ledger.EventDays(b.Context(), first.Add(3*day))
	b.must(err)
	newest := fileOf(first, 2, 2)
	want := []store.EventDay{{Day: first, Events: 2, File: &newest}, {Day: first.Add(2 * day), Events: 1}}
	if !reflect.DeepEqual(got, want) {
		b.Errorf("the days are %+v, want %+v", got, want)
	}
}

// The months of this clause are over by any clock: a database may ask its own.
func fileDrop(b *Bookkeeper) {
	first := time.Date(2025, 3, 1, 0, 0, 0, 0, time.UTC)
	b.must(b.Ledger.EnsureEventPartitions(b.Context(), first.AddDate(0, 3, 0), 90*day))
	march, april := first.Add(4*day), first.AddDate(0, 1, 0)
	b.Add(b.Event("a", timeout, march), b.Event("a", timeout, march.Add(time.Hour)), b.Event("a", timeout, march.Add(day)), b.Event("a", timeout, april))
	act := store.Act{By: "test", At: Epoch()}
	b.must(b.Ledger.SetEventFiling(b.Context(), "/files", act))
	left := func(why string, want int) {
		b.Helper()
		b.must(b.Ledger.DropEvents(b.Context(), first.AddDate(0, 2, 0)))
		if got, _, err := b.Ledger.Events(b.Context(), store.EventFilter{}, sqldb.Page{Limit: 100}); err != nil || len(got) != want {
			b.Errorf("%s: %d events are left, want %d (%v)", why, len(got), want, err)
		}
	}
	left("nothing is in a file", 4)
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(march, 2, 1), act))
	left("one day is in a file, and one is not", 4)
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(march.Add(day), 1, 1), act))
	b.Add(b.Event("late", timeout, march))
	left("an event came late", 5)
	b.must(b.Ledger.SaveEventFile(b.Context(), fileOf(march, 3, 2), act))
	left("a month is in files", 1)
	b.must(b.Ledger.SetEventFiling(b.Context(), "", act))
	left("nothing is filed any more", 0)
}

func fileSwitch(b *Bookkeeper) {
	act := store.Act{By: "test", At: Epoch()}
	for _, place := range []string{"", "/a", "/a", "/b", "", ""} {
		b.must(b.Ledger.SetEventFiling(b.Context(), place, act))
		got, err := b.Ledger.EventFiling(b.Context())
		b.must(err)
		if (got == nil) != (place == "") || got != nil && (got.Place != place || !got.Since.Equal(Epoch())) {
			b.Errorf("%q is on as %+v", place, got)
		}
	}
}
