package engine

import (
	"context"
	"errors"
	"strconv"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Explain explains an error.
func (e *Engine) Explain(ctx context.Context, c Caller, id recoup.ID) (recoup.Explanation, error) {
	found, err := e.Error(ctx, c, id)
	if err != nil {
		return recoup.Explanation{}, err
	}
	p := e.Policies.Of(&found)
	x := recoup.Explanation{Error: found, Policy: p.Version, Owner: found.Owner(), Next: []recoup.Deadline{}, Exits: []string{}, Refused: e.refused.reason(id)}
	table := found.Table
	if found.ReportedTable != "" {
		table = found.ReportedTable
	}
	_, x.Decided = p.Explain(policy.Question{
		Table: table, Entity: found.EntityID != "", Code: found.Code,
		Class: found.Class, Category: found.Category, Severity: found.Severity,
	})
	if n := found.StreakCount; n > 0 { // the entity's count, of which its own retries are only a part
		x.Decided = append(x.Decided, recoup.Rule{Field: "streak", Value: strconv.Itoa(n), Why: "failures of " + found.StreakFamily + " that this entity has had"})
	}
	if found.State == recoup.Archived { // nothing happens any more
		return x, nil
	}
	for _, d := range lifecycle.Deadlines(p, &found) {
		x.Next = append(x.Next, recoup.Deadline{At: d.At, What: string(d.Kind)})
	}
	now := e.Now()
	if current := e.Policies.Current(); found.PolicyVersion != current.Version {
		if _, _, err := e.rebased(c, current, &found, lifecycle.Rebase{By: c.Name}, now); err == nil {
			x.Newer = current.Version
		}
	}
	for _, act := range lifecycle.Exits() {
		try := lifecycle.NewAct(act.Name, c.Name, recoup.Act{Reason: "?", To: "?"})
		if _, _, err := lifecycle.Step(p, &found, try, now); err == nil {
			x.Exits = append(x.Exits, string(act.Name))
		}
	}
	return x, nil
}

// broken reports whether an error is the machinery's and not an answer.
func broken(err error) bool {
	var refusal *lifecycle.Refusal
	return err != nil && !errors.As(err, &refusal) && !errors.Is(err, sqldb.ErrNotFound) && !errors.Is(err, ErrForbidden)
}
