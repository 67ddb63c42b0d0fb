package postgres

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// settlement is one statement that applies what was decided before to every result
// whose error agrees with one of the errors that it was decided on, and leaves the
// others alone. Its parameters are the ids and tokens of the results, the time, and
// the decisions: the columns in which an error has to agree with each, and what is
// then written.
type settlement struct {
	kind   lifecycle.Kind
	agree  []column[recoup.Error] // of the error before
	values []column[recoup.Error] // of the error after
	told   []column[recoup.Transition]
	sql    string
}

// The columns that a result writes. What the lease says comes from the row in
// recoup.due, and times are the act's.
var settled = map[lifecycle.Kind][]string{
	lifecycle.Succeeded: {"state", "disposition", "blocking", "retry_exhausted", "streak_family", "streak_count", "last_result", "resolved_by", "resolution_reason"},
	lifecycle.Failed:    {"retry_count", "last_failure_code", "retry_exhausted", "last_result"},
}

// What of a history row is the same for all that is decided alike.
var toldAlike = []string{
	"input", "actor", "reason", "policy_version", "worker", "was_state", "was_disposition", "was_blocking", "was_escalation_level", "was_retry_count", "was_owner",
	"state", "disposition", "blocking", "escalation_level", "retry_count", "owner",
}

func newSettlement(kind lifecycle.Kind, example *lifecycle.Decision) settlement {
	s := settlement{kind: kind, agree: pick(currentColumns(), example.Columns()), values: pick(errorColumns(), settled[kind]), told: pick(historyColumns(), toldAlike)}
	s.sql = s.statement(example.Entity())
	return s
}

func pick[R any](columns []column[R], names []string) []column[R] {
	return slices.DeleteFunc(slices.Clone(columns), func(c column[R]) bool { return !slices.Contains(names, c.name) })
}

func (s *settlement) statement(entity bool) string {
	arrays, named := []string{"$4::int4[]", "$5::int8[]", "$6::bool[]"}, []string{"place", "wait", "entity"}
	add := func(prefix, name, kind string) {
		arrays, named = append(arrays, fmt.Sprintf("$%d::%s[]", len(arrays)+4, kind)), append(named, prefix+name)
	}
	var agree, set, told []string
	for _, c := range s.agree {
		add("a_", c.name, c.kind.name)
		of := "e."
		if c.name == "lease_worker" || c.name == "policy_version" {
			of = "d."
		}
		agree = append(agree, of+c.name+" is not distinct from m.a_"+c.name)
	}
	for _, c := range s.values {
		add("v_", c.name, c.kind.name)
		set = append(set, c.name+" = m.v_"+c.name)
	}
	for _, c := range s.told {
		add("t_", c.name, c.kind.name)
		told = append(told, "m.t_"+c.name)
	}
	if entity {
		agree = append(agree, "(e.entity_id is not null) = m.entity")
	}
	m := "m as materialized (select * from unnest(" + strings.Join(arrays, ", ") + ") as m (" + strings.Join(named, ", ") + "))"
	found := ` unnest($1::uuid[], $2::uuid[]) as n (error_id, token), recoup.error e, m
		where d.error_id = n.error_id and d.lease_token = n.token and e.error_id = n.error_id and ` + strings.Join(agree, " and ")
	kept := " d.error_id, d.lease_token, d.leased_at, d.lease_ends_at, e.expires_at, e.correlation_id, m.place"
	history := "insert into recoup.error_history (error_id, at, claimed_at, attempt, was_next_retry_at, was_expires_at, expires_at, next_retry_at, " + names(s.told, "") +
		`) select h.error_id, act.now, h.leased_at, h.lease_token, h.lease_ends_at, h.expires_at, h.expires_at, ` + s.next() + ", " + strings.Join(told, ", ") + " from held h join m using (place), act"
	update := "update recoup.error e set " + strings.Join(set, ", ") + `, updated_at = act.now, last_retry_at = h.leased_at, last_attempt = h.lease_token,
		next_retry_at = ` + s.next()
	if s.kind == lifecycle.Succeeded {
		update += ", resolved_at = act.now, next_escalation_at = null, review_due_at = null"
	}
	update += " from held h join m using (place), act where e.error_id = h.error_id"
	return "with " + m + ", " + s.hold(found, kept) + `,
		act as materialized (select coalesce($3::timestamptz, recoup.clock()) as now from (select count(*) from held) x),
		` + s.free() + `done as (` + update + `), told as (` + history + `)
		select held.error_id, held.correlation_id, held.place, act.now from held, act`
}

// hold takes the rows in recoup.due: away, or their lock.
func (s *settlement) hold(found, kept string) string {
	if s.kind == lifecycle.Succeeded {
		return "held as (delete from recoup.due d using" + found + " returning" + kept + ")"
	}
	return "held as materialized (select" + kept + " from recoup.due d," + found + ` and (d.window_ends_at is null or d.window_ends_at >=
		` + clockOr("$3") + " + m.wait * interval '1 microsecond' + interval '1 minute') for update of d)"
}

// free ends the leases of what is retried once more.
func (s *settlement) free() string {
	if s.kind == lifecycle.Succeeded {
		return ""
	}
	return `freed as (update recoup.due d set due_at = ` + s.next() + `, lease_token = null, lease_worker = null, leased_at = null, lease_ends_at = null
		from held h join m using (place), act where d.error_id = h.error_id), `
}

// next is when the next retry is due.
func (s *settlement) next() string {
	if s.kind == lifecycle.Succeeded {
		return "null::timestamptz"
	}
	return "act.now + m.wait * interval '1 microsecond'"
}

// args are the parameters of the statement.
func (s *settlement) args(at *time.Time, steps []*store.Step, decisions []*lifecycle.Decision) []any {
	ids, tokens := make([][]byte, len(steps)), make([][]byte, len(steps))
	for i, step := range steps {
		ids[i], tokens[i] = step.ID[:], step.Result.Token[:]
	}
	n := len(decisions)
	places, waits, entities := make([]int32, n), make([]int64, n), make([]bool, n)
	was, next, told := make([]*recoup.Error, n), make([]*recoup.Error, n), make([]*recoup.Transition, n)
	for i, d := range decisions {
		places[i], waits[i], entities[i] = int32(i), d.Wait().Microseconds(), d.Was.EntityID != ""
		was[i], next[i], told[i] = &d.Was, &d.Next, &d.Effects.History
	}
	args := []any{ids, tokens, at, places, waits, entities}
	args = appendAll(args, s.agree, was)
	args = appendAll(args, s.values, next)
	return appendAll(args, s.told, told)
}

func appendAll[R any](args []any, columns []column[R], records []*R) []any {
	for i := range columns {
		args = append(args, columns[i].all(records))
	}
	return args
}

// settlement returns the statement for decisions of a kind.
func (s *Store) settlement(example *lifecycle.Decision) *settlement {
	s.settling.Lock()
	defer s.settling.Unlock()
	if s.settlements[example.Kind] == nil {
		made := newSettlement(example.Kind, example)
		s.settlements[example.Kind] = &made
	}
	return s.settlements[example.Kind]
}
