package notify_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// TestDigestOfASweep wants the owner of errors that expire together to be notified once:
// how many they are, the first of them, and where the others are found.
func TestDigestOfASweep(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		var acts []conformance.Act
		var last recoup.Error
		for i := range 12 {
			last = w.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium)
			acts = append(acts, conformance.Act{ID: last.ID, Input: lifecycle.Expire{}})
		}
		w.WaitUntil(last.ExpiresAt)
		if _, err := w.TryActs(t.Context(), acts...); err != nil {
			t.Fatal(err)
		}
		w.pending(1)
		w.run()
		said := text(w.got(w.chat, 1)[0])
		for _, want := range []string{"12 errors expired and unblocked", "10 × NETWORK_TIMEOUT in " + dol, "12 in this table: recoup errors list --archived --table " + dol,
			"https://recoup.example.com/console/errors/" + acts[0].ID.String(), "2 more"} {
			if !strings.Contains(said, want) {
				t.Errorf("nothing is said of %q: %s", want, said)
			}
		}
		w.pending(0)
	})
}
