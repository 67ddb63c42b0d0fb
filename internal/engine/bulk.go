package engine

import (
	"context"
	"fmt"
	"slices"

	"recoup"
	"recoup/fault"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// Bulk is one act on everything that a filter selects, or on named errors.
type Bulk struct {
	Filter  store.Filter
	IDs     []recoup.ID // instead of a filter
	All     bool        // an empty filter is meant
	Expect  int         // how many the caller has seen in the preview; zero: not checked
	Preview bool        // say what would happen, and do nothing
	Input   lifecycle.Input
}

// MaxBulk is the most errors of one bulk act.
const MaxBulk = 10000

// Refused is an error to which a bulk act does not apply, and why.
type Refused struct {
	ID  recoup.ID
	Err error
}

// BulkResult says what became of a bulk act, or in a preview what would.
type BulkResult struct {
	Matched int
	Applied int
	Refused []Refused // the first hundred of them
	NotDone int       // how many were refused in all
}

// bulkStep is how many errors one transaction of a bulk act changes.
const bulkStep = 200

// Bulk applies an act to many errors: first the set is fixed, then each is
// changed under its own lock, in steps. A set that is larger than MaxBulk, or
// not the one that was previewed, is refused before anything is done.
func (e *Engine) Bulk(ctx context.Context, c Caller, b Bulk) (BulkResult, error) {
	input, err := e.clean(c, b.Input)
	if err != nil {
		return BulkResult{}, err
	}
	if err := b.check(); err != nil {
		return BulkResult{}, err
	}
	ids, err := e.members(ctx, c, b)
	if err != nil {
		return BulkResult{}, err
	}
	if b.Expect > 0 && b.Expect != len(ids) {
		return BulkResult{}, fault.New(fault.CodeConflict, "the filter selects %d errors now, not %d: preview it again", len(ids), b.Expect).
			With("matched", len(ids)).With("expected", b.Expect)
	}
	result := BulkResult{Matched: len(ids)}
	for begin := 0; begin < len(ids); begin += bulkStep {
		step := ids[begin:min(begin+bulkStep, len(ids))]
		run := e.applyStep
		if b.Preview {
			run = e.previewStep
		}
		if err := run(ctx, c, input, step, &result); err != nil {
			return result, fmt.Errorf("after %d of %d: %w", result.Applied+result.NotDone, len(ids), err)
		}
	}
	return result, nil
}

func (b *Bulk) check() error {
	f := b.Filter
	empty := f.Table == "" && len(f.Tables) == 0 && f.State == "" && f.Entity == "" && f.Code == "" && f.AssignedTo == "" &&
		f.Tier == 0 && !f.Blocking && !f.Parked && f.Before.IsZero() && f.After.IsZero()
	switch {
	case len(b.IDs) > 0 && !empty:
		return badBulk("ids", "give a filter or ids, not both")
	case len(b.IDs) > MaxBulk:
		return badBulk("ids", fmt.Sprintf("one act takes at most %d errors", MaxBulk))
	case len(b.IDs) == 0 && empty && !b.All:
		return badBulk("filter", `an empty filter selects every error; say "all": true if that is meant`)
	}
	return nil
}

func badBulk(field, message string) error {
	return fault.Validation(fault.FieldError{Field: field, Constraint: "bulk", Message: message})
}

// members fixes the set.
func (e *Engine) members(ctx context.Context, c Caller, b Bulk) ([]recoup.ID, error) {
	if len(b.IDs) > 0 {
		return distinct(b.IDs), nil
	}
	var ids []recoup.ID
	page := store.Page{Limit: store.MaxPage}
	for {
		found, next, err := e.Errors(ctx, c, b.Filter, page)
		if err != nil {
			return nil, err
		}
		for i := range found {
			ids = append(ids, found[i].ID)
		}
		if len(ids) > MaxBulk {
			return nil, badBulk("filter", fmt.Sprintf("the filter selects more than %d errors: narrow it", MaxBulk))
		}
		if next.IsZero() {
			return ids, nil
		}
		page.Cursor = next
	}
}

// distinct names each error once, in the order of the list.
func distinct(ids []recoup.ID) []recoup.ID {
	seen := make(map[recoup.ID]bool, len(ids))
	return slices.DeleteFunc(slices.Clone(ids), func(id recoup.ID) bool {
		again := seen[id]
		seen[id] = true
		return again
	})
}

func (e *Engine) applyStep(ctx context.Context, c Caller, in lifecycle.Input, ids []recoup.ID, r *BulkResult) error {
	acts := make([]Act, len(ids))
	for i, id := range ids {
		acts[i] = Act{ID: id, Input: in}
	}
	outcomes, err := e.Apply(ctx, c, acts)
	if err != nil {
		return err
	}
	for i := range outcomes {
		r.count(ids[i], outcomes[i].Err)
	}
	return nil
}

// previewStep asks the state machine about each error as it is, without a lock.
func (e *Engine) previewStep(ctx context.Context, c Caller, in lifecycle.Input, ids []recoup.ID, r *BulkResult) error {
	now := e.Now()
	for _, id := range ids {
		current, err := e.Error(ctx, c, id)
		if err == nil {
			_, _, err = lifecycle.Step(e.Policies.Of(&current), &current, in, now)
		}
		if broken(err) {
			return err
		}
		r.count(id, err)
	}
	return nil
}

func (r *BulkResult) count(id recoup.ID, err error) {
	if err == nil {
		r.Applied++
		return
	}
	r.NotDone++
	if len(r.Refused) < 100 {
		r.Refused = append(r.Refused, Refused{id, err})
	}
}
