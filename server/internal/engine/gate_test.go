package engine_test

import (
	"crypto/sha256"
	"errors"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func TestGate(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(
			failing(dol, "e1", "NETWORK_TIMEOUT"),
			recoup.Report{Table: people, EntityID: "e1", Code: "MISSING_NAME", Message: "no name"},
			recoup.Report{Table: dol, EntityID: "e1", Code: "DNS_TIMEOUT", Severity: recoup.Low},
			failing(discovery, "e1", "NETWORK_TIMEOUT"),
		)
		w.Wait(time.Minute)
		late := w.Report(failing(target, "e1", "NETWORK_TIMEOUT"))[0]
		gate, err := w.Engine.Gate(w.Context(), "e1")
		if err != nil || !gate.Blocked || gate.More || len(gate.Blockers) != 3 || !gate.OpensAt.Equal(late.ExpiresAt) {
			w.Fatalf("%+v, %v", gate, err)
		}
		owners := map[recoup.ID]string{made[0].ID: "system", made[1].ID: "people-intelligence-team", late.ID: "system"}
		for _, b := range gate.Blockers {
			if owner, ok := owners[b.ErrorID]; !ok || b.Owner != owner || !b.EndsAt.Equal(w.Read(b.ErrorID).ExpiresAt) {
				w.Errorf("%s of %s ends %v", b.Code, b.Owner, b.EndsAt)
			}
		}
		if open, err := w.Engine.Gate(w.Context(), "e2"); err != nil || open.Blocked || !open.OpensAt.IsZero() {
			w.Errorf("an entity without errors: %+v, %v", open, err)
		}
		_, err = w.Engine.Gate(w.Context(), secret)
		w.wantFields(err, []string{secret}, "entity_id")
	})
}

func TestPromote(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		promotion := recoup.Promotion{EntityID: "e1", Phase: "outreach"}
		_, gate, err := w.Engine.Promote(w.Context(), ada, promotion, nil)
		if !errors.Is(err, store.ErrBlocked) || len(gate.Blockers) != 1 || gate.Blockers[0].ErrorID != e.ID {
			w.Fatalf("%+v, %v", gate, err)
		}
		w.Act(engine.Act{ID: e.ID, Input: lifecycle.Resolve{Reason: "fixed"}})
		receipt := &store.PromotionReceipt{Scope: "test", Key: "k", Hash: sha256.Sum256(nil), ExpiresAt: w.Now().Add(time.Hour)}
		first, _, err := w.Engine.Promote(w.Context(), ada, promotion, receipt)
		if err != nil || first.Seq == 0 || first.By != "ada" || !first.At.Equal(w.Now()) || first.Repeated {
			w.Fatalf("%+v, %v", first, err)
		}
		w.Wait(time.Minute)
		w.Report(failing(dol, "e1", "NETWORK_TIMEOUT")) // the gate is closed again, which changes nothing
		again, _, err := w.Engine.Promote(w.Context(), ada, promotion, receipt)
		want := first
		want.Repeated, again.At, want.At = true, time.Time{}, time.Time{}
		if err != nil || again != want {
			w.Errorf("again %+v, want %+v, %v", again, want, err)
		}
		_, _, err = w.Engine.Promote(w.Context(), ada, recoup.Promotion{EntityID: secret, Phase: "a\tb"}, nil)
		w.wantFields(err, []string{secret}, "entity_id", "phase")
	})
}
