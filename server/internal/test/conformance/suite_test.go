package conformance

import (
	"testing"
)

// The specification can be kept: maps under a lock keep it.
func TestMemoryKeepsTheSpecification(t *testing.T) {
	Run(t, func(*testing.T) Store { return newMemory() })
}
