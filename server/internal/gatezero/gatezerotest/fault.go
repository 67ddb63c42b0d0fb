package gatezerotest

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// faults ends transactions after a number of writes, which have reached the database by then.
type faults struct {
	sqldb.DB
	after, seen int
}

func (f *faults) Act(ctx context.Context, doing string, at time.Time, do func(sqldb.Tx) error) error {
	return f.DB.Act(ctx, doing, at, func(tx sqldb.Tx) error { return do(&faultyTx{tx, f}) })
}

// Breaking lets a sync of the policy break off after a number of writes. broke is set once it
// has.
func Breaking(sync store.SyncPolicy, after int, broke *bool) store.SyncPolicy {
	return func(tx sqldb.Tx, p *policy.Policy) error {
		f := &faults{after: after}
		err := sync(&faultyTx{tx, f}, p)
		*broke = f.seen >= after
		return err
	}
}

// faultyTx is a transaction that may break off.
type faultyTx struct {
	sqldb.Tx
	*faults
}

// wrote counts a write that succeeded, and breaks off after the one in question.
func (t *faultyTx) wrote(err error) error {
	if err != nil {
		return err
	}
	if t.seen++; t.seen != t.after {
		return nil
	}
	var one []int // what was delayed is written before it is answered
	if err := t.Query(sqldb.NewQuery("", "select 1"), sqldb.Into(&one, sqldb.Fields(func(n *int) []any { return []any{n} }))); err != nil {
		return err
	}
	return fmt.Errorf("broken off after write %d: %w", t.after, store.ErrRefused)
}

func (t *faultyTx) Dialect() sqldb.Dialect { return t.Tx.Dialect() }

func (t *faultyTx) Do(sql string, args ...any) error { return t.wrote(t.Tx.Do(sql, args...)) }

func (t *faultyTx) Change(sql string, args ...[]any) (int, error) {
	n, err := t.Tx.Change(sql, args...)
	return n, t.wrote(err)
}

func (t *faultyTx) Add(b sqldb.Batch) error          { return t.wrote(t.Tx.Add(b)) }
func (t *faultyTx) InsertIgnore(b sqldb.Batch) error { return t.wrote(t.Tx.InsertIgnore(b)) }
func (t *faultyTx) Upsert(b sqldb.Batch) error       { return t.wrote(t.Tx.Upsert(b)) }
func (t *faultyTx) Update(b sqldb.Batch) error       { return t.wrote(t.Tx.Update(b)) }

func (t *faultyTx) InsertNew(b sqldb.Batch) (int, error) {
	n, err := t.Tx.InsertNew(b)
	return n, t.wrote(err)
}

func (t *faultyTx) Copy(b sqldb.Batch) (int, error) {
	n, err := t.Tx.Copy(b)
	return n, t.wrote(err)
}

func (t *faultyTx) CopyNew(b sqldb.Batch) (int, error) {
	n, err := t.Tx.CopyNew(b)
	return n, t.wrote(err)
}

func gateFaults() []gateClause {
	return []gateClause{{"an act that breaks off between any two writes has written neither", gateBrokenOff}}
}

// gateBrokenOff lets every act break off after each of its writes in turn, and then do all.
// An act of fewer writes than are wanted is not the one that is meant.
func gateBrokenOff(d *gateDriver) {
	d.breaks("create", 1, func(s *gatezero.Store) error { _, err := s.CreateBatch(d.Context(), "b1", d.now); return err })
	list := d.candidates(0, 5)
	imports := func(list []recoup.Intake) func(*gatezero.Store) error {
		return func(s *gatezero.Store) error { _, err := s.ImportIntakes(d.Context(), "b1", d.now, list); return err }
	}
	d.breaks("import", 1, imports(list[:4]))
	d.breaks("import again", 1, imports(list))
	record := func(ids []recoup.ID, in func() gatezero.Input) func(*gatezero.Store) error {
		return func(s *gatezero.Store) error {
			var steps []gatezero.CaseStep
			for _, id := range ids {
				steps = append(steps, gatezero.CaseStep{ID: id, Decide: d.step(in())})
			}
			_, err := s.RecordResults(d.Context(), steps)
			return err
		}
	}
	fail := func() gatezero.Input { return gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()} }
	d.breaks("pass", 2, record([]recoup.ID{list[0].ID}, func() gatezero.Input { return gatezero.Pass{Worker: "w"} }))
	d.breaks("fail", 3, record([]recoup.ID{list[1].ID, list[2].ID}, fail))
	d.breaks("verify", 1, func(s *gatezero.Store) error {
		_, _, err := s.ClaimPending(d.Context(), gatezero.IntakeClaim{Worker: "w", Limit: 9, Now: d.now, Lease: gateLease})
		return err
	})
	d.breaks("fail after a claim", 4, record([]recoup.ID{list[3].ID}, fail))
	d.wait(day)
	d.breaks("claim", 1, func(s *gatezero.Store) error {
		_, err := s.ClaimEligible(d.Context(), gatezero.RecoveryClaim{Limit: 9, Now: d.now, Decide: func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(d.gate, c, gatezero.Claim{Token: d.id(), Worker: "w", Lease: gateLease}, d.now)
		}})
		return err
	})
	d.breaks("re-enter", 5, func(s *gatezero.Store) error {
		c := d.read(list[1].ID)
		_, err := only(s.FinishRecoveries(d.Context(), []gatezero.CaseStep{{ID: c.Recovery.ID, Decide: d.step(d.pass(c))}}))
		return err
	})
	d.breakBatch()
}

// breakBatch lets acts on a batch as a whole break off.
func (d *gateDriver) breakBatch() {
	step := func(in gatezero.Input) func(*gatezero.Store) error {
		return func(s *gatezero.Store) error { _, err := s.StepBatch(d.Context(), "b1", d.step(in)); return err }
	}
	d.breaks("kill", 4, step(gatezero.Kill{By: "ada", Reason: "a look"})) // the batch, leases, the AIR and the audit
	d.breaks("release", 3, step(gatezero.Release{By: "ada"}))
	d.breaks("complete", 1, step(gatezero.Complete{}))
	d.wait(14 * day)
	d.breaks("freeze", 5, func(s *gatezero.Store) error {
		_, err := s.FreezeDue(d.Context(), d.now, 10, d.step(gatezero.Freeze{}))
		return err
	})
}

// breaks lets an act break off after each of its writes, and then do all of them.
func (d *gateDriver) breaks(act string, writes int, do func(*gatezero.Store) error) {
	d.Helper()
	for after := 1; ; after++ {
		before, f := d.everything(), &faults{DB: d.store.SQL(), after: after}
		err := do(gatezero.NewStore(f))
		if f.seen < after {
			d.must(err)
			if after-1 < writes || d.everything() == before {
				d.Errorf("%s has %d writes, want at least %d", act, after-1, writes)
			}
			return
		}
		if got := d.everything(); err == nil || got != before {
			d.Fatalf("%s that breaks off after write %d is answered with %v, and there is\n%s\nwhere there was\n%s", act, after, err, got, before)
		}
	}
}

// everything is all that the database has of Gate Zero, and the audit.
func (d *gateDriver) everything() string {
	d.Helper()
	var text strings.Builder
	put := func(of string, got any, err error) {
		d.must(err)
		line, err := json.Marshal(got)
		d.must(err)
		fmt.Fprintf(&text, "%s\t%s\n", of, line)
	}
	ctx := d.Context()
	batches, _, err := d.store.Batches(ctx, gatezero.BatchCursor{}, 100)
	put("batches", batches, err)
	for i := range batches {
		air, err := d.store.BatchTimeline(ctx, batches[i].ID, 100)
		put("air", air, err)
	}
	intakes, _, err := d.store.Intakes(ctx, recoup.IntakeFilter{}, sqldb.Page{Limit: sqldb.MaxPage})
	put("intakes", intakes, err)
	for i := range intakes {
		c, err := d.store.Intake(ctx, intakes[i].ID)
		put("case", c, err)
		air, err := d.store.Timeline(ctx, intakes[i].ID, 100)
		put("air", air, err)
	}
	figures, err := d.store.GateFigures(ctx)
	put("figures", figures, err)
	turns, err := sqldb.Rows(ctx, d.store.SQL(), sqldb.NewQuery("", "select intake_id from cl.gate_zero_turn order by 1"), sqldb.IDColumn()...)
	put("turns", turns, err)
	audit, _, err := d.store.Audit(ctx, wire.AuditFilter{}, store.AuditCursor{}, 100)
	put("audit", audit, err)
	return text.String()
}
