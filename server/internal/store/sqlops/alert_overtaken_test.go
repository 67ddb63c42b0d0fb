package sqlops

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// An evaluation of an alert is refused if another one has come first.
func TestOvertaken(t *testing.T) {
	fired := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	one, other := recoup.ID{1}, recoup.ID{2}
	alert := func(change func(*wire.Alert)) wire.Alert {
		a := wire.Alert{ID: one, Rule: "park-rate", Scope: "platform", Notified: 1, FiredAt: fired}
		change(&a)
		return a
	}
	for name, c := range map[string]struct {
		open  wire.Alert
		isNew bool
		want  bool
	}{
		"the same":                  {alert(func(*wire.Alert) {}), false, false},
		"less was sent":             {alert(func(a *wire.Alert) { a.Notified = 0 }), false, false},
		"more was sent":             {alert(func(a *wire.Alert) { a.Notified = 2 }), false, true},
		"fired at another time":     {alert(func(a *wire.Alert) { a.FiredAt = fired.Add(time.Minute) }), false, true},
		"not fired yet":             {alert(func(a *wire.Alert) { a.FiredAt = time.Time{} }), false, false},
		"another episode is open":   {alert(func(a *wire.Alert) { a.ID = other }), true, true},
		"another episode, known":    {alert(func(a *wire.Alert) { a.ID = other }), false, false},
		"an episode of another hub": {alert(func(a *wire.Alert) { a.ID, a.Scope = other, "sales" }), true, false},
	} {
		if got := overtaken(alert(func(*wire.Alert) {}), c.isNew, []wire.Alert{c.open}, []recoup.ID{one}); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}
