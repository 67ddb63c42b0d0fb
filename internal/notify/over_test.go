package notify_test

import (
	"fmt"
	"slices"
	"testing"

	"recoup"
	"recoup/internal/lifecycle"
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
		w.Archive(made[0].ID) // it was told already that it has ended
		if again := events(); len(again) != len(got) {
			t.Errorf("told again: %q", again[len(got):])
		}
	})
}
