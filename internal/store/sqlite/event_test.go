package sqlite_test

import (
	"testing"

	"recoup/internal/store/storetest"
)

func TestLedger(t *testing.T) {
	storetest.RunLedger(t, func(t *testing.T) storetest.Ledger { return open(t) })
}
