package engine

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The limits of operations.
const (
	// MaxOperation is the most errors of one operation.
	MaxOperation = 100000

	// MaxUnconfirmed is how many operations that wait for their confirmation one key may
	// have.
	MaxUnconfirmed = 10

	// OperationRetention is how long an operation is kept after its end.
	OperationRetention = 90 * 24 * time.Hour
)

// NewOperation asks for an operation.
type NewOperation struct {
	Act    recoup.ActName
	Input  recoup.Act // what is left out can be said with the confirmation
	Filter store.Filter
	All    bool        // an empty filter is meant
	Asked  recoup.JSON // the filter as it was asked for
}

func actNames() (names []string) {
	for _, act := range recoup.Acts() {
		names = append(names, string(act.Name))
	}
	return names
}

// unsaid is what a preview says where nothing was said yet.
const unsaid = "preview"

// previewed is an input that is complete enough for a preview.
func previewed(act recoup.ActName, a recoup.Act) lifecycle.Input {
	a.Reason, a.To = cmp.Or(a.Reason, unsaid), cmp.Or(a.To, unsaid)
	return lifecycle.NewAct(act, "", a)
}

// CheckOperation says everything that is wrong with a request for an operation.
func (e *Engine) CheckOperation(in NewOperation) error {
	var bad fault.FieldErrors
	if !in.All && selectsAll(in.Filter) {
		bad.Merge(badBulk("filter", `an empty filter selects every error; say "all": true if that is meant`))
	}
	if in.Act.Kind() == (recoup.ActKind{}) {
		bad.Merge(fault.BadField("act", "enum", "act must be one of %s", strings.Join(actNames(), ", ")))
	}
	bad.Merge(e.CheckSaid(in.Input))
	return bad.Err()
}

// selectsAll reports whether a filter has no condition.
func selectsAll(f store.Filter) bool {
	return f.Table == "" && len(f.Tables) == 0 && f.State == "" && f.Entity == "" && f.Code == "" && f.AssignedTo == "" && f.Group.IsZero() && f.Text == "" &&
		f.Tier == 0 && f.Blocking == nil && f.Parked == nil && f.Before.IsZero() && f.After.IsZero()
}

// CheckSaid says everything that is wrong with what is said with an act, of which
// nothing need be said yet.
func (e *Engine) CheckSaid(a recoup.Act) error { return e.CheckInput(previewed(recoup.ActAssign, a)) }

// redacted is a filter as it is kept: what looks like a secret in it selects nothing.
func (e *Engine) redacted(filter recoup.JSON) recoup.JSON {
	var values any
	if json.Unmarshal([]byte(filter), &values) != nil {
		return ""
	}
	clean, _ := e.Redactor.Value(values)
	kept, err := json.Marshal(clean)
	if err != nil {
		return ""
	}
	return recoup.JSON(kept)
}

// Freeze begins an operation: it writes down which errors a filter selects now, and which
// of them the act does not apply to. Nothing is done until it is confirmed, and what the
// filter selects later is not among them. Of one that cannot be frozen nothing is kept.
func (e *Engine) Freeze(ctx context.Context, c Caller, in NewOperation) (recoup.Operation, error) {
	if err := e.CheckOperation(in); err != nil {
		return recoup.Operation{}, err
	}
	text := check.Fields{Redactor: e.Redactor}
	in.Input.Reason = text.Text("reason", in.Input.Reason, check.MaxReason)
	now := e.Now()
	o := recoup.Operation{
		ID: e.IDs.New(now), State: recoup.OperationCollecting, Act: string(in.Act), Input: in.Input, Filter: e.redacted(in.Asked),
		CreatedAt: now, CreatedBy: c.Name, CreatedKey: c.Key, StateAt: now, StateBy: c.Name, ExpiresAt: now.Add(PreviewLife),
	}
	err := e.Store.AddOperation(ctx, o, MaxUnconfirmed)
	if errors.Is(err, store.ErrFull) {
		return recoup.Operation{}, fault.Wrap(err, fault.CodeBusinessRuleViolation,
			"The key has %d operations that wait for their confirmation: confirm or cancel one of them, or wait until they expire.", MaxUnconfirmed)
	}
	if err != nil {
		return recoup.Operation{}, err
	}
	hubs, err := e.collect(ctx, c, &o, previewed(in.Act, in.Input), in.Filter)
	switch {
	case err != nil:
	case len(hubs) == 0:
		err = badBulk("filter", "the filter selects no error")
	case len(hubs) > 1 && len(c.Hubs) > 0:
		err = badBulk("filter", "the errors are of several hubs: narrow the filter to one hub, or use a key for all hubs")
	}
	if err != nil {
		if left := e.Store.DropOperation(context.WithoutCancel(ctx), o.ID); left != nil {
			err = errors.Join(err, left)
		}
		return recoup.Operation{}, err
	}
	return e.frozen(ctx, o.ID, hubs)
}

// frozen ends the collection of members.
func (e *Engine) frozen(ctx context.Context, id recoup.ID, hubs map[string]bool) (recoup.Operation, error) {
	return e.Store.StepOperation(context.WithoutCancel(ctx), time.Time{}, id, func(o recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		if len(hubs) == 1 {
			for o.Hub = range hubs {
			}
		}
		o.State, o.StateAt, o.ExpiresAt = recoup.OperationFrozen, now, now.Add(PreviewLife)
		return o, nil, nil
	})
}

// collect writes down the members of an operation, a page at a time, each as it is now. It
// returns the hubs that they are of.
func (e *Engine) collect(ctx context.Context, c Caller, o *recoup.Operation, in lifecycle.Input, f store.Filter) (map[string]bool, error) {
	hubs, page, n := map[string]bool{}, sqldb.Page{Limit: sqldb.MaxPage}, 0
	for {
		found, next, err := e.Errors(ctx, c, f, page)
		if err != nil {
			return hubs, err
		}
		if n += len(found); n > MaxOperation {
			return hubs, badBulk("filter", fmt.Sprintf("the filter selects more than %d errors: narrow it", MaxOperation))
		}
		items, now := make([]recoup.OperationItem, len(found)), e.Now()
		for i := range found {
			hubs[e.hubOf(found[i].Table)] = true
			items[i] = recoup.OperationItem{ErrorID: found[i].ID, SeenAt: found[i].UpdatedAt, Result: recoup.ResultPending}
			if _, _, err := lifecycle.Step(e.Policies.Of(&found[i]), &found[i], in, now); err != nil {
				e.refuse(&items[i], err, now)
			}
		}
		if err := e.Store.AddOperationItems(ctx, o.ID, items); err != nil {
			return hubs, err
		}
		if next.IsZero() {
			return hubs, nil
		}
		page.Cursor = next
	}
}

// hubOf is the hub of a table; one that no policy has belongs to the orphans' hub.
func (e *Engine) hubOf(table string) string {
	t, ok := e.Policies.Table(table)
	if !ok {
		t = e.Policies.Current().OrphanTable
	}
	return t.Hub
}

// refuse gives a member the result that the act does not apply to it.
func (e *Engine) refuse(item *recoup.OperationItem, err error, now time.Time) {
	item.Result, item.EndedAt = recoup.ResultRefused, now
	item.Code, item.Reason = e.Refusal(err)
}

// ended ends an operation. It is kept for a while.
func ended(o recoup.Operation, state recoup.OperationState, by, why string, now time.Time) recoup.Operation {
	o.State, o.StateAt, o.StateBy, o.Why, o.EndedAt, o.ExpiresAt = state, now, by, why, now, now.Add(OperationRetention)
	return o
}

// plainRefusal says why an act does not apply, as the error does.
func plainRefusal(err error) (recoup.Code, string) {
	var refusal *lifecycle.Refusal
	if errors.As(err, &refusal) {
		return refusal.Code, refusal.Error()
	}
	return fault.From(err).Code, err.Error()
}
