package forecast_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/forecast"
)

const quarter = 6 * time.Hour

// at is n deadlines at one moment.
func at(in time.Duration, n int64) forecast.Deadlines {
	return forecast.Deadlines{From: in, To: in, N: n}
}

// What a person would say who looks at these park queues.
func TestMissing(t *testing.T) {
	t.Parallel()
	const day = 24 * time.Hour
	week := func(perDay int64) []int64 { return steady(28, perDay/4) } // by quarters of a day
	for _, c := range []struct {
		name         string
		list         []forecast.Deadlines
		overdue      int64
		new, reached []int64
		want         forecast.Verdict
		fewest, most int64
		first        time.Duration
	}{
		{"nothing has a deadline", nil, 0, week(40), week(40), forecast.Empty, 0, 0, 0},
		{"what is past is none that is missed", []forecast.Deadlines{at(-time.Hour, 9)}, 9, week(40), week(40), forecast.Empty, 0, 0, 0},
		{"nobody knows this queue", []forecast.Deadlines{at(day, 5)}, 0, steady(28, 0), steady(28, 0), forecast.TooLittle, 0, 0, 0},
		{"a queue of an hour has no pace", []forecast.Deadlines{at(day, 50)}, 0, append(steady(26, 0), 25, 25), steady(28, 0), forecast.TooLittle, 0, 0, 0},
		{"there is time enough", []forecast.Deadlines{at(day, 10), at(2*day, 10)}, 0, week(40), week(40), forecast.InTime, 0, 0, 0},
		{"nobody comes at all", []forecast.Deadlines{at(day, 10), at(9*day, 10)}, 0, week(40), week(0), forecast.Misses, 20, 20, day},
		{"forty a day, and a hundred are due tomorrow", []forecast.Deadlines{at(day, 100)}, 0, week(40), week(40), forecast.Misses, 57, 64, day},
		{"the first day is met, and the second not", []forecast.Deadlines{at(day, 10), at(2*day, 200)}, 0, week(40), week(40), forecast.Misses, 123, 138, 2 * day},
		{"what is overdue comes first", []forecast.Deadlines{at(day, 10)}, 100, week(40), week(40), forecast.Misses, 10, 10, day},
		{"it could be either", []forecast.Deadlines{at(day, 41)}, 0, week(40), week(40), forecast.MayMiss, 0, 5, day},
	} {
		got := forecast.Missing(c.list, c.overdue, forecast.Pace{Every: quarter, New: c.new, Done: c.reached})
		if got.Verdict != c.want || got.Fewest != c.fewest || got.Most != c.most || got.First != c.first {
			t.Errorf("%s: %+v, want %s %d to %d, the first in %v", c.name, got, c.want, c.fewest, c.most, c.first)
		}
	}
}

func drawDeadlines(t *rapid.T) (list []forecast.Deadlines) {
	from := rapid.Int64Range(-100, 100).Draw(t, "hours from now")
	for range rapid.IntRange(0, 12).Draw(t, "stretches") {
		to := from + rapid.Int64Range(0, 60).Draw(t, "hours")
		list = append(list, forecast.Deadlines{From: time.Duration(from) * time.Hour, To: time.Duration(to) * time.Hour, N: rapid.Int64Range(0, 300).Draw(t, "n")})
		from = to
	}
	return list
}

// Whatever the counts: a range is one and no more than there is, the verdict says the same
// as the figures, who does more misses no more, and finer stretches lie within the range.
func TestMissingProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, list, overdue := drawPace(t), drawDeadlines(t), rapid.Int64Range(0, 500).Draw(t, "overdue")
		m := forecast.Missing(list, overdue, p)
		if m.Fewest < 0 || m.Most < m.Fewest || m.Most > m.Of {
			t.Fatalf("%d to %d of %d", m.Fewest, m.Most, m.Of)
		}
		said := map[forecast.Verdict]bool{
			forecast.Empty: m.Of == 0, forecast.TooLittle: m.Of > 0 && m.Most == 0, forecast.InTime: m.Of > 0 && m.Most == 0,
			forecast.MayMiss: m.Fewest == 0 && m.Most > 0, forecast.Misses: m.Fewest > 0,
		}
		if !said[m.Verdict] || (m.First > 0) != (m.Most > 0) {
			t.Fatalf("says %+v", m)
		}
		if m.Verdict == forecast.TooLittle || m.Verdict == forecast.Empty {
			return
		}
		faster := forecast.Pace{Every: p.Every, New: p.New}
		for _, n := range p.Done {
			faster.Done = append(faster.Done, n+50)
		}
		if f := forecast.Missing(list, overdue, faster); p.Done[0]+p.New[0] > 0 && (f.Fewest > m.Fewest || f.Most > m.Most) {
			t.Fatalf("who does more misses %d to %d, and less %d to %d", f.Fewest, f.Most, m.Fewest, m.Most)
		}
		var fine []forecast.Deadlines // every deadline at its own moment, wherever that lies in its stretch
		for _, d := range list {
			for range d.N {
				in := d.From + time.Duration(rapid.Int64Range(0, int64(d.To-d.From)).Draw(t, "in"))
				fine = append(fine, at(max(in, 1), 1))
			}
			if d.To <= 0 {
				fine = fine[:len(fine)-int(d.N)]
			}
		}
		if f := forecast.Missing(fine, overdue, p); f.Fewest < m.Fewest || f.Most > m.Most {
			t.Fatalf("known exactly, %d to %d are missed, and in stretches %d to %d", f.Fewest, f.Most, m.Fewest, m.Most)
		}
	})
}
