package postgres

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// failureStatement is one statement that records failed retries which are retried once more:
// it applies remembered decisions to every error that agrees with one they were made on,
// and leaves the others alone; for successes recoup.settle does. Its parameters are the
// ids and tokens of the results, the time, and the decisions: the columns in which an
// error has to agree with each, and what is then written.
//
// An error is written as the version that agreed, or not at all: one that somebody
// else changes meanwhile is missing among those that are done, and the transaction
// starts over.
type failureStatement struct {
	one    bool                        // there is one decision, and its values are no arrays
	agree  []column[recoup.Error]      // of the error before
	values []column[recoup.Error]      // of the error after
	moved  []column[recoup.Transition] // of its row of history
	sql    string
}

// The columns that a failure writes. What the lease says comes from the row in
// recoup.due, and times are the act's.
var failedColumns = []string{"retry_count", "last_failure_code", "retry_exhausted", "last_result"}

// What of a history row is the same for all that is decided alike.
var movedAlike = []string{
	"input", "reason", "policy_version", "was_state", "was_disposition", "was_blocking", "was_escalation_level", "was_retry_count", "was_owner",
	"state", "disposition", "blocking", "escalation_level", "retry_count", "owner",
}

func newFailureStatement(example *lifecycle.Decision, one bool) *failureStatement {
	s := &failureStatement{one: one, agree: pick(currentColumns(), example.Columns()), values: pick(errorColumns(), failedColumns), moved: pick(historyColumns(), movedAlike)}
	s.sql = s.statement(example.Entity())
	return s
}

func pick[R any](columns []column[R], names []string) []column[R] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[R]) bool { return !slices.Contains(names, c.name) })
}

func (s *failureStatement) statement(entity bool) string {
	var values, named []string
	add := func(prefix, name, kind string) {
		if !s.one {
			kind += "[]"
		}
		values, named = append(values, fmt.Sprintf("$%d::%s", len(values)+4, kind)), append(named, prefix+name)
	}
	add("", "place", "int4")
	add("", "wait", "int8")
	add("", "entity", "bool")
	var agree, set, moved []string
	for _, c := range s.agree {
		add("a_", c.name, c.kind.name)
		of := "e."
		if c.name == "policy_version" {
			of = "d."
		}
		agree = append(agree, of+c.name+" is not distinct from m.a_"+c.name)
	}
	for _, c := range s.values {
		add("v_", c.name, c.kind.name)
		set = append(set, c.name+" = m.v_"+c.name)
	}
	for _, c := range s.moved {
		add("t_", c.name, c.kind.name)
		moved = append(moved, "m.t_"+c.name)
	}
	if entity {
		agree = append(agree, "(e.entity_id is not null) = m.entity")
	}
	m := "m (" + strings.Join(named, ", ") + ") as materialized (select * from unnest(" + strings.Join(values, ", ") + "))"
	if s.one {
		m = "m (" + strings.Join(named, ", ") + ") as not materialized (select " + strings.Join(values, ", ") + ")"
	}
	const next = actTime + " + m.wait * interval '1 microsecond'"
	history := "insert into recoup.transition (error_id, at, actor, worker, claimed_at, attempt, was_next_retry_at, was_expires_at, expires_at, next_retry_at, " + names(s.moved, "") +
		`) select h.error_id, ` + actTime + `, coalesce(h.lease_worker, 'system'), h.lease_worker, h.leased_at, h.lease_token, h.lease_ends_at, h.expires_at, h.expires_at, ` +
		next + ", " + strings.Join(moved, ", ") + " from held h join m using (place)"
	update := "update recoup.error e set " + strings.Join(set, ", ") + `, updated_at = ` + actTime + `, last_retry_at = h.leased_at, retried_at = ` + actTime + `, last_attempt = h.lease_token,
		next_retry_at = ` + next + " from held h join m using (place) where e.ctid = h.spot and e.xmin = h.version returning 1"
	return "with " + m + ", " + s.hold(strings.Join(agree, " and ")) + `,
		act as materialized (select coalesce($3::timestamptz, recoup.clock()) as now from (select count(*) from held) x),
		freed as (update recoup.due d set due_at = ` + next + `, lease_token = null, lease_worker = null, leased_at = null, lease_ends_at = null
			from held h join m using (place) where d.ctid = h.slot),
		done as (` + update + `), noted as (` + history + `)
		select array_agg(h.error_id), array_agg(h.correlation_id), array_agg(h.lease_worker), array_agg(h.place), ` + actTime + `, (select count(*) from done), array_agg(h.retried_at) from held h`
}

// hold locks the rows in recoup.due of what agrees. Rows are looked up one by one, in
// the order of the results, and found again where they lie: each lookup is a subquery
// that cannot be merged into its surroundings, so that whatever the statistics of a
// queue say that is empty now and then, no plan begins with all of it; and of a limit
// that it does not know the planner expects little.
func (s *failureStatement) hold(agree string) string {
	decisions := "m where " + agree
	if !s.one {
		decisions = "lateral (select * from m where " + agree + " offset 0) m where true"
	}
	return `held as materialized (select d.slot, d.error_id, d.lease_token, d.lease_worker, d.leased_at, d.lease_ends_at,
			e.expires_at, e.correlation_id, e.retried_at, e.spot, e.version, m.place from unnest($1::uuid[], $2::uuid[]) as n (error_id, token)
		cross join lateral (select ctid as slot, * from recoup.due where error_id = n.error_id and lease_token = n.token for update offset 0) d
		cross join lateral (select ctid as spot, xmin as version, * from recoup.error where error_id = n.error_id offset 0) e cross join ` + decisions + `
			and (d.window_ends_at is null or d.window_ends_at >= ` + clockOr("$3") + ` + m.wait * interval '1 microsecond' + interval '1 minute')
		limit cardinality($1::uuid[]))`
}

// actTime is when the results are recorded, asked once for the whole statement: another
// table to join would be carried along with every row.
const actTime = "(select now from act)"

// args are the parameters of the statement.
func (s *failureStatement) args(at *time.Time, steps []*store.Step, decisions []*lifecycle.Decision) []any {
	ids, tokens := leasesOf(steps)
	n := len(decisions)
	if s.one {
		d := decisions[0]
		args := []any{ids, tokens, at, int32(0), d.Wait().Microseconds(), d.Was.EntityID != ""}
		args = appendOne(args, s.agree, &d.Was)
		args = appendOne(args, s.values, &d.Next)
		return appendOne(args, s.moved, &d.Effects.History)
	}
	places, waits, entities := make([]int32, n), make([]int64, n), make([]bool, n)
	was, next, moved := make([]*recoup.Error, n), make([]*recoup.Error, n), make([]*recoup.Transition, n)
	for i, d := range decisions {
		places[i], waits[i], entities[i] = int32(i), d.Wait().Microseconds(), d.Was.EntityID != ""
		was[i], next[i], moved[i] = &d.Was, &d.Next, &d.Effects.History
	}
	args := []any{ids, tokens, at, places, waits, entities}
	args = appendAll(args, s.agree, was)
	args = appendAll(args, s.values, next)
	return appendAll(args, s.moved, moved)
}

func appendAll[R any](args []any, columns []column[R], records []*R) []any {
	for i := range columns {
		args = append(args, columns[i].all(records))
	}
	return args
}

func appendOne[R any](args []any, columns []column[R], r *R) []any {
	for i := range columns {
		args = append(args, columns[i].one(r))
	}
	return args
}

// failureStatements are the statements, made when they are first needed.
type failureStatements struct {
	sync.Mutex
	made map[bool]*failureStatement // for one decision, or for several
}

func (s *failureStatements) of(decisions []*lifecycle.Decision) *failureStatement {
	s.Lock()
	defer s.Unlock()
	one := len(decisions) == 1
	if s.made[one] == nil {
		if s.made == nil {
			s.made = map[bool]*failureStatement{}
		}
		s.made[one] = newFailureStatement(decisions[0], one)
	}
	return s.made[one]
}
