package conformance

import (
	"fmt"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func operationClauses() []serviceClause {
	return []serviceClause{
		{"an operation is kept as it was asked for, and listed newest first, by state and by hub", operationKept},
		{"a key has so many operations that wait for their confirmation, and no more", operationsFull},
		{"the members of an operation are in order and counted, and fixed once it is frozen", operationMembers},
		{"an operation whose members are not fixed can be dropped with them, and no other", operationDropped},
		{"what is done with members, their results and the operation's counts are one commit", operationCarried},
		{"only an operation that runs is carried out", operationStill},
		{"each member is acted on once, however many nodes carry the operation out", operationRaced},
		{"operations whose time is over are deleted with their members, at most so many at once", operationsPurged},
	}
}

// operation is one that does not exist yet.
func (d *serviceDriver) operation(by string) recoup.Operation {
	return recoup.Operation{
		ID: d.ids.New(d.now), State: recoup.OperationCollecting, Act: "park", Input: recoup.Act{Reason: "look"}, Filter: `{"table": "t"}`,
		CreatedAt: d.now, CreatedBy: by, StateAt: d.now, StateBy: by, ExpiresAt: d.now.Add(time.Hour),
	}
}

func (d *serviceDriver) addOperation(o recoup.Operation) recoup.Operation {
	d.Helper()
	d.must(d.store.AddOperation(d.Context(), o, 10))
	return o
}

// operationStep puts an operation into another state.
func (d *serviceDriver) operationStep(id recoup.ID, change func(o *recoup.Operation)) recoup.Operation {
	d.Helper()
	o, err := d.store.StepOperation(d.Context(), d.now, id, func(o recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		change(&o)
		o.StateAt = now
		return o, []wire.AuditEntry{d.act("ada").On("operation.step", id.String(), nil)}, nil
	})
	d.must(err)
	return o
}

func operationDropped(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	e := errors.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	dropped, kept := d.addOperation(d.operation("ada")), d.addOperation(d.operation("ada"))
	for _, o := range []recoup.Operation{dropped, kept} {
		d.must(d.store.AddOperationItems(d.Context(), o.ID, members([]recoup.Error{e})))
	}
	d.operationStep(kept.ID, func(o *recoup.Operation) { o.State = recoup.OperationFrozen })
	for _, o := range []recoup.Operation{dropped, kept} {
		d.must(d.store.DropOperation(d.Context(), o.ID))
	}
	list, _, err := d.store.Operations(d.Context(), store.OperationFilter{}, sqldb.Page{})
	if d.must(err); len(list) != 1 || list[0].ID != kept.ID || list[0].Members != 1 {
		d.Errorf("left are %+v", list)
	}
	for id, want := range map[recoup.ID]int{dropped.ID: 0, kept.ID: 1} {
		if items, _, err := d.store.OperationItems(d.Context(), id, "", 0, 10); err != nil || len(items) != want {
			d.Errorf("of %s %d members are left, want %d: %v", id, len(items), want, err)
		}
	}
}

func confirmed(o *recoup.Operation) {
	o.State, o.ConfirmedAt, o.ConfirmedBy, o.ExpiresAt = recoup.OperationRunning, o.CreatedAt, "bob", time.Time{}
}

// members are members as they are frozen.
func members(list []recoup.Error) []recoup.OperationItem {
	items := make([]recoup.OperationItem, len(list))
	for i := range list {
		items[i] = recoup.OperationItem{ErrorID: list[i].ID, SeenAt: list[i].UpdatedAt, Result: recoup.ResultPending}
	}
	return items
}

// running is an operation that is confirmed, on so many errors.
func (d *serviceDriver) running(errors *Driver, n int) (recoup.Operation, []recoup.Error) {
	d.Helper()
	list := make([]recoup.Error, n)
	for i := range list {
		list[i] = errors.Report(dol, fmt.Sprint("operation ", d.ids.New(d.now), i), "NETWORK_TIMEOUT", recoup.Medium)
	}
	d.now = errors.Now()
	o := d.addOperation(d.operation("ada"))
	d.must(d.store.AddOperationItems(d.Context(), o.ID, members(list)))
	return d.operationStep(o.ID, confirmed), list
}

// parker parks members, in the name of who has confirmed.
type parker struct{ d *Driver }

func (p parker) Steps(o *recoup.Operation, next []recoup.OperationItem) []store.Step {
	steps := make([]store.Step, len(next))
	for i := range next {
		steps[i] = store.Step{ID: next[i].ErrorID, Decide: func(current *recoup.Error, _ int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(p.d.Policy, current, lifecycle.Park{By: o.ConfirmedBy, Reason: "look"}, now)
		}}
	}
	return steps
}

func (p parker) Settle(o recoup.Operation, next []recoup.OperationItem, outcomes []store.Outcome, last bool, now time.Time) recoup.Operation {
	for i := range next {
		if next[i].Result, next[i].EndedAt = recoup.ResultApplied, now; outcomes[i].Err != nil {
			next[i].Result, next[i].Code, next[i].Reason = recoup.ResultRefused, "NOT_SO", outcomes[i].Err.Error()
			o.Refused++
			continue
		}
		o.Applied++
	}
	if last {
		o.State, o.EndedAt, o.ExpiresAt = recoup.OperationDone, now, now.Add(day)
	}
	return o
}

func (d *serviceDriver) carry(errors *Driver, id recoup.ID, limit int) recoup.Operation {
	d.Helper()
	o, err := d.store.CarryOperation(d.Context(), d.now, id, limit, parker{errors})
	d.must(err)
	return o
}

func (d *serviceDriver) items(id recoup.ID, result recoup.OperationResult, from, limit int) ([]recoup.OperationItem, int) {
	d.Helper()
	list, next, err := d.store.OperationItems(d.Context(), id, result, from, limit)
	d.must(err)
	return list, next
}

func (d *serviceDriver) wantOperation(want recoup.Operation) {
	d.Helper()
	got, err := d.store.Operation(d.Context(), want.ID)
	d.must(err)
	wantSame(d, got, want)
}

func operationKept(d *serviceDriver) {
	first := d.addOperation(d.operation("ada"))
	d.wantOperation(first)
	_, err := d.store.Operation(d.Context(), d.ids.New(d.now))
	d.wantErr(err, sqldb.ErrNotFound)
	d.wait(time.Minute)
	second := d.operation("bob")
	second.CreatedKey, second.Input, second.Filter = d.ids.New(d.now), recoup.Act{To: "eve", Tier: 2}, ""
	d.addOperation(second)
	second = d.operationStep(second.ID, func(o *recoup.Operation) { o.State, o.Hub = recoup.OperationFrozen, "dol-filings" })
	d.wantOperation(second)
	for _, x := range []struct {
		filter store.OperationFilter
		want   []recoup.Operation
	}{
		{store.OperationFilter{}, []recoup.Operation{second, first}},
		{store.OperationFilter{State: recoup.OperationCollecting}, []recoup.Operation{first}},
		{store.OperationFilter{Hubs: []string{"dol-filings"}}, []recoup.Operation{second}},
		{store.OperationFilter{Hubs: []string{"dol-filings", "platform"}, State: recoup.OperationDone}, nil},
	} {
		got, _, err := d.store.Operations(d.Context(), x.filter, sqldb.Page{})
		d.must(err)
		wantSame(d, got, x.want)
	}
	page, cursor, err := d.store.Operations(d.Context(), store.OperationFilter{}, sqldb.Page{Limit: 1})
	d.must(err)
	rest, _, err := d.store.Operations(d.Context(), store.OperationFilter{}, sqldb.Page{Limit: 1, Cursor: cursor})
	d.must(err)
	wantSame(d, append(page, rest...), []recoup.Operation{second, first})
	audit, _, err := d.store.Audit(d.Context(), wire.AuditFilter{Target: second.ID.String()}, store.AuditCursor{}, 10)
	if d.must(err); len(audit) != 1 || audit[0].Act != "operation.step" {
		d.Fatalf("the audit has %+v", audit)
	}
}

func operationsFull(d *serviceDriver) {
	mine := d.ids.New(d.now)
	ask := func(key recoup.ID) (recoup.Operation, error) {
		o := d.operation("ada")
		o.CreatedKey = key
		return o, d.store.AddOperation(d.Context(), o, 2)
	}
	first, err := ask(mine)
	d.must(err)
	_, err = ask(mine)
	d.must(err)
	over, err := ask(mine)
	d.wantErr(err, store.ErrFull)
	_, err = d.store.Operation(d.Context(), over.ID)
	d.wantErr(err, sqldb.ErrNotFound)
	for _, other := range []recoup.ID{{}, d.ids.New(d.now)} {
		_, err = ask(other)
		d.must(err)
	}
	d.operationStep(first.ID, confirmed)
	_, err = ask(mine)
	d.must(err)
}

func operationMembers(d *serviceDriver) {
	o := d.addOperation(d.operation("ada"))
	list := make([]recoup.OperationItem, 5)
	for i := range list {
		list[i] = recoup.OperationItem{ErrorID: d.ids.New(d.now), SeenAt: d.now, Result: recoup.ResultPending}
	}
	list[1] = recoup.OperationItem{ErrorID: list[1].ErrorID, SeenAt: d.now, Result: recoup.ResultRefused, Code: "INVALID_TRANSITION", Reason: "it is parked", EndedAt: d.now}
	d.must(d.store.AddOperationItems(d.Context(), o.ID, list[:3]))
	d.must(d.store.AddOperationItems(d.Context(), o.ID, list[3:]))
	o.Members, o.Refused = 5, 1
	d.wantOperation(o)
	for i := range list {
		list[i].OperationID, list[i].Position = o.ID, i
	}
	got, next := d.items(o.ID, "", 0, 3)
	wantSame(d, got, list[:3])
	rest, end := d.items(o.ID, "", next, 3)
	wantSame(d, rest, list[3:])
	refused, _ := d.items(o.ID, recoup.ResultRefused, 0, 3)
	wantSame(d, refused, list[1:2])
	if next != 3 || end != -1 {
		d.Fatalf("it goes on at %d and %d", next, end)
	}
	d.operationStep(o.ID, func(o *recoup.Operation) { o.State = recoup.OperationFrozen })
	d.wantErr(d.store.AddOperationItems(d.Context(), o.ID, list[:1]), store.ErrRefused)
	d.wantErr(d.store.AddOperationItems(d.Context(), d.ids.New(d.now), list[:1]), sqldb.ErrNotFound)
}

func operationCarried(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	o, list := d.running(errors, 5)
	errors.Apply(list[1].ID, lifecycle.Resolve{By: "eve", Reason: "fixed"})
	running, err := d.store.RunningOperations(d.Context(), 10)
	d.must(err)
	wantSame(d, running, []recoup.ID{o.ID})
	for i, want := range []struct{ applied, refused int }{{1, 1}, {3, 1}, {4, 1}} {
		if o = d.carry(errors, o.ID, 2); o.Applied != want.applied || o.Refused != want.refused {
			d.Fatalf("chunk %d: %+v", i, o)
		}
		d.wantOperation(o)
		done, _ := d.items(o.ID, recoup.ResultApplied, 0, 10)
		for _, item := range done {
			if e := errors.Read(item.ErrorID); e.State != recoup.Parked || e.ParkedBy != "bob" {
				d.Fatalf("%s is %s by %s", e.ID, e.State, e.ParkedBy)
			}
		}
		if len(done) != want.applied {
			d.Fatalf("chunk %d: %d members were applied", i, len(done))
		}
	}
	refused, _ := d.items(o.ID, recoup.ResultRefused, 0, 10)
	if o.State != recoup.OperationDone || len(refused) != 1 || refused[0].ErrorID != list[1].ID || refused[0].Reason == "" {
		d.Fatalf("%+v, refused %+v", o, refused)
	}
	for i, e := range list {
		if i != 1 {
			errors.wantHistory(e.ID, "report", "park")
		}
	}
}

func operationStill(d *serviceDriver) {
	errors := NewDriver(d.TB, d.store)
	o, list := d.running(errors, 2)
	paused := d.operationStep(o.ID, func(o *recoup.Operation) { o.State = recoup.OperationPaused })
	wantSame(d, d.carry(errors, o.ID, 2), paused)
	cancelled := d.operationStep(o.ID, func(o *recoup.Operation) {
		o.State, o.EndedAt, o.ExpiresAt = recoup.OperationCancelled, d.now, d.now.Add(day)
	})
	wantSame(d, d.carry(errors, o.ID, 2), cancelled)
	for _, e := range list {
		errors.wantHistory(e.ID, "report")
	}
	_, err := d.store.StepOperation(d.Context(), d.now, o.ID, func(o recoup.Operation, _ time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		o.State, o.EndedAt, o.ExpiresAt = recoup.OperationRunning, time.Time{}, time.Time{}
		return o, nil, nil
	})
	d.wantErr(err, store.ErrRefused)
}

func operationRaced(d *serviceDriver) {
	by := parker{NewDriver(d.TB, d.store)}
	o, list := d.running(by.d, 30)
	var nodes sync.WaitGroup
	for range 4 {
		nodes.Go(func() {
			for at := o; !at.Over(); {
				var err error
				if at, err = d.store.CarryOperation(d.Context(), d.now, o.ID, 3, by); err != nil {
					d.Errorf("%v", err)
					return
				}
			}
		})
	}
	nodes.Wait()
	got, err := d.store.Operation(d.Context(), o.ID)
	if d.must(err); got.Applied != len(list) || got.Refused != 0 || got.State != recoup.OperationDone {
		d.Fatalf("%+v", got)
	}
	for _, e := range list {
		by.d.wantHistory(e.ID, "report", "park")
	}
}

func operationsPurged(d *serviceDriver) {
	unconfirmed := d.addOperation(d.operation("ada"))
	d.must(d.store.AddOperationItems(d.Context(), unconfirmed.ID, []recoup.OperationItem{
		{ErrorID: d.ids.New(d.now), SeenAt: d.now, Result: recoup.ResultPending}, {ErrorID: d.ids.New(d.now), SeenAt: d.now, Result: recoup.ResultPending}}))
	errors := NewDriver(d.TB, d.store)
	underway, _ := d.running(errors, 1)
	purge := func(now time.Time, limit, want int) {
		d.Helper()
		n, err := d.store.PurgeOperations(d.Context(), now, limit)
		if d.must(err); n != want {
			d.Fatalf("%d were purged, want %d", n, want)
		}
	}
	purge(unconfirmed.ExpiresAt.Add(-time.Microsecond), 10, 0)
	purge(unconfirmed.ExpiresAt, 1, 1)
	_, err := d.store.Operation(d.Context(), unconfirmed.ID)
	d.must(err)
	purge(unconfirmed.ExpiresAt, 10, 1)
	_, err = d.store.Operation(d.Context(), unconfirmed.ID)
	d.wantErr(err, sqldb.ErrNotFound)
	purge(d.now.AddDate(10, 0, 0), 10, 0)
	done := d.carry(errors, underway.ID, 10)
	purge(done.ExpiresAt, 10, 1)
	_, err = d.store.Operation(d.Context(), done.ID)
	d.wantErr(err, sqldb.ErrNotFound)
}
