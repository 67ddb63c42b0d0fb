package alert

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// PerTable is the scope of a metric that is measured for each table. No rule has it.
const PerTable policy.Scope = "table"

// origin is which figures a metric is made of, and so what it can be measured for.
type origin int

const (
	fromTables   origin = iota + 1 // what happened to errors in a window
	fromToday                      // the same, since midnight
	fromLevels                     // what errors there are at the moment
	fromRequests                   // what services did
	fromEvents                     // the ledger
	fromQueues                     // what is due, and who claims it
)

func source(metric string) origin {
	switch metric {
	case "error_rate", "park_rate", "retry_exhaustion_rate", "escalation_rate", RetrySuccess:
		return fromTables
	case "parked_today":
		return fromToday
	case "parked_errors", "blocking_errors", "average_ttl_utilization":
		return fromLevels
	case "request_error_rate", RequestDuration, FailedDuration:
		return fromRequests
	case "database_errors", "external_service_errors":
		return fromEvents
	case Unattended:
		return fromQueues
	}
	return 0
}

// Unattended is for how many seconds the oldest of what is due has waited where no worker
// claims: of all tables and lanes of a scope the longest.
const Unattended = "unattended_seconds"

// Metrics of spec 001 that no rule compares.
const (
	RetrySuccess    = "retry_success_rate"              // attempts that went well, per attempt
	RequestDuration = "request_duration_seconds"        // how long a request took on average
	FailedDuration  = "failed_request_duration_seconds" // how long one that failed did
)

// Scopes lists what a metric can be measured for.
func Scopes(metric string) []policy.Scope {
	switch source(metric) {
	case fromTables, fromToday, fromLevels:
		return []policy.Scope{policy.PerPlatform, policy.PerHub, PerTable}
	case fromRequests:
		return []policy.Scope{policy.PerPlatform, policy.PerService}
	case fromEvents:
		return []policy.Scope{policy.PerPlatform, policy.PerProvider}
	case fromQueues:
		return []policy.Scope{policy.PerPlatform, policy.PerHub}
	}
	return nil
}

// Read returns what a rule looks at: of every scope that it is counted for, or of
// the hub that it names.
func (f *Figures) Read(rule *policy.Alert) []Sample {
	list := f.measure(rule.Metric, rule.Window, rule.Per, true)
	if rule.Hub == "" {
		return list
	}
	return slices.DeleteFunc(list, func(s Sample) bool { return s.Scope != rule.Hub })
}

// Measure returns a metric over a window, for every scope of a kind, by name. Every
// hub and table has a value, also where nothing happened; what a metric cannot be
// measured for has none.
func (f *Figures) Measure(metric string, window time.Duration, per policy.Scope) []Sample {
	return f.measure(metric, window, per, false)
}

// measure leaves errors of the past out where a rule is judged.
func (f *Figures) measure(metric string, window time.Duration, per policy.Scope, judged bool) []Sample {
	if !slices.Contains(Scopes(metric), per) {
		return nil
	}
	sums := f.sums(metric, window, per, judged)
	switch per {
	case policy.PerPlatform:
		sums.at("")
	case policy.PerHub:
		for _, hub := range f.policy.Hubs {
			sums.at(hub.ID)
		}
	case PerTable:
		for _, t := range f.policy.Tables() {
			sums.at(t.Name)
		}
	}
	list := make([]Sample, 0, len(sums))
	for scope, sum := range sums {
		list = append(list, sum.sample(metric, scope))
	}
	slices.SortFunc(list, func(a, b Sample) int { return cmp.Compare(a.Scope, b.Scope) })
	return list
}

// sum is what a value is made of: a part of a whole, or, without a whole, a number.
type sum struct {
	part, whole float64
	samples     int64
}

func (s *sum) sample(metric, scope string) Sample {
	value := s.part
	if ratio(metric) {
		value = 0
		if s.whole > 0 {
			value = s.part / s.whole
		}
	}
	return Sample{Metric: metric, Scope: scope, Value: value, Samples: s.samples}
}

// ratio reports whether a metric is a part of a whole.
func ratio(metric string) bool {
	switch metric {
	case "parked_errors", "blocking_errors", "parked_today", "database_errors", "external_service_errors", Unattended:
		return false
	}
	return true
}

// sums are what is known of each scope.
type sums map[string]*sum

func (s sums) at(scope string) *sum {
	if s[scope] == nil {
		s[scope] = &sum{}
	}
	return s[scope]
}

func (s sums) add(scope string, part, whole float64, samples int64) {
	at := s.at(scope)
	at.part += part
	at.whole += whole
	at.samples += samples
}

func (f *Figures) sums(metric string, window time.Duration, per policy.Scope, judged bool) sums {
	out := sums{}
	switch source(metric) {
	case fromTables:
		f.addActivity(out, metric, window, per)
	case fromToday:
		for _, a := range f.activity[today] {
			out.add(f.scope(per, a.Table), float64(a.LastParked), 0, a.LastParked)
		}
	case fromLevels:
		for _, l := range f.levels {
			part, n := level(metric, l, judged)
			out.add(f.scope(per, l.Table), part, float64(n), n)
		}
	case fromRequests:
		f.addRequests(out, metric, window, per)
	case fromEvents:
		f.addEvents(out, metric, window, per)
	case fromQueues:
		for i := range f.queues {
			q := &f.queues[i]
			at := out.at(f.queueScope(per, q))
			at.part = max(at.part, q.Unattended(f.Now).Seconds())
		}
	}
	return out
}

// queueScope names what a table or a lane counts for.
func (f *Figures) queueScope(per policy.Scope, q *store.QueueLevel) string {
	if per == policy.PerHub && q.Table == "" {
		return f.policy.PipelineHub(q.Lane.Pipeline).ID
	}
	return f.scope(per, q.Table)
}

// scope names what a table counts for. One that has left the policy counts for the
// hub of the orphans.
func (f *Figures) scope(per policy.Scope, table string) string {
	switch per {
	case policy.PerHub:
		if t, ok := f.policy.Table(table); ok {
			return t.Hub
		}
		return f.policy.OrphanTable.Hub
	case PerTable:
		return table
	}
	return ""
}

// addActivity adds what happened to errors. A table of which nobody says how much
// it has processed has no part in an error rate.
func (f *Figures) addActivity(out sums, metric string, window time.Duration, per policy.Scope) {
	processed := map[string]int64{}
	for _, p := range f.processed[window] {
		processed[p.Table] += p.N
	}
	reported := map[string]int64{}
	for i := range f.activity[window] {
		a := &f.activity[window][i]
		if metric == "error_rate" {
			reported[a.Table] = a.Reported
			continue
		}
		part, whole := share(metric, a)
		out.add(f.scope(per, a.Table), float64(part), float64(whole), whole)
	}
	if metric != "error_rate" {
		f.addWaiting(out, metric, per)
		return
	}
	for table, n := range processed {
		if table != "" {
			out.add(f.scope(per, table), float64(reported[table]), float64(n), n)
		}
	}
}

// share is the part and the whole that a table's activity adds to a rate: each error once.
// What is in the park queue now is missing: see [Figures.addWaiting].
func share(metric string, a *store.Activity) (part, whole int64) {
	switch metric {
	case "park_rate":
		return a.Unparked, a.NotParked
	case "escalation_rate":
		return a.Deescalated, a.Unparked
	case "retry_exhaustion_rate":
		return a.Exhausted, a.Retried
	}
	return a.Succeeded, a.Attempts
}

// addWaiting adds what is in the park queue now, since whenever. What a report of the past has
// parked is in no rate.
func (f *Figures) addWaiting(out sums, metric string, per policy.Scope) {
	for _, l := range f.levels {
		scope := f.scope(per, l.Table)
		switch metric {
		case "park_rate":
			parked := l.Parked - l.Past.Parked
			out.add(scope, float64(parked), float64(parked), parked)
		case "escalation_rate":
			parked := l.Parked - l.Past.Parked
			out.add(scope, float64(l.Escalated-l.Past.Escalated), float64(parked), parked)
		}
	}
}

func level(metric string, l store.Level, judged bool) (value float64, n int64) {
	if judged {
		l.Parked, l.Blocking = l.Parked-l.Past.Parked, l.Blocking-l.Past.Blocking
	}
	switch metric {
	case "parked_errors":
		return float64(l.Parked), l.Parked
	case "blocking_errors":
		return float64(l.Blocking), l.Blocking
	}
	return l.Used, l.Expiring
}

// addRequests adds what services did. Work on a table is no request.
func (f *Figures) addRequests(out sums, metric string, window time.Duration, per policy.Scope) {
	for _, p := range f.processed[window] {
		if p.Table != "" {
			continue
		}
		scope, part := "", float64(p.Failed)
		if per == policy.PerService {
			scope = p.Service
		}
		whole := p.N
		switch metric {
		case RequestDuration:
			part = p.Duration.Seconds()
		case FailedDuration:
			part = p.FailedDuration.Seconds()
			if whole = p.Failed; part == 0 {
				whole = 0 // it was not timed
			}
		}
		out.add(scope, part, float64(whole), whole)
	}
}

// addEvents counts events of a group of codes. Those that name no provider count
// for all together.
func (f *Figures) addEvents(out sums, metric string, window time.Duration, per policy.Scope) {
	group := fault.GroupDatabase
	if metric == "external_service_errors" {
		group = fault.GroupExternalService
	}
	codes := f.group(group)
	for _, n := range f.recent[window] {
		scope := ""
		if per == policy.PerProvider {
			scope = n.ExternalService
		}
		if slices.Contains(codes, n.Code) && (scope != "" || per == policy.PerPlatform) {
			out.add(scope, float64(n.N), 0, n.N)
		}
	}
}
