package deadletter_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/deadletter"
)

// The output of a stage has a largest size.
func TestCheckCheckpoint(t *testing.T) {
	if err := deadletter.CheckCheckpoint("import", make([]byte, deadletter.MaxCheckpoint)); err != nil {
		t.Error(err)
	}
	if deadletter.CheckCheckpoint("import", make([]byte, deadletter.MaxCheckpoint+1)) == nil {
		t.Error("an output that is too large is accepted")
	}
}
