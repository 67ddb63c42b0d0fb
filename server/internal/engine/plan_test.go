package engine_test

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// follow puts a policy in force, as a node does before it rebases.
func (w *world) follow(next *policy.Policy) {
	w.Helper()
	if err := w.DB.SyncTables(w.Context(), next); err != nil {
		w.Fatal(err)
	}
	w.Engine.Policies.Use(next)
}

// plan plans and checks that planning changes nothing.
func (w *world) plan(c engine.Caller, next *policy.Policy) engine.Plan {
	w.Helper()
	plan, err := w.Engine.Plan(w.Context(), c, next)
	if err != nil {
		w.Fatal(err)
	}
	return plan
}

func (w *world) rebase(c engine.Caller, next *policy.Policy) engine.RebaseResult {
	w.Helper()
	r, err := w.Engine.Rebase(w.Context(), c, next, "new rules", nil)
	if err != nil {
		w.Fatal(err)
	}
	return r
}

// A plan names what changes, how, where, and what it cannot change.
func TestPlan(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(
			failing(dol, "e1", "NETWORK_TIMEOUT"), // its table ceases to block, and lives shorter
			recoup.Report{Table: dol, EntityID: "e2", Code: "NETWORK_TIMEOUT", Severity: recoup.Critical},
			failing(people, "e3", "NETWORK_TIMEOUT"), // lives shorter
			failing(errorLog, "", "NETWORK_TIMEOUT"), // nothing new
			failing(discovery, "c1", "NETWORK_TIMEOUT"),
			failing(masterLog, "", "NETWORK_TIMEOUT"),
		)
		resolved := w.Report(failing(dol, "e9", "NETWORK_TIMEOUT"))[0]
		w.Act(engine.Act{ID: resolved.ID, Input: lifecycle.Resolve{Reason: "fixed"}})
		next := edited(w.T, "2.0.0", tableText(discovery), "",
			"MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 10d", "team: dol-filings-team", "team: filings",
			"blocks: true\n    because: DOL", "blocks: false\n    because: DOL")
		got := w.plan(ada, next)
		ids := func(i ...int) (list []recoup.ID) {
			for _, k := range i {
				list = append(list, made[k].ID)
			}
			return list
		}
		want := engine.Plan{
			Version: "2.0.0", Open: 6, Moved: 4, Changed: 3,
			Changes: []engine.Change{
				{Kind: engine.ChangeUnblocked, N: 2, IDs: ids(1, 0)},
				{Kind: engine.ChangeSooner, N: 3, IDs: ids(2, 1, 0)},
				{Kind: engine.ChangeOwner, N: 1, IDs: ids(1)},
				{Kind: engine.ChangeDeadlines, N: 2, IDs: ids(2, 0)}, // the notice of an expiry that will unblock
			},
			Tables: []engine.TableChanges{
				{Table: discovery, Open: 1, Changes: map[engine.ChangeKind]int{}},
				{Table: dol, Open: 2, Changed: 2, Changes: map[engine.ChangeKind]int{"unblocked": 2, "expires_sooner": 2, "owner": 1, "deadlines": 1}},
				{Table: people, Open: 1, Changed: 1, Changes: map[engine.ChangeKind]int{"expires_sooner": 1, "deadlines": 1}},
				{Table: errorLog, Open: 1, Changes: map[engine.ChangeKind]int{}},
				{Table: masterLog, Open: 1, Changes: map[engine.ChangeKind]int{}},
			},
			Kept: []engine.Kept{
				{Table: discovery, Gone: true, Reason: "the policy has no such table", N: 1, IDs: ids(4)},
				{Table: masterLog, Reason: "errors of this table are kept for ever, as they are", N: 1, IDs: ids(5)},
			},
		}
		if !reflect.DeepEqual(got, want) {
			w.Errorf("\n got %+v\nwant %+v", got, want)
		}
		if e := w.Read(made[0].ID); e != made[0] {
			w.Errorf("planning changed something")
		}
		w.follow(next)
		if r := w.rebase(ada, next); !reflect.DeepEqual(r.Plan, want) || r.Ended != 0 {
			w.Errorf("\ndid  %+v\nwant %+v", r.Plan, want)
		}
		if gate, err := w.Engine.Gate(w.Context(), "e1"); err != nil || gate.Blocked {
			w.Errorf("e1 is still blocked: %v", err)
		}
		if again := w.rebase(ada, next); again.Current != 4 || again.Moved != 0 || len(again.Kept) != 2 {
			w.Errorf("again: %+v", again)
		}
	})
}

// Each kind of change is called by its name.
func TestKindsOfChange(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(
			failing(dol, "e1", "NETWORK_TIMEOUT"),                                                // parked by a new condition
			failing(discovery, "c1", "DNS_TIMEOUT"),                                              // retried, and blocks
			recoup.Report{Table: dol, EntityID: "e2", Code: "DNS_TIMEOUT", Severity: recoup.Low}, // lives longer
			failing(people, "e3", "DNS_TIMEOUT"),                                                 // may be retried more often
		)
		next := edited(w.T, "2.0.0",
			"codes: [MISSING_REQUIRED_FIELD]", "codes: [MISSING_REQUIRED_FIELD, NETWORK_TIMEOUT]",
			"default: ARCHIVE\n    allowed: [RETRY, ARCHIVE]\n    blocks: false", "default: RETRY\n    allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true",
			"LOW:      {disposition: IGNORE, otherwise: ARCHIVE, ttl: LONG}", "LOW:      {disposition: IGNORE, otherwise: ARCHIVE, ttl: YEAR}",
			"  INFINITE:", "  YEAR: {lasts: 365d, use: \"What may wait\"}\n  INFINITE:",
			"max_retries: 5\n      schedule: {kind: exponential", "max_retries: 6\n      schedule: {kind: exponential")
		want := map[recoup.ID][]engine.ChangeKind{
			made[0].ID: {"disposition", "owner", "retries", "deadlines"},
			made[1].ID: {"blocked", "disposition", "retries", "deadlines"},
			made[2].ID: {"expires_later", "retries"},
			made[3].ID: {"retries"},
		}
		for x, err := range w.Engine.Predict(w.Context(), ada, next) {
			if err != nil || !slices.Equal(x.Changes, want[x.Before.ID]) {
				w.Errorf("%s in %s: %v, %v", x.Before.Code, x.Before.Table, x.Changes, err)
			}
		}
	})
}

// A plan for a key that is for one hub covers that hub only, and so does a rebase.
func TestPlanOfAHub(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"), failing(people, "e1", "NETWORK_TIMEOUT"))
		filer := engine.Caller{Name: "filer", Hubs: []string{"dol-filings"}}
		next := edited(w.T, "2.0.0", "MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 10d")
		if p := w.plan(filer, next); p.Open != 1 || p.Tables[0].Table != dol {
			w.Errorf("plan %+v", p)
		}
		w.follow(next)
		if r := w.rebase(filer, next); r.Moved != 1 || w.Read(made[1].ID) != made[1] || w.Read(made[0].ID).PolicyVersion != "2.0.0" {
			w.Errorf("rebase %+v", r)
		}
		h, err := w.Engine.History(w.Context(), ada, made[0].ID, 10)
		if err != nil || len(h) != 2 || h[1].Input != "rebase" || h[1].Actor != "filer" || h[1].Reason != "new rules" {
			w.Errorf("history %+v, %v", h, err)
		}
	})
}

// A rebase that was cut off has committed whole chunks, and goes on where it was.
func TestRebaseGoesOn(t *testing.T) {
	everywhere(t, func(w *world) {
		var reports []recoup.Report
		for i := range 450 {
			reports = append(reports, failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT"))
		}
		w.Report(reports...)
		next := edited(w.T, "2.0.0", "MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 10d")
		w.follow(next)
		ctx, cancel := context.WithCancel(w.Context())
		var progress []int
		first, err := w.Engine.Rebase(ctx, ada, next, "new rules", func(done, total int) {
			progress = append(progress, done)
			if total != 450 {
				w.Errorf("%d of %d", done, total)
			}
			cancel()
		})
		if !errors.Is(err, context.Canceled) || first.Moved != 200 || !slices.Equal(progress, []int{200}) {
			w.Fatalf("cut off: %v, %d moved, notified %v", err, first.Moved, progress)
		}
		second, err := w.Engine.Rebase(w.Context(), ada, next, "new rules", func(done, _ int) { progress = append(progress, done) })
		if err != nil || second.Current != 200 || second.Moved != 250 || !slices.Equal(progress, []int{200, 200, 400, 450}) {
			w.Errorf("again: %v, %+v, notified %v", err, second, progress)
		}
		if p := w.plan(ada, next); p.Current != 450 || p.Changed != 0 {
			w.Errorf("left: %+v", p)
		}
		if c := first.Changes[0]; c.N != 200 || len(c.IDs) != 100 {
			w.Errorf("%d, %d of them listed", c.N, len(c.IDs))
		}
	})
}

// What the database refuses to change keeps its version, and holds nobody up.
func TestRebaseThatTheDatabaseRefuses(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.Report(failing(people, "e1", "NETWORK_TIMEOUT"), failing(dol, "e2", "NETWORK_TIMEOUT"), failing(people, "e3", "NETWORK_TIMEOUT"))
		next := edited(w.T, "2.0.0", "default: RETRY\n    allowed: [RETRY, PARK, ARCHIVE]\n    blocks: true\n    because: DOL",
			"default: IGNORE\n    allowed: [RETRY, PARK, ARCHIVE, IGNORE]\n    blocks: true\n    because: DOL")
		_, _, err := w.DB.AddPolicy(w.Context(), wire.PolicyVersion{Version: next.Version, Text: next.Text()}, store.Act{By: "ada", Reason: "new rules", At: w.Now()})
		w.Must(err)
		r := w.rebase(ada, next) // of whose tables the store does not know yet
		if r.Moved != 2 || len(r.Kept) != 1 || r.Kept[0].Reason != store.ErrRefused.Error() || r.Kept[0].Table != dol {
			w.Errorf("got %+v", r)
		}
		if w.Read(made[1].ID) != made[1] {
			w.Errorf("it changed")
		}
	})
}

func TestRebaseRefused(t *testing.T) {
	everywhere(t, func(w *world) {
		e := w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))[0]
		_, err := w.Engine.Rebase(w.Context(), ada, edited(w.T, "2.0.0"), " ", nil)
		w.wantFields(err, nil, "reason")
		same := edited(w.T, "1.0.0", "MEDIUM:   {lasts: 30d", "MEDIUM:   {lasts: 10d")
		_, plan := w.Engine.Plan(w.Context(), ada, same)
		_, rebase := w.Engine.Rebase(w.Context(), ada, same, "new rules", nil)
		for _, err := range []error{plan, rebase} {
			var f *fault.Error
			if !errors.As(err, &f) || f.Code != fault.CodeDuplicateRecord {
				w.Errorf("another text of the same version: %v", err)
			}
		}
		if w.Read(e.ID) != e {
			w.Errorf("it changed")
		}
	})
}

// Predictions are read as they are asked for.
func TestPredictStops(t *testing.T) {
	everywhere(t, func(w *world) {
		w.Report(failing(dol, "e1", "NETWORK_TIMEOUT"))
		w.Wait(time.Second)
		newest := w.Report(failing(people, "e2", "NETWORK_TIMEOUT"))[0]
		for x, err := range w.Engine.Predict(w.Context(), ada, edited(w.T, "2.0.0")) {
			if err != nil || x.Before != newest || len(x.Changes) > 0 || x.Kept != nil || x.After.PolicyVersion != "2.0.0" {
				w.Errorf("%v: %+v", err, x)
			}
			break
		}
	})
}
