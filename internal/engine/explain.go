package engine

import (
	"context"
	"errors"
	"strconv"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// Explanation says of one error which rules decided, what happens next by itself
// and when, and what a person can do.
type Explanation struct {
	Error     recoup.Error
	Policy    string // the version that it is judged by
	Decided   []policy.Reason
	Next      []lifecycle.Deadline // soonest first
	Exits     []lifecycle.Kind
	Owner     string
	Gone      bool // it is archived: nothing happens any more
	Rebasable bool // a newer policy is current; a rebase would apply it
}

// Explain explains an error.
func (e *Engine) Explain(ctx context.Context, c Caller, id recoup.ID) (Explanation, error) {
	found, err := e.Error(ctx, c, id)
	if err != nil {
		return Explanation{}, err
	}
	p := e.Policies.Of(&found)
	x := Explanation{Error: found, Policy: p.Version, Gone: found.State == recoup.Archived, Owner: found.Owner()}
	table := found.Table
	if found.ReportedTable != "" {
		table = found.ReportedTable
	}
	_, x.Decided = p.Explain(policy.Question{
		Table: table, Entity: found.EntityID != "", Code: found.Code,
		Class: found.Class, Category: found.Category, Severity: found.Severity,
	})
	if n := found.StreakCount; n > 0 { // the entity's count, of which its own retries are only a part
		x.Decided = append(x.Decided, policy.Reason{Field: "streak", Value: strconv.Itoa(n), Why: "failures of " + found.StreakFamily + " that this entity has had"})
	}
	if x.Gone {
		return x, nil
	}
	x.Next = lifecycle.Deadlines(p, &found)
	now := e.Now()
	if current := e.Policies.Current(); found.PolicyVersion != current.Version {
		_, _, err := e.rebased(c, current, &found, lifecycle.Rebase{By: c.Name}, now)
		x.Rebasable = err == nil
	}
	for _, try := range []lifecycle.Input{
		lifecycle.Park{By: c.Name, Reason: "?"}, lifecycle.Unpark{By: c.Name}, lifecycle.Resolve{By: c.Name},
		lifecycle.Escalate{By: c.Name}, lifecycle.Assign{By: c.Name, To: "?"}, lifecycle.Review{By: c.Name}, lifecycle.ArchiveNow{By: c.Name},
	} {
		_, effects, err := lifecycle.Step(p, &found, try, now)
		if err == nil {
			x.Exits = append(x.Exits, lifecycle.Kind(effects.History.Input))
		}
	}
	return x, nil
}

// broken reports whether an error is the machinery's and not an answer.
func broken(err error) bool {
	var refusal *lifecycle.Refusal
	return err != nil && !errors.As(err, &refusal) && !errors.Is(err, store.ErrNotFound) && !errors.Is(err, ErrForbidden)
}
