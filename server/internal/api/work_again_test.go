package api_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
)

// Work that is finished and is submitted again under its id, with or without an
// Idempotency-Key, is not done again within a day. Work whose dead letter was archived is.
func TestFinishedWorkIsNotDoneAgain(t *testing.T) {
	onBothStores(t, func(w *world) {
		pipeline := w.pipeline("")
		work := recoup.NewWorkItem{WorkID: w.workID(), Pipeline: pipeline, Stage: "fetch", Payload: []byte("in")}
		claimed := func(headers ...string) []recoup.ClaimedWork {
			w.Helper()
			var out recoup.WorkBatch
			w.post("/v1/work", recoup.NewWorkBatch{Work: []recoup.NewWorkItem{work}}, headers...).ok(&out)
			if r := out.Items[0].Result; r == nil || r.WorkID != work.WorkID || r.Pipeline != pipeline {
				w.Fatalf("submitted as %+v", out.Items[0])
			}
			return w.claimWork(pipeline, "fetch")
		}
		end := func(held []recoup.ClaimedWork, how string, failure *recoup.StageFailure) (done recoup.WorkDone) {
			w.Helper()
			if len(held) != 1 {
				w.Fatalf("claimed %d", len(held))
			}
			w.post("/v1/work/"+held[0].WorkID.String()+"/"+how, recoup.WorkResult{LeaseToken: held[0].LeaseToken, Failure: failure}).ok(&done)
			return done
		}
		end(claimed("Idempotency-Key", "monday"), "succeed", nil)
		for range 2 {
			if again := claimed(); len(again) > 0 {
				w.Fatal("finished work is handed out again")
			}
			if again := claimed("Idempotency-Key", "tuesday"); len(again) > 0 {
				w.Fatal("finished work is handed out again under another key")
			}
		}
		w.wait(day + time.Second)
		end(claimed(), "succeed", nil)

		work.WorkID = w.workID()
		failure := w.breakdown("")
		dead := end(claimed(), "fail", &failure).DeadLetter
		w.act(recoup.Error{ID: dead.ErrorID}, "archive", recoup.Act{})
		end(claimed(), "succeed", nil)
	})
}
