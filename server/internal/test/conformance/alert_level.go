package conformance

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func levelClauses() []alertClause {
	return []alertClause{
		{"levels are those of the errors that there are, at any time", levelLives},
		{"levels are right at once when an error leaves its table or its TTL changes", levelChanges},
		{"levels of TTLs that no policy has are about right, and nothing is left of them", levelOdd},
	}
}

// checkLevels holds the levels to the errors that the store has acknowledged.
func (d *Driver) checkLevels() {
	d.Helper()
	s, ok := d.Store.(store.FigureReader)
	if !ok {
		return
	}
	got, err := s.Levels(d.Context(), d.Now())
	if err != nil {
		d.Errorf("levels: %v", err)
		return
	}
	want := levels(d.Known(), d.Now())
	if !slices.EqualFunc(got, want, aboutLevel) {
		d.Errorf("levels are %+v, want %+v", got, want)
	}
}

// levels counts errors one by one.
func levels(list []recoup.Error, now time.Time) []store.Level {
	by := map[string]*store.Level{}
	for _, e := range list {
		if !e.State.Open() {
			continue
		}
		l := by[e.Table]
		if l == nil {
			l = &store.Level{Table: e.Table}
			by[e.Table] = l
		}
		l.Open++
		if e.Blocking {
			l.Blocking++
		}
		if e.State == recoup.Parked || e.State == recoup.Escalated {
			l.Parked++
		}
		if e.State == recoup.Escalated {
			l.Escalated++
		}
		if !e.ExpiresAt.IsZero() {
			l.Expiring++
			l.Used += now.Sub(e.CreatedAt).Seconds() / e.ExpiresAt.Sub(e.CreatedAt).Seconds()
		}
	}
	var sorted []store.Level
	for _, l := range by {
		sorted = append(sorted, *l)
	}
	slices.SortFunc(sorted, func(a, b store.Level) int { return strings.Compare(a.Table, b.Table) })
	return sorted
}

// sameLevel compares sums that were added in another order.
func sameLevel(a, b store.Level) bool { return nearLevel(a, b, 1e-9) }

// aboutLevel compares with sums for which TTLs were rounded.
func aboutLevel(a, b store.Level) bool { return nearLevel(a, b, 1./40) }

func nearLevel(a, b store.Level, within float64) bool {
	near := math.Abs(a.Used-b.Used) <= within*max(1e-9, math.Abs(b.Used))
	a.Used = b.Used
	return near && a == b
}

func levelLives(d *alertDriver) {
	e := d.errors()
	choose := seeded(7)
	for range 8 {
		e.live(choose, 15)
		e.checkLevels()
		d.must(d.store.FoldCounts(d.Context()))
		e.checkLevels()
	}
	if len(levels(e.Known(), e.Now())) < 3 {
		d.Errorf("too little has happened: %+v", levels(e.Known(), e.Now()))
	}
	e.checkCounts()
}

func levelChanges(d *alertDriver) {
	e := d.errors()
	e.Wait(123457 * time.Microsecond)
	a, b := e.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium), e.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Low)
	e.Wait(36 * time.Hour)
	d.wantLevel(e, a, b)
	e.Wait(time.Microsecond)
	repeat := e.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium) // takes over, with a later end
	e.checkLevels()
	parked := e.Park(b.ID, "look")
	e.checkLevels()
	e.Resolve(repeat.ID)
	d.wantLevel(e, parked)
	e.Archive(parked.ID)
	d.wantLevel(e)
	e.Check()
}

// levelOdd has errors live for times of all lengths, and folds between any two
// changes. Once they live as long as the policy says, nothing of that is left.
func levelOdd(d *alertDriver) {
	e := d.errors()
	var born []recoup.Error
	for i := range 40 {
		born = append(born, e.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium))
	}
	e.Wait(time.Hour)
	live := func(long func(i int) time.Duration) {
		d.Helper()
		odd := slices.Clone(born)
		steps := make([]store.Step, len(odd))
		for i := range odd {
			odd[i].ExpiresAt = odd[i].CreatedAt.Add(long(i))
			steps[i] = store.Step{ID: odd[i].ID, Decide: func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
				return odd[i], lifecycle.Effects{}, nil
			}}
		}
		_, err := e.Store.ApplySteps(d.Context(), e.Now(), steps)
		d.must(err)
		for range 2 {
			got, err := d.store.Levels(d.Context(), e.Now())
			d.must(err)
			if want := levels(odd, e.Now()); !slices.EqualFunc(got, want, aboutLevel) {
				d.Fatalf("levels are %+v, want about %+v", got, want)
			}
			d.must(d.store.FoldCounts(d.Context()))
		}
	}
	live(func(i int) time.Duration {
		return time.Duration(20.3 * math.Pow(1.5, float64(i)) * float64(time.Second))
	})
	live(func(i int) time.Duration { return 199_500*time.Millisecond + time.Duration(i*i*i)*time.Minute })
	ttl := born[0].ExpiresAt.Sub(born[0].CreatedAt)
	live(func(int) time.Duration { return ttl })
	d.wantLevel(e, born...)
}

// wantLevel says of which errors the levels must be.
func (d *alertDriver) wantLevel(e *Driver, list ...recoup.Error) {
	d.Helper()
	got, err := d.store.Levels(d.Context(), e.Now())
	d.must(err)
	if want := levels(list, e.Now()); !slices.EqualFunc(got, want, sameLevel) {
		d.Fatalf("levels are %+v, want %+v", got, want)
	}
}

func rawLevelClauses() []alertClause {
	return []alertClause{
		{"what plain SQL writes is in the levels at once, and in the activity when it is admitted", levelRaw},
	}
}

func levelRaw(d *alertDriver) {
	e := d.errors()
	row := e.raw(dol, "e1")
	d.wantLevel(e, row)
	d.wantActivity(ever())
	admitted := e.Admit(row)
	d.wantLevel(e, admitted)
	d.wantActivity(ever(), store.Activity{Table: dol, Reported: 1, NotParked: 1})
	e.Check()
}

func recentClauses() []alertClause {
	return []alertClause{
		{"events of some codes are counted in a span, by code and provider", recentCounted},
	}
}

func recentCounted(d *alertDriver) {
	ledger, ok := d.store.(Ledger)
	if !ok {
		d.Fatalf("the store keeps no events")
	}
	b := NewBookkeeper(d.TB, ledger)
	at := d.now.Truncate(time.Minute)
	var events []store.Event
	add := func(code recoup.Code, provider string, after time.Duration, n int) {
		for range n {
			e := b.Event("api", code, at.Add(after))
			e.ExternalService = provider
			events = append(events, e)
		}
	}
	add("DATABASE_ERROR", "", 0, 2)
	add("DATABASE_ERROR", "", 5*time.Minute-time.Microsecond, 1)
	add("DATABASE_ERROR", "", 5*time.Minute, 4)
	add("DATABASE_ERROR", "", -time.Microsecond, 5)
	add("EXTERNAL_SERVICE_ERROR", "zerobounce", time.Minute, 3)
	add("EXTERNAL_SERVICE_ERROR", "apollo", time.Minute, 2)
	add("EXTERNAL_SERVICE_ERROR", "", 2*time.Minute, 1)
	add("NETWORK_TIMEOUT", "apollo", time.Minute, 9)
	b.Add(events...)
	span := store.Span{From: at, To: at.Add(5 * time.Minute)}
	got, err := d.store.RecentEvents(d.Context(), span, []recoup.Code{"EXTERNAL_SERVICE_ERROR", "DATABASE_ERROR", "VALIDATION_ERROR"})
	d.must(err)
	wantSame(d.serviceDriver, got, []store.RecentCount{
		{Code: "DATABASE_ERROR", N: 3}, {Code: "EXTERNAL_SERVICE_ERROR", N: 1},
		{Code: "EXTERNAL_SERVICE_ERROR", ExternalService: "apollo", N: 2}, {Code: "EXTERNAL_SERVICE_ERROR", ExternalService: "zerobounce", N: 3},
	})
	got, err = d.store.RecentEvents(d.Context(), span, nil)
	d.must(err)
	wantSame(d.serviceDriver, got, nil)
}
