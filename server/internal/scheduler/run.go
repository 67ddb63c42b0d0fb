package scheduler

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Statuses returns all jobs in their order, as the store knows them: whoever leads.
func (c *Clock) Statuses(ctx context.Context) ([]wire.Job, error) {
	known, err := c.Store.Jobs(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]wire.Job, len(c.Jobs))
	for i, j := range c.Jobs {
		p := resume(j, known, time.Time{})
		k := p.saved
		list[i] = wire.Job{
			Name: j.Name, About: j.About, Every: int64(j.Every.Seconds()), Late: p.note.Late, Lag: int64(k.Lag.Seconds()),
			StartedAt: k.StartedAt, FinishedAt: k.FinishedAt, Rows: k.Rows, Runs: k.Runs, Failures: k.Failures, Error: k.Error,
		}
		if !k.StartedAt.IsZero() {
			list[i].NextAt = k.StartedAt.Add(j.Every)
		}
	}
	return list, nil
}

// Leader is the node that leads, or empty. Where nobody does because the nodes are idle it is
// this one, which leads when there is something to do.
func (c *Clock) Leader(ctx context.Context) (string, error) {
	term, err := c.Store.Leader(ctx, Leadership)
	if err != nil || !c.Now().Before(term.Until) {
		return c.restedAs(), err
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

// maxChunks is how many chunks a person's request does at most.
const maxChunks = 100

// Run runs a job now, wherever it is asked for, chunk by chunk, for about as long as
// the budget. Beside the leader's own run it does no harm.
func (c *Clock) Run(ctx context.Context, name string, budget time.Duration) (wire.JobRun, error) {
	j, err := c.job(name)
	if err != nil {
		return wire.JobRun{}, err
	}
	ran := wire.JobRun{Name: name}
	until := c.Now().Add(budget)
	for range maxChunks {
		turn := Run{Now: c.Now()}
		if j.Fenced {
			if turn.Term = c.Term(); !c.Leads() {
				return ran, ErrNotLeader
			}
		}
		rows, more, err := j.Chunk(ctx, turn)
		ran.Rows += int64(rows)
		if ran.More = more && rows > 0; err != nil || !ran.More || !c.Now().Before(until) {
			return ran, err
		}
	}
	return ran, nil
}

// MaxPreview is how far a preview counts.
const MaxPreview = 10_000

// Preview says how much a job would do now; more than MaxPreview is not counted.
func (c *Clock) Preview(ctx context.Context, name string) (wire.JobRun, error) {
	j, err := c.job(name)
	if err != nil || j.Overdue == nil {
		return wire.JobRun{Name: name, DryRun: true, Uncounted: err == nil}, err
	}
	overdue, err := j.Overdue(ctx, c.Now(), MaxPreview)
	return wire.JobRun{Name: name, DryRun: true, Rows: int64(overdue.N), More: overdue.N == MaxPreview}, err
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
