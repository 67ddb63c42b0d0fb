package conformance

import (
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

func processedClauses() []serviceClause {
	return []serviceClause{
		{"what was processed adds up, whoever adds it and whenever", processedAdds},
		{"sums over any span are exact", processedSpans},
		{"a count that cannot be is refused, and all that come with it", processedRefused},
		{"counts of hours that are over are purged, at most so many", processedPurged},
	}
}

func (d *serviceDriver) processed(from, to time.Time, f store.ProcessedFilter) []store.Processed {
	d.Helper()
	list, err := d.store.Processed(d.Context(), store.Span{From: from, To: to}, f)
	d.must(err)
	return list
}

func processedAdds(d *serviceDriver) {
	at := d.now.Truncate(time.Hour)
	d.must(d.store.AddProcessed(d.Context(), nil))
	d.together(8, func(i int) error {
		batch := []store.Processed{
			{Minute: at.Add(59 * time.Second), Table: dol, Service: "api", N: 10, Failed: 1, Duration: time.Millisecond, FailedDuration: time.Microsecond},
			{Minute: at, Table: dol, Service: "api", N: 5, Duration: time.Microsecond},
			{Minute: at.Add(time.Minute), Service: "web", N: 3, Failed: 3},
		}
		if i%2 == 1 {
			batch[0], batch[2] = batch[2], batch[0]
		}
		return d.store.AddProcessed(d.Context(), batch)
	})
	both := []store.Processed{
		{Service: "web", N: 24, Failed: 24},
		{Table: dol, Service: "api", N: 120, Failed: 8, Duration: 8*time.Millisecond + 8*time.Microsecond, FailedDuration: 8 * time.Microsecond},
	}
	wantSame(d, d.processed(at, at.Add(2*time.Minute), store.ProcessedFilter{}), both)
	wantSame(d, d.processed(at, at.Add(time.Hour), store.ProcessedFilter{}), both)
	wantSame(d, d.processed(at, at.Add(time.Hour), store.ProcessedFilter{Table: dol}), both[1:])
	wantSame(d, d.processed(at, at.Add(time.Hour), store.ProcessedFilter{Service: "web"}), both[:1])
	wantSame(d, d.processed(at, at.Add(time.Hour), store.ProcessedFilter{Table: dol, Service: "web"}), nil)
	wantSame(d, d.processed(at.Add(time.Second), at.Add(2*time.Minute), store.ProcessedFilter{}), both[:1])
	wantSame(d, d.processed(at, at.Add(time.Second), store.ProcessedFilter{}), both[1:])
	wantSame(d, d.processed(at.Add(2*time.Minute), at.Add(time.Hour), store.ProcessedFilter{}), nil)
}

func processedSpans(d *serviceDriver) {
	draw := rand.New(rand.NewPCG(1, 2))
	begin := d.now.Truncate(time.Hour)
	var all []store.Processed
	for range 300 {
		n, took := draw.Int64N(100), draw.IntN(1e6)
		all = append(all, store.Processed{Minute: begin.Add(time.Duration(draw.IntN(300)) * time.Minute), Table: dol, Service: "api",
			N: n, Failed: draw.Int64N(n + 1), Duration: time.Duration(took) * time.Microsecond,
			FailedDuration: time.Duration(draw.IntN(took+1)) * time.Microsecond})
	}
	d.must(d.store.AddProcessed(d.Context(), all))
	for range 40 {
		from := begin.Add(time.Duration(draw.IntN(300*60)) * time.Second)
		to := from.Add(time.Duration(draw.IntN(200*60)) * time.Second)
		want := store.Processed{Table: dol, Service: "api"}
		for _, c := range all {
			if !c.Minute.Before(from) && c.Minute.Before(to) {
				want.N, want.Failed, want.Duration = want.N+c.N, want.Failed+c.Failed, want.Duration+c.Duration
				want.FailedDuration += c.FailedDuration
			}
		}
		got := d.processed(from, to, store.ProcessedFilter{})
		if want.N == 0 && len(got) == 0 {
			continue
		}
		wantSame(d, got, []store.Processed{want})
	}
}

func processedRefused(d *serviceDriver) {
	good := store.Processed{Minute: d.now, Table: dol, N: 2, Failed: 1}
	d.must(d.store.AddProcessed(d.Context(), []store.Processed{good}))
	for _, bad := range []store.Processed{
		{Minute: d.now, Service: "x", N: -1}, {Minute: d.now, Service: "x", N: 1, Failed: 2},
		{Minute: d.now, Service: "x", N: 1, Failed: -1}, {Minute: d.now, Service: "x", N: 1, Duration: -time.Second},
		{Minute: d.now, Table: dol, N: -1, Failed: -1}, {Minute: d.now, Service: "x", N: 1, Failed: 1, FailedDuration: -time.Second},
		{Minute: d.now, Service: "x", N: 1, Failed: 1, Duration: time.Second, FailedDuration: 2 * time.Second},
	} {
		d.wantErr(d.store.AddProcessed(d.Context(), []store.Processed{good, bad}[1:]), store.ErrRefused)
	}
	d.wantErr(d.store.AddProcessed(d.Context(), []store.Processed{good, {Minute: d.now, Service: "x", N: -1}}), store.ErrRefused)
	wantSame(d, d.processed(d.now.Add(-time.Hour), d.now.Add(time.Hour), store.ProcessedFilter{}), []store.Processed{{Table: dol, N: 2, Failed: 1}})
}

func processedPurged(d *serviceDriver) {
	begin := d.now.Truncate(time.Hour)
	var minutes []store.Processed
	for i := range 180 {
		minutes = append(minutes, store.Processed{Minute: begin.Add(time.Duration(i) * time.Minute), Table: dol, N: 1})
	}
	d.must(d.store.AddProcessed(d.Context(), minutes))
	purge := func(before time.Time, limit, want int) {
		n, err := d.store.PurgeProcessed(d.Context(), before, limit)
		if d.must(err); n != want {
			d.Fatalf("%d counts were purged, want %d", n, want)
		}
	}
	purge(begin.Add(59*time.Minute), 1000, 0)
	purge(begin.Add(119*time.Minute), 50, 51)
	purge(begin.Add(119*time.Minute), 50, 10)
	purge(begin.Add(119*time.Minute), 50, 0)
	wantSame(d, d.processed(begin, begin.Add(3*time.Hour), store.ProcessedFilter{}), []store.Processed{{Table: dol, N: 120}})
	wantSame(d, d.processed(begin, begin.Add(61*time.Minute), store.ProcessedFilter{}), []store.Processed{{Table: dol, N: 1}})
}
