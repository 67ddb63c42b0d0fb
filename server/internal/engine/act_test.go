package engine_test

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// What people do leaves their name and a cleaned reason.
func TestActs(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		reason := "because of " + secret
		for _, in := range []lifecycle.Input{
			lifecycle.Park{Reason: recoup.ParkReason(reason), By: "somebody else"},
			lifecycle.Assign{To: "bob", Reason: reason}, lifecycle.Review{Reason: reason}, lifecycle.Escalate{Reason: reason},
			lifecycle.Unpark{Reason: reason}, lifecycle.Resolve{Reason: reason},
		} {
			w.Act(engine.Act{ID: e.ID, Input: in})
		}
		history, err := w.Engine.History(w.Context(), ada, e.ID, 100)
		if err != nil || len(history) != 7 {
			w.Fatalf("%d rows, %v", len(history), err)
		}
		for _, h := range history[1:] {
			if h.Actor != "ada" || strings.Contains(h.Reason, secret) || !strings.HasPrefix(h.Reason, "because of ") {
				w.Errorf("%s by %s: %q", h.Input, h.Actor, h.Reason)
			}
		}
		if kept := w.Read(e.ID); strings.Contains(kept.ResolutionReason, secret) || kept.ResolvedBy != "ada" {
			w.Errorf("resolved by %s: %s", kept.ResolvedBy, kept.ResolutionReason)
		}
	})
}

func TestActsAreCheckedAndAnsweredOneByOne(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "NETWORK_TIMEOUT"))
		out, err := w.Engine.Apply(w.Context(), ada, []engine.Act{
			{ID: made[0].ID, Input: lifecycle.Park{Reason: "look"}},
			{ID: made[0].ID, Input: lifecycle.Park{Reason: "again"}},
			{ID: made[1].ID, Input: lifecycle.Resolve{Reason: "  "}},
			{ID: made[0].ID, Input: lifecycle.Assign{To: secret, Reason: strings.Repeat("x", check.MaxReason+1)}},
			{ID: recoup.ID{1}, Input: lifecycle.Resolve{Reason: "gone"}},
			{ID: made[1].ID, Input: lifecycle.Expire{}},
		})
		if err != nil {
			w.Fatal(err)
		}
		var refusal *lifecycle.Refusal
		if out[0].Err != nil || out[0].Error.State != recoup.Parked || !errors.As(out[1].Err, &refusal) || !errors.Is(out[4].Err, sqldb.ErrNotFound) || out[5].Err == nil {
			w.Errorf("got %v, %v, %v, %v", out[0].Err, out[1].Err, out[4].Err, out[5].Err)
		}
		w.wantFields(out[2].Err, nil, "reason")
		w.wantFields(out[3].Err, []string{secret, "xxx"}, "to", "reason")
		if _, err := w.Engine.Apply(w.Context(), ada, make([]engine.Act, engine.MaxBatch+1)); err == nil {
			w.Errorf("a batch above the limit was taken")
		}
		if _, err := w.Engine.Failure(secret, nil, 0); err == nil {
			w.Errorf("a secret was taken for a code")
		}
	})
}

// A warning is part of the answer, also of a repeated one.
func TestActWithAReceipt(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(recoup.Report{Table: dol, EntityID: "e1", Code: "NETWORK_TIMEOUT", Severity: recoup.Critical})[0]
		w.Wait(e.ExpiresAt.Sub(w.Now()) - time.Second)
		unpark := engine.Act{ID: e.ID, Input: lifecycle.Unpark{Reason: "try"}, Receipt: w.receipt("k", "")}
		first, again := w.Act(unpark), w.Act(unpark)
		if first.Effects.Warning != lifecycle.RetriesOutliveTTL || !again.Repeated || again.Effects.Warning != first.Effects.Warning || again.Error.State != recoup.RetryPending {
			w.Errorf("first %q, again %q (%v)", first.Effects.Warning, again.Effects.Warning, again.Repeated)
		}
		if h, _ := w.Engine.History(w.Context(), ada, e.ID, 10); len(h) != 2 {
			w.Errorf("%d rows of history", len(h))
		}
	})
}

// The third failed lookup of an entity parks, over the engine as in the machine.
func TestStreaksReachTheMachine(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(target, "e1", "DOMAIN_NOT_FOUND"))[0]
		for i, code := range []string{"DNS_TIMEOUT", "DOMAIN_NO_IMPRINT"} {
			failure, err := w.Engine.Failure(code, nil, 0)
			if err != nil {
				w.Fatal(err)
			}
			e = w.Act(engine.Act{ID: e.ID, Input: lifecycle.Fail{Token: w.claimOne(e).LeaseToken, Failure: failure}}).Error
			if parked := e.State == recoup.Parked; parked != (i == 1) {
				w.Fatalf("%s after %d lookups", e.State, i+2)
			}
		}
		if got := w.events(); !slices.Equal(got, []recoup.Code{"DOMAIN_NO_IMPRINT", "DNS_TIMEOUT", "DOMAIN_NOT_FOUND"}) {
			w.Errorf("events %v", got)
		}
	})
}

// A condition that is proven makes a conditional code retryable.
func TestProvenConditions(t *testing.T) {
	everywhere(t, func(w *world) {
		def, _ := w.Engine.Codes().Lookup("SLOT_CONFLICT")
		proven := failing(dol, "e1", "SLOT_CONFLICT")
		proven.Proven = []recoup.Condition{def.Condition}
		made := w.Report(proven, failing(dol, "e2", "SLOT_CONFLICT"))
		if made[0].State != recoup.RetryPending || made[1].State != recoup.Parked {
			w.Errorf("proven %s, unproven %s", made[0].State, made[1].State)
		}
	})
}

func TestExplain(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(discovery, "c1", "NETWORK_TIMEOUT"), failing(masterLog, "", "NETWORK_TIMEOUT"))
		w.Engine.Policies.Use(without(w.T, discovery))
		want := []struct {
			exits []string
			newer bool
		}{
			{[]string{"park", "resolve", "archive"}, true},
			{[]string{"resolve", "archive"}, false},
			{nil, false},
		}
		for i, e := range made {
			x, err := w.Engine.Explain(w.Context(), ada, e.ID)
			if err != nil || !slices.Equal(x.Exits, want[i].exits) || (x.Newer != "") != want[i].newer || x.Policy != "1.0.0" || len(x.Decided) == 0 {
				w.Errorf("%s: %v, exits %v, newer policy %q", e.Table, err, x.Exits, x.Newer)
			}
			if kept := len(x.Next) == 0; kept != (e.Table == masterLog) {
				w.Errorf("%s: next %v", e.Table, x.Next)
			}
		}
		w.Act(engine.Act{ID: made[0].ID, Input: lifecycle.ArchiveNow{Reason: "done"}})
		if x, err := w.Engine.Explain(w.Context(), ada, made[0].ID); err != nil || x.Error.State != recoup.Archived || len(x.Exits)+len(x.Next) > 0 || x.Newer != "" {
			w.Errorf("archived: %+v, %v", x, err)
		}
	})
}
