package demo

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// choice is what an operator does with a share of the park queue.
type choice struct {
	act   string
	upTo  float64 // of what is drawn between 0 and 1
	input lifecycle.Input
	why   string
}

func choices() []choice {
	return []choice{
		{"resolve", 0.35, lifecycle.Resolve{Reason: "corrected at the source"}, "corrected at the source"},
		{"resolve", 0.55, lifecycle.Resolve{Reason: "matched by the newer filing"}, "matched by the newer filing"},
		{"unpark", 0.70, lifecycle.Unpark{Reason: "the data is there now"}, "the data is there now"},
		{"assign", 0.76, lifecycle.Assign{To: "ada", Reason: "knows this filing"}, "knows this filing"},
		{"archive", 0.80, lifecycle.ArchiveNow{Reason: "the company no longer exists"}, "the company no longer exists"},
		{"escalate", 0.83, lifecycle.Escalate{Reason: "third time this week"}, "third time this week"},
	}
}

// morning is an operator who empties the park queue, on days of work. Some of it is left
// for later, and some always is, which is how errors come to be escalated.
func (m *Month) morning(ctx context.Context, today time.Time) error {
	if weekend(today) {
		return nil
	}
	parked, _, err := m.Engine.ParkQueue(ctx, caller, nil, sqldb.Page{Limit: 60})
	if err != nil {
		return err
	}
	all := choices()
	chosen := make([][]recoup.ID, len(all))
	for i := range parked {
		e := &parked[i]
		drawn := m.draw.Float64()
		if t, ok := m.Engine.Policies.Table(e.Table); !ok || t.DeadLetter || strings.HasSuffix(e.EntityID, "7") {
			continue
		}
		if k := slices.IndexFunc(all, func(c choice) bool { return drawn < c.upTo }); k >= 0 {
			chosen[k] = append(chosen[k], e.ID)
		}
	}
	operator := engine.Caller{Name: []string{"ada", "grace", "linus"}[today.YearDay()%3]}
	for k, ids := range chosen {
		if len(ids) == 0 {
			continue
		}
		if _, err := m.Engine.Bulk(ctx, operator, engine.Bulk{Act: all[k].act, IDs: ids, Input: all[k].input, Reason: all[k].why}); err != nil {
			return err
		}
	}
	return nil
}

// The bad days, counted back from today.
const (
	providerDown = 17 * day
	modelDown    = 9 * day
	bug          = 2 * day // and once more the night after
	lastNight    = day
)

// incident is what happens on a bad day.
func (m *Month) incident(ctx context.Context, today time.Time) error {
	switch m.ago(today) {
	case providerDown:
		return m.report(ctx, "enrichment-api", 1, []sample{
			{"people.people_errors", "VALIDATION_SERVICE_ERROR", "", "millionverifier answers 503", 90},
			{"outreach.company_target_errors", "NETWORK_TIMEOUT", "", "the resolver did not answer within 10 s", 40},
		})
	case modelDown:
		return m.modelOutage(ctx)
	case bug, lastNight:
		return m.report(ctx, "enrichment-api", 1, []sample{{"people.people_errors", "RUNTIME_BUG", "", "index out of range [3] with length 3", 1}})
	}
	return nil
}

// evening is when last night's outage began, which is replayed now.
func (m *Month) evening(ctx context.Context, today time.Time) error {
	if m.ago(today) != lastNight {
		return nil
	}
	return m.record(ctx, rateLimited)
}

func (m *Month) ago(today time.Time) time.Duration {
	return m.Clock.machine().UTC().Truncate(day).Sub(today)
}

// unexpected are the failures of acts that are more than a refusal: an error may have
// been replaced meanwhile, and not every table allows every act.
func unexpected(outcomes []store.Outcome) (err error) {
	for _, o := range outcomes {
		if _, refused := errors.AsType[*lifecycle.Refusal](o.Err); o.Err != nil && !refused {
			err = errors.Join(err, o.Err)
		}
	}
	return err
}
