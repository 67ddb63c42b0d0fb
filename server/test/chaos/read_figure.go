package chaos

import (
	"context"
	"strconv"
	"strings"
)

// kept is a figure that is kept, and what it counts, each as rows of a key and a
// number.
type kept struct{ name, kept, counted string }

// figures are all that must agree once nothing is left to be folded.
func (d *Database) figures() []kept {
	// What is replaced while a worker holds it is archived with that attempt.
	const attempts = `attempt is not null and coalesce(reason, '') <> 'LEASE_LOST' and input in ('succeed', 'fail', 'lapse', 'claim', 'archive')`
	const all = `(select error_id, table_name from error union all select error_id, table_name from error_archive)`
	of := func(what, where string) kept {
		return kept{what + " by table", `select table_name, sum(` + what + `) from activity_minute group by table_name`,
			`select e.table_name, count(*) from error_history h join ` + all + ` e on e.error_id = h.error_id where ` + where + ` group by e.table_name`}
	}
	list := []kept{
		{"errors by table and state", `select table_name || ' ' || state, sum(n) from error_count group by table_name, state`,
			`select table_name || ' ' || state, count(*) from error group by table_name, state`},
		{"blocking errors by table", `select table_name, sum(blocking) from error_count group by table_name`,
			`select table_name, count(*) from error where blocking group by table_name`},
		{"events by hour, service and code", `select us(hour) || ' ' || service || ' ' || code, sum(count) from error_aggregate_hourly group by hour, service, code`,
			d.perHour(`select hour || ' ' || service || ' ' || code, count(*) from (select %s as hour, service, code from error_event) e group by hour, service, code`, 3600)},
		{"events by day, service and code", `select us(day) || ' ' || service || ' ' || code, sum(count) from error_aggregate_daily group by day, service, code`,
			d.perHour(`select hour || ' ' || service || ' ' || code, count(*) from (select %s as hour, service, code from error_event) e group by hour, service, code`, 86400)},
		of("reported", `input = 'report' and was_state is null`),
		of("succeeded", `input = 'succeed' and coalesce(reason, '') <> 'LEASE_LOST'`),
		of("attempts", attempts),
		of("expired", `input = 'expire'`),
		{"archived by table", `select table_name, sum(archived) from activity_minute group by table_name`, `select table_name, count(*) from error_archive group by table_name`},
		{"open dead letters by pipeline, class and step", `select pipeline || ' ' || error_class || ' ' || step, sum(n) from dead_letter_level group by pipeline, error_class, step`,
			`select pipeline || ' ' || error_class || ' ' || step, count(*) from dead_letter where closed_at is null group by pipeline, error_class, step`},
		{"rounds of dead letters", `select 'all', coalesce(sum(arrived), 0) from dead_letter_count`, `select 'all', count(*) from dead_letter_round`},
		{"members of replays", `select id(replay_id) || ' ' || state, sum(n) from replay_count group by replay_id, state`,
			`select id(replay_id) || ' ' || state, count(*) from replay_item group by replay_id, state`},
	}
	for column, state := range map[string]string{"active": "ACTIVE", "retry_pending": "RETRY_PENDING", "parked": "PARKED", "escalated": "ESCALATED", "resolved": "RESOLVED"} {
		list = append(list, kept{column + " of groups", `select id(group_id), ` + column + ` from error_group`,
			`select id(group_id), count(*) from error where group_id is not null and state = '` + state + `' group by group_id`})
	}
	return list
}

// perHour puts how an event's time is rounded into a query.
func (d *Database) perHour(query string, seconds int) string {
	rounded := "ts - ts % " + strconv.Itoa(seconds) + "000000"
	if d.Postgres {
		rounded = "(floor(extract(epoch from ts) / " + strconv.Itoa(seconds) + ") * " + strconv.Itoa(seconds) + ")::bigint * 1000000"
	}
	return strings.Replace(query, "%s", rounded, 1)
}

// figure reads both sides. A key that only one side has is zero on the other.
func (r *reader) figure(f *Final, k kept) {
	sides := [2]map[string]int64{{}, {}}
	var order []string
	for i, query := range []string{k.kept, k.counted} {
		r.each(query, func(scan func(...any)) {
			var key string
			var n int64
			scan(&key, &n)
			if _, known := sides[0][key]; !known && sides[1][key] == 0 {
				order = append(order, key)
			}
			sides[i][key] += n
		})
	}
	for _, key := range order {
		f.Figures = append(f.Figures, Figure{k.name, key, sides[0][key], sides[1][key]})
	}
}

// waiting is what is still to be done by itself, as questions whose answers are
// numbers.
func (d *Database) waiting() map[string]string {
	clock := "cast(unixepoch('subsec') * 1000000 as integer)"
	if d.Postgres {
		clock = "recoup.clock()"
	}
	list := map[string]string{
		"notices to be delivered":    `select count(*) from outbox where due_at is not null`,
		"resolved errors to archive": `select count(*) from error where state = 'RESOLVED'`,
		"errors to expire":           `select count(*) from error where expires_at < ` + clock,
		"errors to escalate":         `select count(*) from error where next_escalation_at < ` + clock,
		"leases to end":              `select count(*) from due where lease_token is not null`,
		"replays to end":             `select count(*) from replay where state not in ('DONE', 'CANCELLED', 'PAUSED')`,
		"work to be done":            `select count(*) from work`,
		"groups to fold":             `select count(*) from error_group_delta`,
	}
	if d.Postgres {
		list["counts to fold"] = `select (select count(*) from activity_delta) + (select count(*) from error_aggregate_delta)`
		list["errors to admit"] = `select count(*) from error where policy_version is null`
	}
	return list
}

// Waiting returns what is not done yet, by name.
func (d *Database) Waiting(ctx context.Context) (map[string]int64, error) {
	tx, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	r := &reader{ctx: ctx, database: d, tx: tx}
	left := map[string]int64{}
	for name, query := range d.waiting() {
		r.each(query, func(scan func(...any)) {
			var n int64
			if scan(&n); n > 0 {
				left[name] = n
			}
		})
	}
	return left, r.err
}
