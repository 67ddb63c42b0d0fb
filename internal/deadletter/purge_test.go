package deadletter_test

import (
	"testing"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Retention deletes all that is due, also if that is more than one chunk.
func TestPurgeGoesOn(t *testing.T) {
	everywhere(t, func(w *world) {
		for range store.MaxPage + 1 {
			w.must(w.db.SaveCheckpoint(w.Context(), recoup.ID{}, store.Checkpoint{WorkID: w.id(), Stage: "llm", KeyID: "k", Sealed: []byte("x"), At: w.clock()}))
		}
		w.wait(w.Policies.Current().CheckpointRetention + time.Second)
		w.must(w.Purge(w.Context()))
		left, err := w.db.PurgeCheckpoints(w.Context(), w.clock(), store.MaxPage)
		if w.must(err); left > 0 {
			w.Errorf("%d are left", left)
		}
	})
}
