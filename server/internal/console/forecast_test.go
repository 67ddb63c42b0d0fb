package console

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A forecast is said in words, what will not drain first, and nothing is said of what is
// empty.
func TestForecastRows(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.UTC)
	rows := forecastRows(&wire.Forecast{At: now, Queues: []wire.QueueForecast{
		{Table: "a", Verdict: "empty"},
		{Table: "b", Verdict: "drains", Due: 1204, Waiting: 1300, DonePerMinute: 41, NewPerMinute: 6, EmptyFrom: now.Add(30 * time.Minute), EmptyBy: now.Add(2 * time.Hour)},
		{Pipeline: "news", Verdict: "too_little_data", Due: 3},
		{Table: "c", Verdict: "will_not_drain", Due: 212, NewPerMinute: 3.25},
	}, Park: []wire.ParkForecast{
		{Table: "d", Waiting: 9, Reviews: wire.DeadlineForecast{Verdict: "in_time"}, Expiries: wire.DeadlineForecast{Verdict: "in_time"}},
		{
			Table: "e", Waiting: 60, ClearedPerDay: 8, NewPerDay: 24, ReviewedPerDay: 8.5,
			Reviews:  wire.DeadlineForecast{Verdict: "may_miss", Of: 40, Most: 12, First: now.Add(3 * time.Hour)},
			Expiries: wire.DeadlineForecast{Verdict: "will_miss", Of: 60, Fewest: 37, Most: 41, First: now.Add(5 * 24 * time.Hour)},
		},
		{Table: "f", Waiting: 2, Reviews: wire.DeadlineForecast{Verdict: "too_little_data", Of: 2}},
	}})
	want := []forecastRow{
		{"c", "will not drain", "212 due, 0 waiting · 0 a minute done · 3.2 a minute new", true},
		{"Park queue of e", "37 to 41 expire first, from 5 d on; up to 12 reviews missed, from 3 h on", "60 parked · 8.0 a day cleared · 8.5 a day reviewed · 24 a day new", true},
		{"b", "clear in 30 min to 2 h", "1,204 due, 1,300 waiting · 41 a minute done · 6.0 a minute new", false},
		{"news", "too little data", "3 due, 0 waiting · 0 a minute done · 0 a minute new", false},
		{"Park queue of d", "deadlines in time", "9 parked · 0 a day cleared · 0 a day reviewed · 0 a day new", false},
		{"Park queue of f", "too little data", "2 parked · 0 a day cleared · 0 a day reviewed · 0 a day new", false},
	}
	if len(rows) != len(want) {
		t.Fatalf("the rows are %+v", rows)
	}
	for i := range want {
		if rows[i] != want[i] {
			t.Errorf("row %d is\n%+v, want\n%+v", i, rows[i], want[i])
		}
	}
}
