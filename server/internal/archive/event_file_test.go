package archive_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var day = time.Date(2026, 2, 5, 0, 0, 0, 0, time.UTC)

// ledger is one that was thought up, sorted as a store has it.
type ledger struct {
	events []store.Event
	wrong  bool // it counts one too many
}

func (l *ledger) add(events ...store.Event) {
	l.events = append(l.events, events...)
	slices.SortFunc(l.events, func(a, b store.Event) int {
		if c := strings.Compare(string(a.Code), string(b.Code)); c != 0 {
			return c
		}
		if c := a.TS.Compare(b.TS); c != 0 {
			return c
		}
		return slices.Compare(a.ID[:], b.ID[:])
	})
}

func (l *ledger) ReadEventDay(_ context.Context, of time.Time, counts func([]recoup.CodeCount) error, event func(*store.Event) error) error {
	var list []recoup.CodeCount
	var events []store.Event
	for _, e := range l.events {
		if !store.Day(e.TS).Equal(of) {
			continue
		}
		if n := len(list); n == 0 || list[n-1].Code != e.Code {
			list = append(list, recoup.CodeCount{Code: e.Code})
		}
		list[len(list)-1].Count++
		events = append(events, e)
	}
	if l.wrong {
		list[0].Count++
	}
	if err := counts(list); err != nil {
		return err
	}
	for i := range events {
		if err := event(&events[i]); err != nil {
			return err
		}
	}
	return nil
}

func (l *ledger) EventDays(context.Context, time.Time) ([]store.EventDay, error) { return nil, nil }

// event is a full one, or one with as little as there can be.
func event(n int, code recoup.Code, ts time.Time, full bool) store.Event {
	e := store.Event{Event: recoup.Event{ID: recoup.ID{1, byte(n >> 8), byte(n)}, CorrelationID: recoup.ID{2, byte(n % 3)}, Code: code, Service: fmt.Sprint("service-", n%3), TS: ts}}
	if full {
		e.Endpoint, e.HTTPStatus, e.Region, e.ExternalService = "/pay/{id}", 504, "eu", "bank"
		e.Details = map[string]any{"retryable": true, "limit": int64(n)}
		e.ReportedCode, e.TenantHash, e.TenantKey = "NEVER_SEEN", strings.Repeat("ab", 32), "k1"
	}
	return e
}

func filer(t interface {
	Helper()
	Fatal(...any)
}, l *ledger, path string) *archive.Filer {
	t.Helper()
	place, err := archive.OpenFolder(path, true)
	if err != nil {
		t.Fatal(err)
	}
	return &archive.Filer{Store: l, Place: place, Now: func() time.Time { return day.Add(48 * time.Hour) }}
}

func opened(t interface {
	Helper()
	Fatal(...any)
}, f *archive.Filer) *archive.Archive {
	t.Helper()
	a, err := archive.OpenArchive(context.Background(), f.Place)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// What goes in comes out, page by page, newest first, whatever is asked for.
func TestArchiveIsTheLedger(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	n := 0
	rapid.Check(t, func(t *rapid.T) {
		n++
		l := &ledger{}
		for i := range rapid.IntRange(1, 60).Draw(t, "events") {
			code := rapid.SampledFrom([]recoup.Code{"A", "B", "C"}).Draw(t, "code")
			ts := day.Add(time.Duration(rapid.IntRange(0, 3*24*12-1).Draw(t, "at")) * 5 * time.Minute)
			l.add(event(i, code, ts, rapid.Bool().Draw(t, "full")))
		}
		f := filer(t, l, filepath.Join(folder, fmt.Sprint(n)))
		for i := range 3 {
			if _, err := f.File(t.Context(), day.AddDate(0, 0, i)); err != nil {
				t.Fatal(err)
			}
		}
		filter := store.EventFilter{
			Code: rapid.SampledFrom([]recoup.Code{"", "A", "Z"}).Draw(t, "of code"), Service: rapid.SampledFrom([]string{"", "service-1"}).Draw(t, "of service"),
			Correlation: rapid.SampledFrom([]recoup.ID{{}, {2, 1}}).Draw(t, "of request"),
		}
		if rapid.Bool().Draw(t, "within") {
			filter.From, filter.To = day.Add(6*time.Hour), day.Add(30*time.Hour)
		}
		var want []store.Event
		for _, e := range l.events {
			if (filter.Code == "" || e.Code == filter.Code) && (filter.Service == "" || e.Service == filter.Service) && (filter.Correlation.IsZero() || e.CorrelationID == filter.Correlation) &&
				(filter.From.IsZero() || !e.TS.Before(filter.From) && e.TS.Before(filter.To)) {
				want = append(want, e)
			}
		}
		slices.SortFunc(want, func(a, b store.Event) int {
			if c := b.TS.Compare(a.TS); c != 0 {
				return c
			}
			return slices.Compare(b.ID[:], a.ID[:])
		})
		a, page := opened(t, f), sqldb.Page{Limit: rapid.IntRange(1, 20).Draw(t, "page")}
		var got []store.Event
		for {
			list, next, err := a.Events(t.Context(), filter, page)
			if err != nil {
				t.Fatal(err)
			}
			if got = append(got, list...); next.IsZero() {
				break
			}
			page.Cursor = next
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%d events, want %d\ngot  %v\nwant %v", len(got), len(want), got, want)
		}
	})
}

// A day that is written again without a change keeps its file; one with late events gets
// a new version, and Tidy leaves that alone.
func TestVersions(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	l.add(event(1, "A", day, true), event(2, "B", day, false))
	f := filer(t, l, t.TempDir())
	file := func(version int, changed bool) archive.Filed {
		t.Helper()
		got, err := f.File(t.Context(), day.Add(time.Hour))
		if err != nil || got.Version != version || got.Changed != changed || got.Rows != int64(len(l.events)) {
			t.Fatalf("%+v, %v", got, err)
		}
		return got
	}
	file(1, true)
	file(1, false)
	l.add(event(3, "A", day.Add(time.Hour), false))
	late := file(2, true)
	want := []recoup.CodeCount{{Code: "A", Count: 2}, {Code: "B", Count: 1}}
	if !slices.Equal(late.Codes, want) || !late.First.Equal(day) || !late.Last.Equal(day.Add(time.Hour)) || late.Name != "events-2026-02-05.v2.parquet" {
		t.Errorf("%+v", late)
	}
	if err := f.Tidy(t.Context(), day); err != nil {
		t.Fatal(err)
	}
	names, err := f.Place.List(t.Context(), "")
	if err != nil || !slices.Equal(names, []string{"events-2026-02-05.v2.json", "events-2026-02-05.v2.parquet"}) {
		t.Errorf("left are %v, %v", names, err)
	}
	l.events = l.events[:1] // the rest was dropped
	if _, err := f.File(t.Context(), day); !errors.Is(err, archive.ErrCounts) {
		t.Errorf("a smaller file took the place of a larger one: %v", err)
	}
}

// A file whose ledger counts otherwise gets no name.
func TestCountsAreCompared(t *testing.T) {
	t.Parallel()
	l := &ledger{wrong: true}
	l.add(event(1, "A", day, true))
	f := filer(t, l, t.TempDir())
	_, err := f.File(t.Context(), day)
	names, listed := f.Place.List(t.Context(), "")
	if !errors.Is(err, archive.ErrCounts) || len(names) > 0 || listed != nil {
		t.Errorf("%v, and there is %v", err, names)
	}
	if left, _ := filepath.Glob(filepath.Join(f.Place.String(), ".*")); len(left) > 0 {
		t.Errorf("%v is left over", left)
	}
}

// A process that died between the file and its manifest, or before, leaves nothing that
// is read, and the next one goes over it.
func TestDiedInBetween(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	l.add(event(1, "A", day, true))
	f := filer(t, l, t.TempDir())
	if _, err := f.File(t.Context(), day); err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Place.String(), "events-2026-02-05.v2.parquet")
	part := filepath.Join(f.Place.String(), ".events-1.part")
	for _, name := range []string{path, part} {
		if err := os.WriteFile(name, []byte("half of it"), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if list, _, err := opened(t, f).Events(t.Context(), store.EventFilter{}, sqldb.Page{}); err != nil || len(list) != 1 {
		t.Errorf("%v, %v", list, err)
	}
	old := day.Add(-48 * time.Hour)
	if err := os.Chtimes(part, old, old); err != nil {
		t.Fatal(err)
	}
	l.add(event(2, "B", day, true))
	if got, err := f.File(t.Context(), day); err != nil || got.Version != 3 { // no name is used again
		t.Errorf("%+v, %v", got, err)
	}
	if list, _, err := opened(t, f).Events(t.Context(), store.EventFilter{}, sqldb.Page{}); err != nil || len(list) != 2 {
		t.Errorf("%v, %v", list, err)
	}
	if _, err := os.Stat(part); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("what was begun two days ago is still there: %v", err)
	}
}

// A file that was changed is refused, and so is a manifest.
func TestTampering(t *testing.T) {
	t.Parallel()
	l := &ledger{}
	l.add(event(1, "A", day, true), event(2, "B", day, true))
	f := filer(t, l, t.TempDir())
	filed, err := f.File(t.Context(), day)
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(f.Place.String(), filed.Name)
	body, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	read := func() error {
		a, err := archive.OpenArchive(t.Context(), f.Place)
		if err == nil {
			_, _, err = a.Events(t.Context(), store.EventFilter{}, sqldb.Page{})
		}
		return err
	}
	for _, at := range []int{0, 5, len(body) / 2, len(body) - 1} {
		changed := slices.Clone(body)
		changed[at] ^= 1
		if err := os.WriteFile(path, changed, 0o600); err != nil {
			t.Fatal(err)
		}
		if err := read(); !errors.Is(err, archive.ErrChecksum) || !strings.Contains(err.Error(), filed.Name) {
			t.Errorf("byte %d: %v", at, err)
		}
	}
	if err := errors.Join(os.WriteFile(path, body, 0o600), read()); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(strings.TrimSuffix(path, ".parquet")+".json", []byte(`{"day": "2020-01-01T00:00:00Z"}`), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := read(); !errors.Is(err, archive.ErrDamaged) {
		t.Errorf("a manifest of something else: %v", err)
	}
}

func TestDue(t *testing.T) {
	t.Parallel()
	const hour, retention = time.Hour, 90 * 24 * time.Hour
	filed := func(rows int64, at time.Time) *store.EventFile {
		return &store.EventFile{EventFile: wire.EventFile{Rows: rows, WrittenAt: at}}
	}
	for _, row := range []struct {
		name  string
		file  *store.EventFile
		after time.Duration // the beginning of the day, which has 10 events
		since time.Duration // 0: it is not due
	}{
		{"the day is not over", nil, 20 * hour, 0},
		{"a day for what comes late", nil, 47 * hour, 0},
		{"not written", nil, 50 * hour, 48 * hour},
		{"written", filed(10, day.Add(48*hour)), 200 * hour, 0},
		{"events came late", filed(9, day.Add(48*hour)), 71 * hour, 0},
		{"events came late, a day ago", filed(9, day.Add(48*hour)), 80 * hour, 72 * hour},
		{"events came late, and the month may be dropped", filed(9, day.Add(3000*hour)), 3001 * hour, 3000 * hour},
	} {
		got := archive.Due(store.EventDay{Day: day, Events: 10, File: row.file}, day.Add(row.after), retention)
		want := time.Time{}
		if row.since > 0 {
			want = day.Add(row.since)
		}
		if !got.Equal(want) {
			t.Errorf("%s: due since %v, want %v", row.name, got, want)
		}
	}
}
