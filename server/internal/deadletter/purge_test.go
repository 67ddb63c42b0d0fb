package deadletter_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Retention deletes all that is due, also if that is more than one chunk.
func TestPurgeGoesOn(t *testing.T) {
	everywhere(t, func(w *world) {
		for range sqldb.MaxPage + 1 {
			w.must(w.db.SaveCheckpoint(w.Context(), recoup.ID{}, store.Checkpoint{WorkID: w.id(), Stage: "llm", KeyID: "k", Sealed: []byte("x"), At: w.clock()}))
		}
		w.wait(w.Policies.Current().CheckpointRetention + time.Second)
		w.must(w.Purge(w.Context()))
		left, err := w.db.PurgeCheckpoints(w.Context(), w.clock(), sqldb.MaxPage)
		if w.must(err); left > 0 {
			w.Errorf("%d are left", left)
		}
	})
}

// A replay that has ended is kept for as long as the policy says.
func TestReplaysAreKept(t *testing.T) {
	everywhere(t, func(w *world) {
		w.deadLettered(1)
		r, err := w.shown(recoup.ReplaySelection{Pipeline: pipeline}, recoup.ReplayPlan{Canary: -1})
		w.must(err)
		_, err = w.ActOnReplay(w.Context(), caller(ada), r.ID, deadletter.ActCancel, "wrong fix")
		w.must(err)
		w.advance()
		there := func() bool {
			w.must(w.Purge(w.Context()))
			_, err := w.db.Replay(w.Context(), r.ID)
			return err == nil
		}
		retention := w.Policies.Current().ReplayRetention
		if w.wait(retention - time.Hour); !there() {
			w.Error("it is gone before its time")
		}
		if w.wait(2 * time.Hour); there() {
			w.Error("it is still there")
		}
	})
}
