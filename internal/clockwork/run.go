package clockwork

import (
	"context"
	"fmt"
	"slices"
	"time"

	"recoup/internal/store"
)

// Status is a job, how it went, and how far it is behind at the moment.
type Status struct {
	Job
	Known  store.Job
	Behind bool      // people have been notified that it is late
	Next   time.Time // when it is to be begun again
}

// Statuses returns all jobs in their order, as the store knows them: whoever leads.
func (c *Clock) Statuses(ctx context.Context) ([]Status, error) {
	known, err := c.Store.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]Status, len(c.Jobs))
	for i, j := range c.Jobs {
		p := resume(j, known, time.Time{})
		list[i] = Status{Job: j, Known: p.saved, Behind: p.note.Late}
		if !p.saved.StartedAt.IsZero() {
			list[i].Next = p.saved.StartedAt.Add(j.Every)
		}
	}
	return list, nil
}

// Leader is the node that leads, or empty.
func (c *Clock) Leader(ctx context.Context) (string, error) {
	term, err := c.Store.Leader(ctx, Leadership)
	if err != nil || !c.Now().Before(term.Until) {
		return "", err
	}
	return term.Holder, nil
}

func (c *Clock) job(name string) (*Job, error) {
	i := slices.IndexFunc(c.Jobs, func(j Job) bool { return j.Name == name })
	if i < 0 {
		return nil, fmt.Errorf("%w: %q", ErrNoJob, name)
	}
	return &c.Jobs[i], nil
}

// Ran is what came of a job that a person has asked for.
type Ran struct {
	Rows int  // moved, or to be moved
	More bool // there is more to do, at once

	// Uncounted says, of a preview, that nobody knows before how much there is.
	Uncounted bool
}

// maxChunks is how many chunks a person's request does at most.
const maxChunks = 100

// Run runs a job now, wherever it is asked for, chunk by chunk, for about as long as
// the budget. Beside the leader's own run it does no harm.
func (c *Clock) Run(ctx context.Context, name string, budget time.Duration) (Ran, error) {
	j, err := c.job(name)
	if err != nil {
		return Ran{}, err
	}
	var ran Ran
	until := c.Now().Add(budget)
	for range maxChunks {
		turn := Turn{Now: c.Now()}
		if j.Fenced {
			if turn.Term = c.Term(); !c.Leads() {
				return ran, ErrNotLeader
			}
		}
		rows, more, err := j.Chunk(ctx, turn)
		ran.Rows += rows
		if ran.More = more && rows > 0; err != nil || !ran.More || !c.Now().Before(until) {
			return ran, err
		}
	}
	return ran, nil
}

// MaxPreview is how far a preview counts.
const MaxPreview = 10_000

// Preview says how much a job would do now; more than MaxPreview is not counted.
func (c *Clock) Preview(ctx context.Context, name string) (Ran, error) {
	j, err := c.job(name)
	if err != nil || j.Overdue == nil {
		return Ran{Uncounted: true}, err
	}
	overdue, err := j.Overdue(ctx, c.Now(), MaxPreview)
	return Ran{Rows: overdue.N, More: overdue.N == MaxPreview}, err
}

// Lags returns how far each job is behind at the moment, of those that can be. It
// asks the store and no leader, so that it is right where none is at work.
func (c *Clock) Lags(ctx context.Context) (map[string]time.Duration, error) {
	now, lags := c.Now(), map[string]time.Duration{}
	for i := range c.Jobs {
		if c.Jobs[i].Overdue == nil {
			continue
		}
		lag, err := c.Jobs[i].lag(ctx, now)
		if err != nil {
			return nil, err
		}
		lags[c.Jobs[i].Name] = lag
	}
	return lags, nil
}
