package gatezero

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb/sqldbtest"
)

// Every field of a row has its column.
func TestRowsCoverTheirTypes(t *testing.T) {
	t.Parallel()
	sqldbtest.Covers(t, batchTable, "WindowDays", "Killed")
	sqldbtest.Covers(t, intakeTable)
	sqldbtest.Covers(t, recoveryTable, "CompanyName", "Inconclusive", "LeaseWorker", "LeaseEndsAt", "BatchKilled", "BatchFrozen")
	sqldbtest.Covers(t, leaseTable)
	sqldbtest.Covers(t, airTable, "Inconclusive")
	sqldbtest.Covers(t, sqldb.Table[Case]{Name: "a case", Columns: caseColumns},
		"WindowDays", "Killed", "Inconclusive", "Recovery.CompanyName", "Recovery.LeaseWorker", "Recovery.LeaseEndsAt", "BatchKilled", "BatchFrozen")
}
