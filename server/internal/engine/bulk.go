package engine

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// Bulk is one act on named errors. What a filter selects, an operation acts on.
type Bulk struct {
	Act     string // its name, to which a preview's token is bound
	IDs     []recoup.ID
	Token   string // of the preview whose set is meant, instead of ids
	Preview bool   // say what would happen, and do nothing
	Input   lifecycle.Input
	Reason  string // for the audit, where it is on several errors
}

// MaxBulk is the most errors of one bulk act.
const MaxBulk = 10000

// bulkChunk is how many errors one transaction of a bulk act changes.
const bulkChunk = 200

// Bulk applies an act to many errors, each under its own lock, in chunks. A set that
// is larger than MaxBulk is refused before anything is done; a member that has changed
// since its preview is refused by itself. An act on several is audited, once, before it is done.
func (e *Engine) Bulk(ctx context.Context, c Caller, b Bulk) (recoup.BulkResult, error) {
	input, err := e.clean(c, b.Input)
	if err != nil {
		return recoup.BulkResult{}, err
	}
	if err := b.Check(); err != nil {
		return recoup.BulkResult{}, err
	}
	members, err := b.members(e.Now())
	if err != nil {
		return recoup.BulkResult{}, err
	}
	if len(members) > 1 && !b.Preview {
		entry := c.Act(b.Reason, e.Now()).On("errors."+b.Act, "", map[string]any{"errors": len(members)})
		if err := e.Store.AppendAudit(ctx, entry); err != nil {
			return recoup.BulkResult{}, err
		}
	}
	result := recoup.BulkResult{Preview: b.Preview, Matched: len(members)}
	shown := PreviewSet{Act: b.Act, Until: e.Now().Add(PreviewLife)}
	for chunk := range slices.Chunk(members, bulkChunk) {
		if b.Preview {
			err = e.previewChunk(ctx, c, input, chunk, &result, &shown)
		} else {
			err = e.applyChunk(ctx, c, input, chunk, &result)
		}
		if err != nil {
			return result, fmt.Errorf("after %d of %d: %w", result.Applied+result.NotDone, len(members), err)
		}
	}
	if b.Preview {
		result.Token = shown.Token()
	}
	return result, nil
}

// Check says what is wrong with what an act is asked to be on.
func (b *Bulk) Check() error {
	switch {
	case b.Token != "" && (len(b.IDs) > 0 || b.Preview):
		return badBulk("token", "a token stands for the set of its preview: give no ids beside it")
	case b.Token != "":
		return nil
	case len(b.IDs) > MaxBulk:
		return badBulk("ids", fmt.Sprintf("one act takes at most %d errors", MaxBulk))
	case len(b.IDs) == 0:
		return badBulk("ids", fmt.Sprintf("ids is missing: name 1 to %d errors; to act on what a filter selects, use POST /v1/operations", MaxBulk))
	}
	return nil
}

func badBulk(field, message string) error {
	return fault.BadField(field, "bulk", "%s", message)
}

// members returns the errors that are meant.
func (b *Bulk) members(now time.Time) ([]Member, error) {
	if b.Token != "" {
		f, err := ParsePreviewToken(b.Token, b.Act, now)
		return f.Members, err
	}
	var list []Member
	for _, id := range distinct(b.IDs) {
		list = append(list, Member{ID: id})
	}
	return list, nil
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

func (e *Engine) applyChunk(ctx context.Context, c Caller, in lifecycle.Input, members []Member, r *recoup.BulkResult) error {
	acts := make([]Act, len(members))
	for i, m := range members {
		acts[i] = Act{ID: m.ID, Input: in, Seen: m}
	}
	outcomes, err := e.Apply(ctx, c, acts)
	if err != nil {
		return err
	}
	for i := range outcomes {
		r.Count(members[i].ID, outcomes[i].Err)
	}
	return nil
}

// previewChunk asks the state machine about each error as it is, without a lock.
func (e *Engine) previewChunk(ctx context.Context, c Caller, in lifecycle.Input, members []Member, r *recoup.BulkResult, shown *PreviewSet) error {
	now := e.Now()
	for _, m := range members {
		current, err := e.Error(ctx, c, m.ID)
		if err == nil {
			shown.Members = append(shown.Members, Member{m.ID, current.UpdatedAt})
			_, _, err = lifecycle.Step(e.Policies.Of(&current), &current, in, now)
		}
		if broken(err) {
			return err
		}
		r.Count(m.ID, err)
	}
	return nil
}
