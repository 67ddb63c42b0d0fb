package bench

import (
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// question is asked of a database. Ask prepares it; the turn is what is timed, and
// what that returns undoes it.
type question struct {
	name string
	ask  func(f filled) turn
}

// hundred is how many errors are claimed, answered, reported and archived at once.
const hundred = 100

// governed are the tables that are worked on.
func governed() []string {
	return []string{dol, "outreach.company_target_errors", "people.people_errors"}
}

func questions() []question {
	list := []question{
		counting("gate_check", 1, func(f filled) (int, error) {
			list, err := f.Blocking(f.Context(), []string{"CO-77"}, 1)
			return len(list), err
		}),
		counting("park_queue", 100, func(f filled) (int, error) {
			list, _, err := f.ParkQueue(f.Context(), governed(), sqldb.Page{})
			return len(list), err
		}),
		counting("top_codes_24h", 10, func(f filled) (int, error) {
			list, err := f.TopCodes(f.Context(), store.Span{From: present().Add(-24 * time.Hour), To: present()}, 10)
			return len(list), err
		}),
		counting("retryable_rate_7d", 20, func(f filled) (int, error) {
			list, err := f.RetryableRates(f.Context(), present().AddDate(0, 0, -6), present())
			return len(list), err
		}),
		counting("daily_7d", 1, func(f filled) (int, error) {
			list, err := f.Daily(f.Context(), store.DailyFilter{Service: "service-7"}, present().AddDate(0, 0, -6), present())
			return len(list), err
		}),
		counting("correlation", 1, func(f filled) (int, error) {
			list, _, err := f.Events(f.Context(), store.EventFilter{Correlation: f.correlation}, sqldb.Page{})
			return len(list), err
		}),
		counting("events_of_service", 100, func(f filled) (int, error) {
			list, _, err := f.Events(f.Context(), store.EventFilter{Service: "service-7"}, sqldb.Page{})
			return len(list), err
		}),
		counting("groups", 1, func(f filled) (int, error) {
			list, _, err := f.Groups(f.Context(), store.GroupFilter{Pipeline: "pipeline-7"}, sqldb.Page{})
			return len(list), err
		}),
		counting("counts", 1, func(f filled) (int, error) {
			list, err := f.Counts(f.Context())
			return len(list), err
		}),
		{"scrape", scrape},
	}
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		list = append(list, counting("due_"+string(d), 1, func(f filled) (int, error) {
			ids, err := f.Due(f.Context(), d, present(), 0, 100)
			return len(ids), err
		}))
	}
	filters := map[string]store.Filter{
		"all": {}, "table": {Table: dol}, "hub": {Tables: governed()[:2]}, "state": {Table: dol, State: recoup.Parked}, "entity": {Entity: "CO-77"},
		"code": {Table: dol, Code: "CODE_1"}, "assignee": {AssignedTo: "ada"}, "tier": {Parked: new(true), Tier: 2}, "blocking": {Blocking: new(true)},
		"age": {Table: dol, Before: present().Add(-100 * time.Hour)},
	}
	for _, name := range slices.Sorted(maps.Keys(filters)) {
		list = append(list, counting("list_"+name, 1, func(f filled) (int, error) {
			list, _, err := f.Errors(f.Context(), filters[name], sqldb.Page{})
			return len(list), err
		}))
	}
	return append(list, verbs()...)
}

// counting is a question with at least so many answers.
func counting(name string, least int, ask func(filled) (int, error)) question {
	return question{name, func(f filled) turn {
		return just(func() {
			if n, err := ask(f); err != nil || n < least {
				f.Fatal(n, err)
			}
		})
	}}
}

// verbs are the questions that change something. Acknowledged and archived errors
// are replaced by new ones, so that there is always enough to do.
func verbs() []question {
	return []question{
		{"claim_100", func(f filled) turn {
			return func() func() {
				leased := f.lease()
				return func() { release(f, leased) }
			}
		}},
		{"acknowledge_100", func(f filled) turn {
			leased := f.lease()
			return func() func() {
				must(f.B, f.acknowledge(leased))
				return func() { f.reportAt(present().Add(-time.Hour)) }
			}
		}},
		{"report_100", func(f filled) turn { return just(func() { f.reportAt(present()) }) }},
		{"sweep_100", func(f filled) turn {
			f.reportAt(present().AddDate(-2, 0, 0)) // before all others
			return just(func() {
				if n := f.sweep(store.DueExpiry, lifecycle.Expire{}, hundred); n < hundred {
					f.Fatal("swept", n)
				}
			})
		}},
	}
}

// lease claims a hundred errors.
func (f filled) lease() []recoup.Error {
	f.Helper()
	token := f.ids.New(present())
	leased, err := f.ClaimDue(f.Context(), store.Claim{Tables: governed(), Limit: hundred, Now: present(), Like: "claim", Token: token, Worker: "w",
		Decide: func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(f.policy, current, lifecycle.Claim{Token: token, Worker: "w"}, present())
		}})
	if err != nil || len(leased) != hundred {
		f.Fatal(len(leased), err)
	}
	return leased
}

// reportAt reports a hundred errors at a time.
func (f filled) reportAt(at time.Time) {
	f.Helper()
	f.now = at
	f.report(hundred)
	f.now = present()
}

// release makes claimed errors due again, as if nobody had claimed them.
func release(f filled, claimed []recoup.Error) {
	f.Helper()
	steps := make([]store.Step, len(claimed))
	for i := range claimed {
		steps[i] = store.Step{ID: claimed[i].ID, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			free := *current
			free.LeaseToken, free.LeaseWorker, free.LeasedAt, free.LeaseEndsAt = recoup.ID{}, "", time.Time{}, time.Time{}
			free.NextRetryAt = present().AddDate(0, 0, -1)
			return free, lifecycle.Effects{}, nil
		}}
	}
	_, err := f.ApplySteps(f.Context(), present(), steps)
	must(f.B, err)
}

// scrape reads /metrics.
func scrape(f filled) turn {
	handler := f.metrics()
	return just(func() {
		w := httptest.NewRecorder()
		handler.ServeHTTP(w, httptest.NewRequestWithContext(f.Context(), http.MethodGet, "http://127.0.0.1/metrics", http.NoBody))
		if w.Code != http.StatusOK || !strings.Contains(w.Body.String(), "recoup_blocking_errors") {
			f.Fatalf("%d %s", w.Code, w.Body)
		}
	})
}

// newMetrics starts a node when metrics are asked for the first time. Whatever is read
// once more was read too long ago to be answered from memory.
func newMetrics(b *testing.B, s database) func() http.Handler {
	now := present()
	start := sync.OnceValue(func() http.Handler {
		all, ok := s.(app.Store)
		if !ok {
			b.Fatal("the store lacks a verb of a node")
		}
		node, err := app.OpenOn(b.Context(), all, app.Options{Listen: "127.0.0.1:0", Demo: true, Now: func() time.Time { return now }})
		must(b, err)
		return node.Handler()
	})
	return func() http.Handler {
		now = now.Add(time.Minute)
		return start()
	}
}
