package notify_test

import (
	"fmt"
	"net/http"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// An incident that errors have opened is resolved when the last of them has ended:
// resolved, archived by hand or expired.
func TestIncidentOfErrorsIsResolved(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		events := func() (list []string) {
			w.run()
			for _, body := range w.pager.bodies() {
				list = append(list, fmt.Sprint(body["event_action"], " ", body["dedup_key"]))
			}
			return list
		}
		var made []recoup.Error
		for i := range 3 {
			made = append(made, w.Report(dol, fmt.Sprint("e", i), "RUNTIME_BUG", recoup.Medium))
		}
		other := w.Report(dol, "other", "NETWORK_TIMEOUT", recoup.Medium) // nobody is called for it
		incident := "recoup:PAGE:platform-team:" + dol + ":RUNTIME_BUG"
		if got := events(); !slices.Equal(got, []string{"trigger " + incident}) {
			t.Fatalf("opened: %q", got)
		}
		w.Resolve(other.ID)
		w.Resolve(made[0].ID)
		w.Archive(made[1].ID)
		if got := events(); slices.Contains(got, "resolve "+incident) {
			t.Errorf("it is resolved while an error is open: %q", got)
		}
		w.WaitUntil(made[2].ExpiresAt)
		w.Apply(made[2].ID, lifecycle.Expire{})
		got := events()
		if got[len(got)-1] != "resolve "+incident {
			t.Errorf("in the end: %q", got)
		}
		w.Archive(made[0].ID) // its end was notified already
		if again := events(); len(again) != len(got) {
			t.Errorf("notified again: %q", again[len(got):])
		}
	})
}

// An end is notified after its beginning, also where the beginning could not be sent
// at first: an incident is never opened after it was resolved.
func TestBeginningsComeFirst(t *testing.T) {
	const alert = `{"page":true,"alerts":[{"alert_id":"01900000-0000-7000-8000-000000000001","rule":"r","severity":"CRITICAL","condition":"c","since":"2026-02-02T08:00:00Z","notified":1}]}`
	for name, row := range map[string]struct{ begin, end func(*world) }{
		"page": {
			func(w *world) { w.Report(dol, "e", "RUNTIME_BUG", recoup.Medium) },
			func(w *world) { w.Resolve(w.pending(2)[0].ErrorID) },
		},
		"alert": {
			func(w *world) { w.enqueue(notice(wire.NoticeAlert, "platform-team", alert)) },
			func(w *world) { w.enqueue(notice(wire.NoticeAlertResolved, "platform-team", alert)) },
		},
		"job": {
			func(w *world) { w.enqueue(notice(wire.NoticeJobLate, "platform-team", `{"job":"sweep"}`)) },
			func(w *world) { w.enqueue(notice(wire.NoticeJobRecovered, "platform-team", `{"job":"sweep"}`)) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			onBoth(t, func(t *testing.T, db database) {
				w := newWorld(t, db)
				w.pager.next(status(http.StatusInternalServerError))
				row.begin(w)
				w.run()
				w.Wait(time.Microsecond)
				row.end(w)
				w.run()
				for range 20 {
					w.Wait(time.Minute)
					w.run()
				}
				w.pending(0)
				var got []string
				for _, body := range w.pager.bodies() {
					got = append(got, fmt.Sprint(body["event_action"]))
				}
				if want := []string{"trigger", "trigger", "resolve"}; !slices.Equal(got, want) {
					t.Errorf("notified was %q, want %q", got, want)
				}
			})
		})
	}
}

// A job that is late again is notified after the end of the last time.
func TestJobLateAgain(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		enqueue := func(kind wire.NoticeKind) {
			w.enqueue(notice(kind, "platform-team", `{"job":"sweep"}`))
			w.run()
			w.Wait(time.Microsecond)
		}
		enqueue(wire.NoticeJobLate)
		w.pager.next(status(http.StatusInternalServerError))
		enqueue(wire.NoticeJobRecovered)
		enqueue(wire.NoticeJobLate)
		for range 20 {
			w.Wait(10 * time.Second)
			w.run()
		}
		w.pending(0)
		var got []string
		for _, body := range w.pager.bodies() {
			got = append(got, fmt.Sprint(body["event_action"]))
		}
		if want := []string{"trigger", "resolve", "resolve", "trigger"}; !slices.Equal(got, want) {
			t.Errorf("notified was %q, want %q", got, want)
		}
	})
}

// A beginning that is given up holds nothing up, and one for another channel neither.
func TestGivenUpBeginningHoldsNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		w.pager.next(status(http.StatusBadRequest)) // for good
		w.chat.now(status(http.StatusInternalServerError))
		e := w.Report(dol, "e", "RUNTIME_BUG", recoup.Medium)
		w.run()
		w.Resolve(e.ID)
		w.run()
		if got := w.got(w.pager, 2)[1]["event_action"]; got != "resolve" {
			t.Errorf("notified was %v", got)
		}
	})
}
