package sqlite_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestGate(t *testing.T) {
	t.Parallel()
	conformance.RunGate(t, func(t *testing.T) conformance.Gate { return open(t) })
}
