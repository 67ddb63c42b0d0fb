package bench

import (
	"fmt"
	"testing"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/test/conformance"
)

// BenchmarkPlans asks every question that the product asks, of a database with
// 10,000 errors and 10,000 events and of one with a million errors and five
// million events, in turn, and prints both times and their ratio. Target: at
// most 1.5 for the first page of the park queue, the claim of 100, the gate
// check and the top codes.
//
// What must not cost more is history, so both have the same present: the errors
// are mixed alike, and equally many deadlines are missed; the last 25 hours have
// the same 10,000 events, of every code in every service, and the other events lie in the 90 days before, which is as long as they are kept. A span in
// which more happened costs more: whole hours are added up from at most as many
// counts as there are services and codes, and what is left at its two ends, an
// hour at most for a span of whole hours, is counted event by event. The
// questions about days are asked over 7: of the small database they see two days
// and of the large one eight, and their ratio tells that.
//
// With -short the large one has 50,000 errors and 250,000 events.
func BenchmarkPlans(b *testing.B) {
	small, full := volume{errors: 10_000}, volume{errors: 1_000_000, history: 4_990_000}
	if testing.Short() {
		full = volume{errors: 50_000, history: 240_000}
	}
	b.Run("postgres", func(b *testing.B) { askBoth(b, fillPostgres(b, small), fillPostgres(b, full)) })
	b.Run("sqlite", func(b *testing.B) { askBoth(b, fillSQLite(b, small), fillSQLite(b, full)) })
}

// volume is how much a database holds: errors, and events beside the recent ones.
type volume struct{ errors, history int }

// The recent events, and the days over which the others are spread.
const (
	recentEvents = 10_000
	recent       = 25 * time.Hour
	historyDays  = 90
)

// present is the time at which questions are asked: in the middle of an hour.
func present() time.Time { return conformance.Epoch().Add(30 * time.Minute) }

// filled is a database that questions are asked of.
type filled struct {
	database
	correlation recoup.ID // of some events
}

// question is asked of a database; what it returns is undone when the time has
// been taken.
type question struct {
	name string
	ask  func(b *testing.B, f filled) (undo func())
}

func askBoth(b *testing.B, small, full filled) {
	for _, q := range questions() {
		b.Run(q.name, func(b *testing.B) {
			var times [2][]float64
			for b.Loop() {
				for i, f := range []filled{small, full} {
					times[i] = append(times[i], 1e6/rate(1, func() func() { return q.ask(b, f) }))
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(times[0]), "small-µs")
			b.ReportMetric(median(times[1]), "full-µs")
			b.ReportMetric(median(times[1])/median(times[0]), "ratio")
			growths.add([]string{name(b.Name()), fmt.Sprintf("%.0f µs", median(times[0])), fmt.Sprintf("%.0f µs", median(times[1])),
				fmt.Sprintf("%.2f", median(times[1])/median(times[0]))})
		})
	}
}

func questions() []question {
	tables := []string{dol, "outreach.company_target_errors", "people.people_errors"}
	list := []question{
		{"claim_100", claimHundred(tables)},
		counting("gate_check", 1, func(b *testing.B, f filled) (int, error) {
			list, err := f.Blocking(b.Context(), []string{"CO-77"}, 1)
			return len(list), err
		}),
		counting("park_queue", 100, func(b *testing.B, f filled) (int, error) {
			list, _, err := f.ParkQueue(b.Context(), tables, store.Page{})
			return len(list), err
		}),
		counting("top_codes_24h", 10, func(b *testing.B, f filled) (int, error) {
			list, err := f.TopCodes(b.Context(), store.Span{From: present().Add(-24 * time.Hour), To: present()}, 10)
			return len(list), err
		}),
		counting("retryable_rate_7d", 20, func(b *testing.B, f filled) (int, error) {
			list, err := f.RetryableRates(b.Context(), present().AddDate(0, 0, -6), present())
			return len(list), err
		}),
		counting("daily_7d", 1, func(b *testing.B, f filled) (int, error) {
			list, err := f.Daily(b.Context(), store.DailyFilter{Service: "service-7"}, present().AddDate(0, 0, -6), present())
			return len(list), err
		}),
		counting("correlation", 1, func(b *testing.B, f filled) (int, error) {
			list, _, err := f.Events(b.Context(), store.EventFilter{Correlation: f.correlation}, store.Page{})
			return len(list), err
		}),
		counting("events_of_service", 100, func(b *testing.B, f filled) (int, error) {
			list, _, err := f.Events(b.Context(), store.EventFilter{Service: "service-7"}, store.Page{})
			return len(list), err
		}),
		counting("counts", 1, func(b *testing.B, f filled) (int, error) {
			list, err := f.Counts(b.Context())
			return len(list), err
		}),
	}
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		list = append(list, counting("due_"+string(d), 1, func(b *testing.B, f filled) (int, error) {
			ids, err := f.Due(b.Context(), d, present(), 0, 100)
			return len(ids), err
		}))
	}
	for name, filter := range map[string]store.Filter{
		"all": {}, "table": {Table: dol}, "hub": {Tables: tables[:2]}, "state": {Table: dol, State: recoup.Parked}, "entity": {Entity: "CO-77"},
		"code": {Table: dol, Code: "CODE_1"}, "assignee": {AssignedTo: "ada"}, "tier": {Parked: new(true), Tier: 2}, "blocking": {Blocking: new(true)},
		"age": {Table: dol, Before: present().Add(-100 * time.Hour)},
	} {
		list = append(list, counting("list_"+name, 1, func(b *testing.B, f filled) (int, error) {
			list, _, err := f.Errors(b.Context(), filter, store.Page{})
			return len(list), err
		}))
	}
	return list
}

// counting is a question with at least so many answers.
func counting(name string, least int, ask func(*testing.B, filled) (int, error)) question {
	return question{name, func(b *testing.B, f filled) func() {
		n, err := ask(b, f)
		if err != nil || n < least {
			b.Fatal(n, err)
		}
		return func() {}
	}}
}

func claimHundred(tables []string) func(b *testing.B, f filled) func() {
	p := policy.Default()
	return func(b *testing.B, f filled) func() {
		token := recoup.ID{1}
		claimed, err := f.ClaimDue(b.Context(), store.Claim{Tables: tables, Limit: 100, Now: present(),
			Decide: func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
				return lifecycle.Step(p, current, lifecycle.Claim{Token: token, Worker: "w"}, present())
			}})
		if err != nil || len(claimed) != 100 {
			b.Fatal(len(claimed), err)
		}
		return func() { release(b, f, claimed) }
	}
}

// release makes claimed errors due again, as if nobody had claimed them.
func release(b *testing.B, f filled, claimed []recoup.Error) {
	b.Helper()
	steps := make([]store.Step, len(claimed))
	for i := range claimed {
		steps[i] = store.Step{ID: claimed[i].ID, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			free := *current
			free.LeaseToken, free.LeaseWorker, free.LeasedAt, free.LeaseEndsAt = recoup.ID{}, "", time.Time{}, time.Time{}
			free.NextRetryAt = present().AddDate(0, 0, -1)
			return free, lifecycle.Effects{}, nil
		}}
	}
	_, err := f.ApplySteps(b.Context(), present(), steps)
	must(b, err)
}

// mix is what errors of a volume are like, in SQL that both databases read: one
// row for each number i of a table n, which has a time {now}, and times in
// {minute}s before and after it.
const mix = `t as table_name, 'CO-' || (i / 5) as entity_id, 'CODE_' || (i % 5) as code, 'TRANSIENT' as category, 'immediate' as class,
	'1.0.0' as policy_version, s as state, case s when 'RETRY_PENDING' then 'RETRY' when 'ACTIVE' then 'ARCHIVE' else 'PARKED' end as disposition,
	s <> 'ACTIVE' as blocking, {now} - (i % 60000) * {minute} as created_at, {now} - (i % 60000) * {minute} as updated_at,
	{now} + (i % 5000 + 1) * {minute} - (case when i < 10000 then 5 else 0 end) * {minute} as expires_at, 5 as max_retries,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {now} + (i % 200 + 1) * {minute} - (case when i < 10000 then 20 else 0 end) * {minute}
		when s = 'RETRY_PENDING' then {now} + (i % 2000) * {minute} - 1000 * {minute} end as next_retry_at,
	case s when 'RETRY_PENDING' then {now} + (i % 2000 + 1) * {minute} - (case when i < 10000 then 2 else 0 end) * {minute} end as retry_window_ends_at,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {id} end as lease_token,
	case when s = 'RETRY_PENDING' and i % 40 = 5 then {now} + (i % 200 + 1) * {minute} - (case when i < 10000 then 20 else 0 end) * {minute} end as lease_ends_at,
	case when s in ('PARKED', 'ESCALATED') then {now} - (i % 60000) * {minute} end as parked_at,
	case when s in ('PARKED', 'ESCALATED') then 'DATA_QUALITY' end as park_reason, case when s in ('PARKED', 'ESCALATED') then 'team' end as escalated_to,
	case when s in ('PARKED', 'ESCALATED') and i % 3 = 0 then 'ada' end as assigned_to, case s when 'ESCALATED' then 2 else 0 end as escalation_level,
	case s when 'PARKED' then {now} + (i % 1000 + 1) * {minute} - (case when i < 10000 then 100 else 0 end) * {minute} end as next_escalation_at,
	case when i % 2 = 0 then {now} + (i % 1000 + 1) * {minute} - (case when i < 10000 then 50 else 0 end) * {minute} end as next_reminder_at, s <> 'ACTIVE' as replaceable
	from (select i, case i % 4 when 0 then 'outreach.dol_errors' when 1 then 'outreach.company_target_errors'
			when 2 then 'people.people_errors' else 'company.url_discovery_failures' end as t,
		case when i % 4 = 3 then 'ACTIVE' when i % 100 < 80 then 'RETRY_PENDING' when i % 100 < 95 then 'PARKED' else 'ESCALATED' end as s from n) x`

// columns are those of the mix.
const columns = `table_name, entity_id, code, category, class, policy_version, state, disposition, blocking, created_at, updated_at, expires_at,
	max_retries, next_retry_at, retry_window_ends_at, lease_token, lease_ends_at, parked_at, park_reason, escalated_to, assigned_to,
	escalation_level, next_escalation_at, next_reminder_at, replaceable`

// eventRow is what event i is like, {apart} after the one before it.
const eventRow = `{id} as event_id, 'SAMPLE_' || (i / 20 % 40) as code, {id} as correlation_id, 'service-' || (i % 20) as service,
	'GET /v1/things/{id}' as endpoint, 503 as http_status, {begin} + i * {apart} as ts from n`

// sampleCodes registers the codes of the events.
func sampleCodes(insert func(code string)) {
	for i := range 40 {
		insert(fmt.Sprintf("SAMPLE_%d", i))
	}
}
