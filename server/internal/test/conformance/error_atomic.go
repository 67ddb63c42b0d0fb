package conformance

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func atomicity() []clause {
	return []clause{
		{"a verb whose caller gives up half way has done all or nothing, and says which", cancelled},
		{"a verb whose caller has given up already does nothing", cancelledBefore},
		{"what the rules of the database forbid is refused, and nothing of its batch is done", forbidden},
		{"a verb that was refused can be tried again", refusedThenDone},
		{"what a slice attaches to a report is committed with its error, or neither is", attachment},
	}
}

// cancelled cancels each verb while it runs. What it answers must be the truth.
func cancelled(d *Driver) {
	parked := d.Park(d.Report(dol, "parked", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	due := d.Report(people, "due", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(due.NextRetryAt)

	d.giveUp(func(ctx context.Context, cancel func()) error {
		made := make([]decision, 2)
		batch := []store.Report{
			d.report(d.Failing(dol, "new", "NETWORK_TIMEOUT", recoup.Critical), &made[0]),
			d.report(d.Failing(dol, "parked", "NETWORK_TIMEOUT", recoup.Medium), &made[1]),
		}
		batch[1].Decide = after(batch[1].Decide, cancel)
		_, err := d.verb(made, func() ([]store.Outcome, error) { return d.Store.Report(ctx, d.Now(), batch) })
		return err
	})
	d.giveUp(func(ctx context.Context, cancel func()) error {
		made := make([]decision, 2)
		batch := []store.Step{
			{ID: parked.ID, Decide: d.decide(&made[0], lifecycle.Assign{By: "ada", To: "bob"})},
			{ID: parked.ID, Decide: after(d.decide(&made[1], lifecycle.ArchiveNow{By: "ada"}), cancel)},
		}
		_, err := d.verb(made, func() ([]store.Outcome, error) { return d.Store.ApplySteps(ctx, d.Now(), batch) })
		return err
	})
	d.giveUp(func(ctx context.Context, cancel func()) error {
		made := make([]decision, 1)
		claim := store.Claim{Tables: []string{people}, Limit: 10, Now: d.Now()}
		decide := after(d.decide(&made[0], lifecycle.Claim{Token: d.ID(), Worker: "w1"}), cancel)
		claim.Decide = func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return decide(current, 0, now)
		}
		claimed, err := d.Store.ClaimDue(ctx, claim)
		if err == nil {
			d.learnClaims(made, claimed)
		}
		return err
	})
	d.Archive(due.ID)
	d.Check()
}

// giveUp runs a verb that is cancelled on its way: it has done nothing and
// returns the cancellation, or has done everything and returns no error.
func (d *Driver) giveUp(verb func(ctx context.Context, cancel func()) error) {
	d.Helper()
	ctx, cancel := context.WithCancel(d.Context())
	defer cancel()
	if err := verb(ctx, cancel); err != nil && !errors.Is(err, context.Canceled) {
		d.Errorf("a cancelled verb is answered with %v", err)
	}
	d.Check()
}

// after does something when a decision has been made.
func after(decide store.Decide, do func()) store.Decide {
	return func(current *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		defer do()
		return decide(current, streak, now)
	}
}

func cancelledBefore(d *Driver) {
	e := retrying(d)
	d.WaitUntil(e.NextRetryAt)
	ctx, cancel := context.WithCancel(d.Context())
	cancel()
	if _, err := d.TryReport(ctx, d.Failing(dol, "new", "NETWORK_TIMEOUT", recoup.Medium)); err == nil {
		d.Errorf("a report went through")
	}
	if _, err := d.TryActs(ctx, Act{e.ID, lifecycle.Resolve{By: "ada"}}); err == nil {
		d.Errorf("an act went through")
	}
	if _, err := d.TryClaim(ctx, "w1", 10, dol); err == nil {
		d.Errorf("a claim went through")
	}
	if _, _, err := d.Store.Promote(ctx, store.Promotion{ID: d.ID(), Entity: "free", Phase: "next", By: "ada", At: d.Now()}); err == nil {
		d.Errorf("a promotion went through")
	}
	if log := d.gate("free"); len(log) != 0 {
		d.Errorf("the gate tells of %+v", log)
	}
	d.Check()
}

// wrongs are versions that no decision of the state machine makes. A store does
// not know what is right, but it holds errors to their table and never lets
// what is permanent change.
func wrongs() map[string]func(e *recoup.Error) {
	return map[string]func(e *recoup.Error){
		"another table":            func(e *recoup.Error) { e.Table = people },
		"another reported table":   func(e *recoup.Error) { e.ReportedTable = people },
		"another entity":           func(e *recoup.Error) { e.EntityID = "other" },
		"no entity":                func(e *recoup.Error) { e.EntityID, e.Blocking = "", false },
		"another code":             func(e *recoup.Error) { e.Code = "TIMEOUT" },
		"another time of creation": func(e *recoup.Error) { e.CreatedAt = e.CreatedAt.Add(minute) },
		"another correlation":      func(e *recoup.Error) { e.CorrelationID = recoup.ID{1} },
		"a disposition that the table does not allow": func(e *recoup.Error) {
			e.State, e.Disposition, e.Blocking = recoup.Active, recoup.DispositionIgnore, false
		},
		"an open gate":                func(e *recoup.Error) { e.Blocking = false },
		"more retries than allowed":   func(e *recoup.Error) { e.RetryCount = e.MaxRetries + 1 },
		"a park without a reason":     func(e *recoup.Error) { e.State, e.Disposition = recoup.Parked, recoup.DispositionParked },
		"a state that does not exist": func(e *recoup.Error) { e.State = "LOST" },
		"half a resolution":           func(e *recoup.Error) { e.State = recoup.Resolved },
		"a fourth tier":               func(e *recoup.Error) { e.EscalationLevel = recoup.MaxTier + 1 },
	}
}

func forbidden(d *Driver) {
	e, other := retrying(d), retrying(d)
	for name, change := range wrongs() {
		wrong := d.Read(e.ID)
		change(&wrong)
		wrong.ID = e.ID
		d.wantForbidden(name, store.Step{ID: e.ID, Decide: keep(wrong)}, other.ID)
	}
	resolved := d.Resolve(retrying(d).ID)
	reopened := d.Read(resolved.ID)
	reopened.State, reopened.Disposition, reopened.Blocking = recoup.RetryPending, recoup.DispositionRetry, true
	d.wantForbidden("a resolved error that comes back", store.Step{ID: resolved.ID, Decide: keep(reopened)}, other.ID)

	kept := d.Read(d.Report(masterLog, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	changed, archived := kept, kept
	changed.Message = "never mind"
	d.wantForbidden("a changed audit record", store.Step{ID: kept.ID, Decide: keep(changed)}, other.ID)
	archived.State, archived.FinalDisposition, archived.ArchiveReason = recoup.Archived, kept.Disposition, recoup.ManualArchive
	archived.ArchivedAt, archived.ArchivedBy, archived.PurgeAt = d.Now(), "ada", d.Now().Add(365*day)
	d.wantForbidden("an archived audit record", store.Step{ID: kept.ID, Decide: keep(archived)}, other.ID)
}

// wantForbidden says that the store refuses an input, and with it everything that
// is in its batch.
func (d *Driver) wantForbidden(name string, step store.Step, other recoup.ID) {
	d.Helper()
	good := store.Step{ID: other, Decide: d.decide(&decision{}, lifecycle.Park{By: "ada", Reason: "look"})}
	for _, batch := range [][]store.Step{{good, step}, {step, good}} {
		if _, err := d.Store.ApplySteps(d.Context(), d.Now(), batch); !errors.Is(err, store.ErrRefused) {
			d.Fatalf("%s is answered with %v, want that the database refuses", name, err)
		}
	}
	d.Check()
}

func refusedThenDone(d *Driver) {
	in := d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	wrong := func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
		next, effects, err := lifecycle.Step(d.Policy, nil, in, d.Now())
		next.Blocking = false
		return next, effects, err
	}
	for i := range 3 {
		batch := []store.Report{{Table: dol, Entity: "e1", Code: in.Failure.Code, Decide: wrong}}
		if _, err := d.Store.Report(d.Context(), d.Now(), batch); !errors.Is(err, store.ErrRefused) {
			d.Errorf("attempt %d is answered with %v", i, err)
		}
		d.Report(dol, fmt.Sprint("other", i), "NETWORK_TIMEOUT", recoup.Medium)
	}
	d.ReportAll(in)
	d.Check()
}
