package store_test

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb/sqldbtest"
)

// Every field of a row has its column: what one row holds in all of them is all
// that another has to be given to be the same.
func TestRowsCoverTheirTypes(t *testing.T) {
	t.Parallel()
	sqldbtest.Covers(t, sqldb.Table[recoup.Error]{Name: "an error", Columns: slices.Concat(store.OpenErrors.Columns, store.Leases, store.Archiving)})
	sqldbtest.Covers(t, store.History)
	sqldbtest.Covers(t, store.Keys, "Secret")
	sqldbtest.Covers(t, store.PolicyVersions)
	sqldbtest.Covers(t, store.PlatformKeys)
	sqldbtest.Covers(t, store.Audits)
	sqldbtest.Covers(t, store.Terms)
	sqldbtest.Covers(t, store.Jobs)
	sqldbtest.Covers(t, store.Heartbeats)
	sqldbtest.Covers(t, store.Alerts, "Silenced")
	sqldbtest.Covers(t, store.Silences)
	sqldbtest.Covers(t, store.Providers, "Members")
	sqldbtest.Covers(t, store.Notices, "State", "Channel", "CopyOf", "Message")
	sqldbtest.Covers(t, store.StoredReceipts)
	sqldbtest.Covers(t, store.Events, "Tenant", "Timeless", "Details")
	sqldbtest.Covers(t, store.Activities)
	sqldbtest.Covers(t, store.DeadLetters, "DeadLetterStatus")
	sqldbtest.Covers(t, store.Rounds)
	sqldbtest.Covers(t, store.Notes)
	sqldbtest.Covers(t, store.Groups, "Open", "Total")
	sqldbtest.Covers(t, store.Payloads)
	sqldbtest.Covers(t, store.Checkpoints)
	sqldbtest.Covers(t, store.WorkQueue, "Repeated")
	sqldbtest.Covers(t, store.Pauses)
	sqldbtest.Covers(t, store.Replays, "Step", "Counts")
	sqldbtest.Covers(t, store.ReplayItems)
}
