package api_test

import (
	"context"
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func (n *notifier) ClaimWork(ctx context.Context, claim store.WorkClaim) ([]recoup.WorkItem, error) {
	claimed, err := n.Store.ClaimWork(ctx, claim)
	if len(claimed) == 0 {
		n.claims <- struct{}{}
	}
	return claimed, err
}

// A key that is revoked ends its long polls too, whether it was revoked here or on
// another node; one that was replaced without overlap is as good as revoked.
func TestEndOfAKeyEndsItsLongPolls(t *testing.T) {
	t.Parallel()
	for name, end := range map[string]func(w *world, k wire.Key){
		"revoked here": func(w *world, k wire.Key) { w.post("/v1/keys/"+k.ID.String()+"/revoke", object{}).ok() },
		"rotated":      func(w *world, k wire.Key) { w.post("/v1/keys/"+k.ID.String()+"/rotate", object{"hours": 0}).ok() },
		"revoked elsewhere": func(w *world, k wire.Key) {
			if _, err := w.store.RevokeKey(w.Context(), k.ID, act(w)); err != nil {
				w.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := newNotifier()
			w := newWorld(t, n.option())
			var made wire.Key
			w.post("/v1/keys", wire.NewKey{Name: "n", Role: "worker"}).ok(&made)
			key := w.use(made)
			errors := w.later(key, http.MethodPost, "/v1/retries/claim", recoup.RetryClaim{Worker: "w", WaitSeconds: 60})
			work := w.later(key, http.MethodPost, "/v1/work/claim", recoup.WorkClaim{
				Lanes: []recoup.Lane{{Pipeline: "p", Stage: "s"}}, Worker: "w", WaitSeconds: 60,
			})
			<-n.claims
			<-n.claims
			end(w, made)
			code := fault.CodeInvalidAPIKey
			if name == "rotated" {
				code = fault.CodeAPIKeyExpired
			}
			(<-errors).failed(http.StatusUnauthorized, code)
			(<-work).failed(http.StatusUnauthorized, code)
			w.do(key, http.MethodGet, "/v1/policy", nil).failed(http.StatusUnauthorized, code)
		})
	}
}

// The audit distinguishes keys of one name.
func TestAuditNamesTheKey(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{"sqlite": newWorld(t), "postgres": newPostgresWorld(t)} {
		var made [2]wire.Key
		for i := range made {
			w.post("/v1/keys", wire.NewKey{Name: "ada", Role: "admin"}).ok(&made[i])
			w.do(w.use(made[i]), http.MethodPost, "/v1/pauses", recoup.NewPause{PauseScope: recoup.PauseScope{Pipeline: w.pipeline("")}, Reason: "a try"}).ok()
		}
		var page wire.AuditPage
		w.get("/v1/audit?actor=ada").ok(&page)
		if len(page.Entries) != 2 || page.Entries[0].KeyID != made[1].ID || page.Entries[1].KeyID != made[0].ID {
			t.Errorf("%s: the audit is %+v", name, page.Entries)
		}
		w.get("/v1/audit?act=key.create&actor=admin").ok(&page)
		if len(page.Entries) != 2 || page.Entries[0].KeyID.IsZero() {
			t.Errorf("%s: the audit is %+v", name, page.Entries)
		}
	}
}

// Whoever asks with a token that has ended is answered so, and not that the work has
// come nowhere: also of work that is done, and of work that never was.
func TestProgressOfALostLease(t *testing.T) {
	t.Parallel()
	for name, w := range map[string]*world{"sqlite": newWorld(t), "postgres": newPostgresWorld(t)} {
		held := w.held()
		at := "/v1/work/" + held.WorkID.String()
		w.post(at+"/progress", recoup.WorkLease{LeaseToken: held.LeaseToken}).ok()
		w.post(at+"/succeed", recoup.WorkResult{LeaseToken: held.LeaseToken}).ok()
		t.Log(name)
		w.post(at+"/progress", recoup.WorkLease{LeaseToken: held.LeaseToken}).failed(http.StatusConflict, fault.CodeLeaseLost)
		w.post("/v1/work/"+w.workID().String()+"/progress", recoup.WorkLease{LeaseToken: held.LeaseToken}).failed(http.StatusConflict, fault.CodeLeaseLost)
		w.post(at+"/progress", recoup.WorkLease{}).ok()
	}
}
