package demo

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

const (
	day   = 24 * time.Hour
	month = 30 * day

	// sweepEvery is how often the clock acts on errors between the hours of the agenda:
	// more often than a job may be late.
	sweepEvery = 25 * time.Minute
)

// Month is a month of a data pipeline, played on a node by a clock that is moved: by
// night an import fails here and there, workers retry, by day people empty the park
// queue, and two of the days are bad ones.
type Month struct {
	*Parts
	Clock    *Clock
	Tick     func(context.Context) error // does once what the node does beside requests
	Progress func(played, all int)       // in days

	draw *rand.Rand
}

// hour is something that happens every day.
type hour struct {
	at   time.Duration
	do   func(m *Month, ctx context.Context, today time.Time) error
	tick bool // and then what the clock makes a node do
}

// agenda is a day. Between its hours the clock acts on errors.
func agenda() []hour {
	at := func(hours, minutes time.Duration) time.Duration { return hours*time.Hour + minutes*time.Minute }
	retry := (*Month).retry
	return []hour{
		{at(2, 0), (*Month).nightlyImport, true},
		{at(2, 1), retry, false}, {at(2, 7), retry, false}, {at(2, 20), retry, true}, {at(3, 0), retry, false}, {at(5, 0), retry, true},
		{at(8, 40), (*Month).morning, true}, {at(9, 0), retry, false},
		{at(11, 0), (*Month).daytime, false}, {at(11, 10), retry, false},
		{at(13, 0), (*Month).incident, true}, {at(13, 20), retry, false},
		{at(15, 0), (*Month).daytime, false}, {at(15, 10), retry, false},
		{at(18, 0), retry, true}, {at(21, 0), (*Month).evening, true}, {at(22, 0), retry, false},
	}
}

// Play plays the month until now. From then on the clock is the machine's.
func (m *Month) Play(ctx context.Context) error {
	err := m.play(ctx)
	m.Clock.end()
	return errors.Join(err, m.Tick(ctx))
}

func (m *Month) play(ctx context.Context) error {
	m.draw = rand.New(rand.NewPCG(1, 2)) // the same month every time
	first := m.Clock.Now()
	for played := range int(month/day) + 1 {
		m.Progress(played, int(month/day))
		today := first.Add(time.Duration(played) * day)
		for _, h := range agenda() {
			reached, err := m.until(ctx, today.Add(h.at))
			if err != nil || !reached {
				return err
			}
			if err := h.do(m, ctx, today); err != nil {
				return fmt.Errorf("playing %s: %w", m.Clock.Now().Format(time.DateTime), err)
			}
			if !h.tick {
				continue
			}
			if err := m.retry(ctx, today); err != nil { // workers never sleep
				return err
			}
			if err := m.Tick(ctx); err != nil {
				return err
			}
		}
	}
	return nil
}

// until moves the clock on, and lets it act on errors on the way.
func (m *Month) until(ctx context.Context, t time.Time) (reached bool, err error) {
	for at := m.Clock.Now().Add(sweepEvery); at.Before(t); at = at.Add(sweepEvery) {
		if !m.Clock.to(at) {
			return false, nil
		}
		for _, d := range []store.Deadline{store.DueLapse, store.DueWindow, store.DueExpiry, store.DueResolved, store.DueEscalation, store.DueReminder} {
			if _, err := m.Engine.Sweep(ctx, d, sqldb.MaxPage); err != nil {
				return false, err
			}
		}
	}
	return m.Clock.to(t), nil
}

// nightlyImport works through a thousand companies or so, of which some fail.
func (m *Month) nightlyImport(ctx context.Context, today time.Time) error {
	share := 0.3 + 0.4*m.draw.Float64()
	if today.Weekday() == time.Monday {
		share += 0.5 // after two days without filings
	}
	if err := m.report(ctx, "nightly-import", share, samples()); err != nil {
		return err
	}
	return m.processed(ctx, 900+m.draw.IntN(300))
}

// daytime is what fails between nine and five.
func (m *Month) daytime(ctx context.Context, today time.Time) error {
	if weekend(today) {
		return nil
	}
	return m.report(ctx, "enrichment-api", 0.25*m.draw.Float64(), samples())
}

// report reports a share of samples.
func (m *Month) report(ctx context.Context, service string, share float64, list []sample) error {
	p := m.Engine.Policies.Current()
	var reports []recoup.Report
	for _, f := range list {
		if _, ok := p.Table(f.table); !ok {
			continue
		}
		for i := range f.n {
			if m.draw.Float64() > share {
				continue
			}
			r := f.report(service, i)
			r.EntityID = fmt.Sprintf("CO-2026%04d-%06d", m.Clock.Now().Month()*100+5, m.draw.IntN(400)+1)
			reports = append(reports, r)
		}
	}
	_, err := m.Engine.Report(ctx, caller, reports)
	return err
}

// processed counts what an import got done, so that rates have something to be of.
func (m *Month) processed(ctx context.Context, n int) error {
	p := m.Engine.Policies.Current()
	minute := m.Clock.Now().Truncate(time.Minute)
	var counts []store.Processed
	for _, table := range []string{"outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"} {
		if _, ok := p.Table(table); ok {
			counts = append(counts, store.Processed{Table: table, Minute: minute, N: int64(n)})
		}
	}
	return m.Store.AddProcessed(ctx, counts)
}

// retry is the workers: most of what they retry succeeds.
func (m *Month) retry(ctx context.Context, _ time.Time) error {
	claimed, err := m.Engine.Claim(ctx, caller, recoup.RetryClaim{Worker: "nightly-import-1", Limit: sqldb.MaxPage})
	if err != nil {
		return err
	}
	var acts []engine.Act
	for i := range claimed {
		e := &claimed[i]
		act := engine.Act{ID: e.ID, Input: lifecycle.Succeed{Token: e.LeaseToken}}
		if m.draw.Float64() > 0.72 {
			failure, err := m.Engine.Failure(string(e.Code), nil, 0)
			if err != nil {
				return err
			}
			act.Input = lifecycle.Fail{Token: e.LeaseToken, Failure: failure, Reason: e.Message}
		}
		acts = append(acts, act)
	}
	outcomes, err := m.Engine.Apply(ctx, caller, acts)
	return errors.Join(err, unexpected(outcomes))
}

// weekend reports whether nobody is at work.
func weekend(t time.Time) bool { return t.Weekday() == time.Saturday || t.Weekday() == time.Sunday }
