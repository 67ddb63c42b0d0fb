package engine

import (
	"context"
	"errors"
	"log/slog"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// The bounds of what is set apart.
const (
	// refusedPause is for how long the clock leaves an error alone whose change the
	// database has refused: claims and sweeps pass it over until then.
	refusedPause = 5 * time.Minute

	// maxRefused is how many are set apart at a time. Where more are refused something
	// is wrong with the database and not with an error, and claims fail and say so.
	maxRefused = 1000
)

// change is what was to become of an error: a claim, or what a deadline causes.
type change struct {
	id recoup.ID
	by store.Deadline // empty: a claim
}

// refusal is a change that the database refuses.
type refusal struct {
	why   string
	until time.Time // when it is tried again
}

// refusals are the errors whose changes the database refuses, by a constraint or a
// trigger, as this node has found. One such error must not fail those that are due
// beside it.
type refusals struct {
	mu  sync.Mutex
	of  map[change]refusal
	log *slog.Logger
}

func newRefusals(log *slog.Logger) *refusals {
	return &refusals{of: map[change]refusal{}, log: log}
}

// add sets an error apart, and logs it unless that is known. It reports whether there
// was room.
func (r *refusals) add(e *recoup.Error, by store.Deadline, err error, now time.Time) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	key := change{e.ID, by}
	known, again := r.of[key]
	if !again && len(r.of) >= maxRefused {
		return false
	}
	r.of[key] = refusal{err.Error(), now.Add(refusedPause)}
	if known.why != err.Error() {
		r.log.Error("the database refuses to change an error; claims and scheduled jobs pass it over", "error_id", e.ID, "table", e.Table, "next_try", now.Add(refusedPause), "err", err)
	}
	return true
}

// claimed is called with what the database has let workers lease.
func (r *refusals) claimed(list []recoup.Error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for i := range list {
		delete(r.of, change{id: list[i].ID})
	}
}

// apart returns the errors that a claim or a sweep is to pass over. What nobody has tried again for
// long is over, whatever became of it, and forgotten.
func (r *refusals) apart(by store.Deadline, now time.Time) []recoup.ID {
	r.mu.Lock()
	defer r.mu.Unlock()
	maps.DeleteFunc(r.of, func(_ change, f refusal) bool { return now.Sub(f.until) > refusedPause })
	var ids []recoup.ID
	for key, f := range r.of {
		if key.by == by && now.Before(f.until) {
			ids = append(ids, key.id)
		}
	}
	return ids
}

// reason returns why the database refuses to change an error; empty: it does not, as far
// as this node knows.
func (r *refusals) reason(id recoup.ID) string {
	r.mu.Lock()
	defer r.mu.Unlock()
	for key, f := range r.of {
		if key.id == id {
			return f.why
		}
	}
	return ""
}

// Refused returns how many errors this node passes over because the database refuses to
// change them.
func (e *Engine) Refused() int {
	e.refused.apart("", e.Now())
	e.refused.mu.Lock()
	defer e.refused.mu.Unlock()
	seen := map[recoup.ID]bool{}
	for key := range e.refused.of {
		seen[key.id] = true
	}
	return len(seen)
}

// claimDue claims what is due. What the database refuses to lease is set apart, so that
// it keeps nothing waiting that is due with it or behind it.
func (e *Engine) claimDue(ctx context.Context, claim store.Claim) ([]recoup.Error, error) {
	const tries = 8 // of which each sets at least one apart
	for range tries {
		claim.Without = e.refused.apart("", e.Now())
		before := e.Policies.Current()
		leased, refusal := e.Store.ClaimDue(ctx, claim)
		e.refused.claimed(leased)
		if !errors.Is(refusal, store.ErrRefused) || len(leased) >= claim.Limit {
			return leased, refusal
		}
		if _, err := e.Policies.renew(ctx, before); err != nil && len(leased) == 0 {
			return nil, err
		}
		rest := claim
		rest.Limit -= len(leased)
		more, found, err := e.claimApart(ctx, rest)
		if leased = append(leased, more...); len(leased) > 0 {
			return leased, nil // what is leased is leased
		}
		if err != nil || !found {
			return nil, err
		}
	}
	return nil, nil
}

// claimApart does a claim again that the database has refused, in parts, until what it
// refuses stands alone, and reports whether it found that. Each error is decided for
// itself.
func (e *Engine) claimApart(ctx context.Context, claim store.Claim) (leased []recoup.Error, found bool, err error) {
	claim.Like = nil
	due, err := e.dueFor(ctx, claim)
	if err != nil {
		return nil, false, err
	}
	decide := claim.Decide
	outcomes, err := batch.Apart(due, func(part []recoup.Error) ([]store.Outcome, error) {
		claim.Decide = func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			if !slices.ContainsFunc(part, func(e recoup.Error) bool { return e.ID == current.ID }) {
				return recoup.Error{}, lifecycle.Effects{}, errAside
			}
			return decide(current, now)
		}
		list, err := e.Store.ClaimDue(ctx, claim)
		leased = append(leased, list...)
		return make([]store.Outcome, len(part)), err
	}, refused)
	e.refused.claimed(leased)
	for i := range outcomes {
		if outcomes[i].Err == nil {
			continue
		}
		found = true
		if !e.refused.add(&due[i], "", outcomes[i].Err, e.Now()) {
			err = outcomes[i].Err
		}
	}
	return leased, found, err
}

// dueFor returns what a claim would lease, and leases nothing.
func (e *Engine) dueFor(ctx context.Context, claim store.Claim) (due []recoup.Error, err error) {
	seen := map[recoup.ID]bool{} // a claim that starts over asks again
	claim.Decide = func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		if !seen[current.ID] {
			seen[current.ID], due = true, append(due, *current)
		}
		return recoup.Error{}, lifecycle.Effects{}, errAside
	}
	_, err = e.Store.ClaimDue(ctx, claim)
	return due, err
}

// errAside leaves an error as it is: it is not of the part of a claim that is tried.
var errAside = errors.New("not of this part of the claim")
