package forecast_test

import (
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/internal/forecast"
)

const every = 10 * time.Minute

func steady(n int, per int64) []int64 {
	list := make([]int64, n)
	for i := range list {
		list[i] = per
	}
	return list
}

// What an operator would say of these queues.
func TestQueue(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name      string
		waiting   int64
		new, done []int64
		want      forecast.Verdict
	}{
		{"nothing waits", 0, steady(6, 9), steady(6, 1), forecast.Empty},
		{"nothing happens", 100, steady(6, 0), steady(6, 0), forecast.TooLittle},
		{"nineteen events are none", 100, steady(6, 0), []int64{19, 0, 0, 0, 0, 0}, forecast.TooLittle},
		{"two intervals show no spread", 100, steady(2, 0), steady(2, 100), forecast.TooLittle},
		{"more is done than comes", 1204, steady(6, 60), steady(6, 410), forecast.Drains},
		{"more comes than is done", 1204, steady(6, 410), steady(6, 60), forecast.Grows},
		{"as much comes as is done", 1204, steady(6, 400), steady(6, 401), forecast.Unsure},
		{"nobody works, and more comes", 1204, steady(6, 100), steady(6, 0), forecast.Grows},
		{"nobody works, and all came at once", 40, []int64{0, 0, 0, 0, 0, 40}, steady(6, 0), forecast.Grows},
		{"it would take years", 1 << 40, steady(6, 0), steady(6, 100), forecast.Grows},
	} {
		if got := forecast.Queue(c.waiting, forecast.Pace{Every: every, New: c.new, Done: c.done}); got.Verdict != c.want {
			t.Errorf("%s: %+v, want %s", c.name, got, c.want)
		}
	}
	o := forecast.Queue(1204, forecast.Pace{Every: every, New: steady(6, 60), Done: steady(6, 410)})
	if o.DonePerMinute != 41 || o.NewPerMinute != 6 || o.Earliest > 35*time.Minute || o.Latest < 34*time.Minute || o.Latest > time.Hour {
		t.Errorf("it is %+v", o)
	}
}

func drawPace(t *rapid.T) forecast.Pace {
	n := rapid.IntRange(0, 24).Draw(t, "intervals")
	counts := rapid.SliceOfN(rapid.Int64Range(0, 5000), n, n)
	return forecast.Pace{Every: every, New: counts.Draw(t, "new"), Done: counts.Draw(t, "done")}
}

// Whatever the counts: a range is one, more to do takes no less time, more done no more.
func TestQueueProperties(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p, waiting := drawPace(t), rapid.Int64Range(0, 1<<40).Draw(t, "waiting")
		o := forecast.Queue(waiting, p)
		switch o.Verdict {
		case forecast.Drains:
			if o.Earliest <= 0 || o.Latest < o.Earliest {
				t.Fatalf("from %v to %v", o.Earliest, o.Latest)
			}
		case forecast.Unsure:
			if o.Earliest <= 0 || o.Latest != 0 {
				t.Fatalf("from %v to %v", o.Earliest, o.Latest)
			}
		default:
			if o.Earliest != 0 || o.Latest != 0 {
				t.Fatalf("%s from %v to %v", o.Verdict, o.Earliest, o.Latest)
			}
		}
		more := forecast.Queue(waiting+rapid.Int64Range(0, 1000).Draw(t, "more"), p)
		if o.Earliest > 0 && more.Earliest > 0 && more.Earliest < o.Earliest {
			t.Fatalf("more takes %v, and less %v", more.Earliest, o.Earliest)
		}
		faster := forecast.Pace{Every: p.Every, New: p.New}
		for _, n := range p.Done {
			faster.Done = append(faster.Done, n+100)
		}
		if f := forecast.Queue(waiting, faster); o.Earliest > 0 && f.Earliest > o.Earliest {
			t.Fatalf("who does more needs %v, and less %v", f.Earliest, o.Earliest)
		}
	})
}
