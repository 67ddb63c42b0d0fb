package sqlite_test

import (
	"testing"

	"recoup/internal/store/storetest"
)

func TestGate(t *testing.T) {
	t.Parallel()
	storetest.RunGate(t, func(t *testing.T) storetest.Gate { return open(t) })
}
