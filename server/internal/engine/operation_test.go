package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// parkAll asks for all errors of a table to be parked.
func parkAll(table string) engine.NewOperation {
	return engine.NewOperation{Act: "park", Filter: store.Filter{Table: table}, Asked: `{"table": "` + recoup.JSON(table) + `"}`}
}

func (w *world) frozen(c engine.Caller, in engine.NewOperation) recoup.Operation {
	w.Helper()
	o, err := w.Engine.Freeze(w.Context(), c, in)
	w.Must(err)
	return o
}

// carried carries an operation out until it has ended.
func (w *world) carried(id recoup.ID) recoup.Operation {
	w.Helper()
	for {
		_, _, err := w.Engine.CarryOperations(w.Context())
		w.Must(err)
		o, err := w.Engine.Operation(w.Context(), ada, id)
		w.Must(err)
		if o.Over() {
			return o
		}
	}
}

func (w *world) crowd(table string, n int) []recoup.Error {
	w.Helper()
	reports := make([]recoup.Report, n)
	for i := range reports {
		reports[i] = failing(table, fmt.Sprintf("e%d", i), "NETWORK_TIMEOUT")
	}
	return w.Report(reports...)
}

func TestOperation(t *testing.T) {
	everywhere(t, func(w *world) {
		made := w.crowd(dol, 700) // several chunks
		w.Act(engine.Act{ID: made[0].ID, Input: lifecycle.Park{Reason: "look"}})
		o := w.frozen(ada, parkAll(dol))
		if o.State != recoup.OperationFrozen || o.Members != 700 || o.Refused != 1 || o.Pending() != 699 || o.Hub != "dol-filings" {
			w.Fatalf("frozen %+v", o)
		}
		refused, _, err := w.Engine.OperationItems(w.Context(), ada, o.ID, recoup.ResultRefused, 0, 10)
		w.Must(err)
		if len(refused) != 1 || refused[0].ErrorID != made[0].ID || refused[0].Code != fault.CodeInvalidTransition || refused[0].Reason == "" {
			w.Errorf("refused %+v", refused)
		}
		late := w.Report(failing(dol, "late", "NETWORK_TIMEOUT"))[0] // the filter selects it, and it is not in the set
		w.Wait(time.Second)
		w.Act(engine.Act{ID: made[1].ID, Input: lifecycle.Resolve{Reason: "fixed"}}) // in the set, and changed since

		_, err = w.Engine.Confirm(w.Context(), ada, o.ID, recoup.Act{})
		w.wantFields(err, nil, "reason")
		bob := engine.Caller{Name: "bob"}
		o, err = w.Engine.Confirm(w.Context(), bob, o.ID, recoup.Act{Reason: "outage"})
		if w.Must(err); o.State != recoup.OperationRunning || o.ConfirmedBy != "bob" || o.Pending() != 699 {
			w.Fatalf("confirmed %+v", o)
		}
		o = w.carried(o.ID)
		if o.State != recoup.OperationDone || o.Applied != 698 || o.Refused != 2 {
			w.Errorf("done %+v", o)
		}
		if last := w.Read(made[699].ID); last.State != recoup.Parked || last.ParkReason != "outage" || last.ParkedBy != "bob" {
			w.Errorf("%s for %s by %s", last.State, last.ParkReason, last.ParkedBy)
		}
		if e := w.Read(late.ID); e.State != recoup.RetryPending {
			w.Errorf("what came later is %s", e.State)
		}
		refused, _, err = w.Engine.OperationItems(w.Context(), ada, o.ID, recoup.ResultRefused, 0, 10)
		w.Must(err)
		if len(refused) != 2 || refused[0].ErrorID != made[1].ID || refused[0].Code != fault.CodeStaleRead {
			w.Errorf("refused %+v", refused)
		}
		audit, _, err := w.DB.Audit(w.Context(), wire.AuditFilter{Target: o.ID.String()}, store.AuditCursor{}, 10)
		if w.Must(err); len(audit) != 1 || audit[0].Act != "errors.park" || audit[0].Actor != "bob" || audit[0].Reason != "outage" {
			w.Errorf("the audit has %+v", audit)
		}
		again, err := w.Engine.Confirm(w.Context(), ada, o.ID, recoup.Act{Reason: "again"})
		if w.Must(err); again != o {
			w.Errorf("confirmed again %+v", again)
		}
	})
}

func TestOperationIsPausedResumedAndCancelled(t *testing.T) {
	everywhere(t, func(w *world) {
		w.crowd(dol, 300)
		o := w.frozen(ada, parkAll(dol))
		act := func(verb string) (recoup.Operation, error) {
			return w.Engine.ActOnOperation(w.Context(), ada, o.ID, verb, "a try")
		}
		for _, early := range []string{engine.OperationPause, engine.OperationResume} {
			_, err := act(early)
			_ = w.Refused(err, fault.CodeInvalidTransition)
		}
		_, err := w.Engine.Confirm(w.Context(), ada, o.ID, recoup.Act{Reason: "outage"})
		w.Must(err)
		for range 2 {
			paused, err := act(engine.OperationPause)
			if w.Must(err); paused.State != recoup.OperationPaused {
				w.Fatalf("paused %+v", paused)
			}
		}
		if done, more, err := w.Engine.CarryOperations(w.Context()); done != 0 || more || err != nil {
			w.Errorf("a paused operation went on: %d, %v, %v", done, more, err)
		}
		_, err = act(engine.OperationResume)
		w.Must(err)
		done, more, err := w.Engine.CarryOperations(w.Context())
		if w.Must(err); done != 200 || !more {
			w.Errorf("a chunk of %d, more %v", done, more)
		}
		cancelled, err := act(engine.OperationCancel)
		if w.Must(err); cancelled.State != recoup.OperationCancelled || cancelled.Applied != 200 || cancelled.Pending() != 100 {
			w.Errorf("cancelled %+v", cancelled)
		}
		if done, _, err := w.Engine.CarryOperations(w.Context()); done != 0 || err != nil {
			w.Errorf("a cancelled operation went on: %d, %v", done, err)
		}
		_, err = act(engine.OperationResume)
		_ = w.Refused(err, fault.CodeInvalidTransition)
	})
}

func TestOperationExpires(t *testing.T) {
	everywhere(t, func(w *world) {
		w.crowd(dol, 1)
		o := w.frozen(ada, parkAll(dol))
		w.Wait(engine.PreviewLife)
		_, err := w.Engine.Confirm(w.Context(), ada, o.ID, recoup.Act{Reason: "outage"})
		_ = w.Refused(err, fault.CodeBusinessRuleViolation)
		_, err = w.DB.PurgeOperations(w.Context(), w.Now(), 10)
		w.Must(err)
		if _, err := w.Engine.Operation(w.Context(), ada, o.ID); !errors.Is(err, sqldb.ErrNotFound) {
			w.Errorf("it is kept: %v", err)
		}
	})
}

func TestOperationIsRefusedWhole(t *testing.T) {
	everywhere(t, func(w *world) {
		w.crowd(dol, 1)
		for _, row := range []struct {
			name  string
			in    engine.NewOperation
			field string
		}{
			{"an empty filter", engine.NewOperation{Act: "park"}, "filter"},
			{"no such act", engine.NewOperation{Act: "explode", All: true}, "act"},
			{"nothing selected", parkAll(people), "filter"},
			{"an owner that is none", engine.NewOperation{Act: "assign", All: true, Input: recoup.Act{To: " x"}}, "to"},
		} {
			_, err := w.Engine.Freeze(w.Context(), ada, row.in)
			w.wantFields(err, nil, row.field)
		}
		if left, _, err := w.Engine.Operations(w.Context(), ada, "", sqldb.Page{}); err != nil || len(left) > 0 {
			w.Errorf("what could not be frozen has left %+v: %v", left, err)
		}
		for range engine.MaxUnconfirmed {
			w.frozen(ada, parkAll(dol))
		}
		_, err := w.Engine.Freeze(w.Context(), ada, parkAll(dol))
		_ = w.Refused(err, fault.CodeBusinessRuleViolation)
	})
}

// A filter that selects more errors than an operation may have is refused, and no operation is left.
func TestOperationIsBounded(t *testing.T) {
	tier.Nightly(t, "reports 100,001 errors")
	everywhere(t, func(w *world) {
		reports := make([]recoup.Report, engine.MaxOperation+1)
		for i := range reports {
			reports[i] = failing(dol, fmt.Sprintf("e%d", i), "NETWORK_TIMEOUT")
		}
		for part := range slices.Chunk(reports, engine.MaxBatch) {
			w.Report(part...)
		}
		_, err := w.Engine.Freeze(w.Context(), ada, parkAll(dol))
		w.wantFields(err, nil, "filter")
		if left, _, err := w.Engine.Operations(w.Context(), ada, "", sqldb.Page{}); err != nil || len(left) > 0 {
			w.Errorf("an operation that was refused is left: %+v: %v", left, err)
		}
	})
}

// A key for some hubs freezes errors of one of them, and sees and confirms no other's.
func TestOperationOfAHub(t *testing.T) {
	everywhere(t, func(w *world) {
		w.crowd(dol, 2)
		w.crowd(people, 2)
		everything := engine.NewOperation{Act: "park", All: true}
		mine := engine.Caller{Name: "dora", Hubs: []string{"dol-filings"}}
		other := engine.Caller{Name: "paul", Hubs: []string{"people-intelligence"}}
		o := w.frozen(mine, everything)
		if o.Members != 2 || o.Hub != "dol-filings" {
			w.Errorf("of the hub %+v", o)
		}
		_, err := w.Engine.Freeze(w.Context(), engine.Caller{Name: "both", Hubs: []string{"dol-filings", "people-intelligence"}}, everything)
		w.wantFields(err, nil, "filter")
		all := w.frozen(ada, everything)
		for _, id := range []recoup.ID{o.ID, all.ID} {
			_, err := w.Engine.Operation(w.Context(), other, id)
			_, confirmed := w.Engine.Confirm(w.Context(), other, id, recoup.Act{Reason: "mine"})
			_, cancelled := w.Engine.ActOnOperation(w.Context(), other, id, engine.OperationCancel, "mine")
			_, _, items := w.Engine.OperationItems(w.Context(), other, id, "", 0, 10)
			for _, err := range []error{err, confirmed, cancelled, items} {
				if !errors.Is(err, sqldb.ErrNotFound) {
					w.Errorf("another's operation: %v", err)
				}
			}
		}
		if list, _, err := w.Engine.Operations(w.Context(), other, "", sqldb.Page{}); len(list) != 0 || err != nil {
			w.Errorf("another sees %+v, %v", list, err)
		}
		if _, err := w.Engine.Confirm(w.Context(), mine, o.ID, recoup.Act{Reason: "ours"}); err != nil {
			w.Error(err)
		}
	})
}

// lumpy is a store whose database refuses whatever is done to one error.
type lumpy struct {
	node.Store
	bad recoup.ID
}

func (l *lumpy) CarryOperation(ctx context.Context, now time.Time, id recoup.ID, limit int, by store.Carrier) (recoup.Operation, error) {
	refused := &refusing{Carrier: by, bad: l.bad}
	o, err := l.Store.CarryOperation(ctx, now, id, limit, refused)
	if err == nil && refused.met {
		return o, errors.New("the refusal was not heard")
	}
	return o, err
}

// refusing writes a row that a guard refuses, beside what is done with the bad one.
type refusing struct {
	store.Carrier
	bad recoup.ID
	met bool
}

func (r *refusing) Settle(o recoup.Operation, next []recoup.OperationItem, outcomes []store.Outcome, last bool, now time.Time) recoup.Operation {
	done := r.Carrier.Settle(o, next, outcomes, last, now)
	for i := range next {
		if r.met = next[i].ErrorID == r.bad && outcomes[i].Err == nil; r.met {
			done.Applied = -1
			break
		}
	}
	return done
}

// A member that the database refuses keeps no other from its result.
func TestOperationGoesOnBesideWhatTheDatabaseRefuses(t *testing.T) {
	t.Parallel()
	db := &lumpy{Store: node.SQLite(t)}
	w := &world{Node: node.On(t, db)}
	made := w.crowd(dol, 50)
	db.bad = made[17].ID
	o := w.frozen(ada, parkAll(dol))
	_, err := w.Engine.Confirm(w.Context(), ada, o.ID, recoup.Act{Reason: "outage"})
	w.Must(err)
	o = w.carried(o.ID)
	refused, _, err := w.Engine.OperationItems(w.Context(), ada, o.ID, recoup.ResultRefused, 0, 10)
	w.Must(err)
	if o.Applied != 49 || len(refused) != 1 || refused[0].ErrorID != db.bad {
		t.Errorf("%+v, refused %+v", o, refused)
	}
	if e := w.Read(db.bad); e.State != recoup.RetryPending {
		t.Errorf("what is refused is %s", e.State)
	}
}
