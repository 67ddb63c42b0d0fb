package notify_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// TestParkedNamesItsCause wants the code of the last failure where it is another one than
// the error was reported with.
func TestParkedNamesItsCause(t *testing.T) {
	onBoth(t, func(t *testing.T, db database) {
		w := newWorld(t, db)
		e := w.ClaimDue(w.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium))
		w.Apply(e.ID, lifecycle.Fail{Token: e.LeaseToken, Failure: conformance.Failure("MISSING_REQUIRED_FIELD")})
		w.Wait(time.Hour)
		w.run()
		const want = "NETWORK_TIMEOUT in outreach.dol_errors, MEDIUM, last attempt failed with MISSING_REQUIRED_FIELD, "
		if said := text(w.got(w.chat, 1)[0]); !strings.Contains(said, want) {
			t.Errorf("the chat says %s", said)
		}
	})
}
