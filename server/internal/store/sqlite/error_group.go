package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// groupDelta is by how much the counts of a group change, and what arrives in it within
// an hour.
type groupDelta struct {
	recoup.GroupStates
	arrived     int64
	first, last time.Time
	example     recoup.ID
}

type groupHour struct {
	group recoup.ID
	hour  time.Time // of what arrives
}

// groupDeltas are those of a unit of work.
type groupDeltas map[groupHour]*groupDelta

func (l groupDeltas) of(k groupHour) *groupDelta {
	d := l[k]
	if d == nil {
		d = &groupDelta{}
		l[k] = d
	}
	return d
}

func (l groupDeltas) count(e *recoup.Error, n int64) {
	if e.GroupID.IsZero() {
		return
	}
	d := l.of(groupHour{group: e.GroupID})
	switch e.State {
	case recoup.Active:
		d.Active += n
	case recoup.RetryPending:
		d.RetryPending += n
	case recoup.Parked:
		d.Parked += n
	case recoup.Escalated:
		d.Escalated += n
	case recoup.Resolved:
		d.Resolved += n
	case recoup.Archived:
	}
}

// arrive counts an error that comes to its group.
func (l groupDeltas) arrive(e *recoup.Error) {
	if e.GroupID.IsZero() {
		return
	}
	d := l.of(groupHour{e.GroupID, store.Hour(e.CreatedAt)})
	d.arrived++
	if d.first.IsZero() || e.CreatedAt.Before(d.first) {
		d.first = e.CreatedAt
	}
	if e.CreatedAt.After(d.last) {
		d.last = e.CreatedAt
	}
	d.example = e.ID
}

func (l groupDeltas) save(t *tx) error {
	for k, d := range l {
		if d.arrived == 0 && d.GroupStates == (recoup.GroupStates{}) {
			continue
		}
		if err := t.exec(appendGroupDelta, id{&k.group}, d.Active, d.RetryPending, d.Parked, d.Escalated, d.Resolved, d.arrived,
			stamp{&d.first}, stamp{&d.last}, id{&d.example}); err != nil {
			return err
		}
	}
	return nil
}

// FoldErrorGroups adds what was appended to the groups of errors.
func (s *Store) FoldErrorGroups(ctx context.Context) error {
	return s.writer.do(ctx, func(tx *tx) error {
		for _, text := range []string{newErrorGroups, addErrorGroupHours, addErrorGroups, clearGroupDeltas} {
			if err := tx.exec(text); err != nil {
				return err
			}
		}
		return nil
	})
}

const (
	appendGroupDelta = `insert into error_group_delta (group_id, active, retry_pending, parked, escalated, resolved, arrived, first_at, last_at, example)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`

	// A group that is new takes its table, its code and its message from one of its
	// errors, which may be in the archive by now.
	newErrorGroups = `insert into error_group (group_id, table_name, code, example, first_seen_at, last_seen_at, total, active, retry_pending, parked, escalated, resolved)
		select d.group_id, coalesce(e.table_name, a.table_name), coalesce(e.code, a.code), substr(coalesce(e.message, a.message), 1, 8192), min(d.first_at), min(d.first_at), 0, 0, 0, 0, 0, 0
		from error_group_delta d left join error e on e.error_id = d.example left join error_archive a on a.error_id = d.example
		where d.example is not null and (e.code is not null or a.code is not null) and not exists (select 1 from error_group g where g.group_id = d.group_id)
		group by d.group_id`
	addErrorGroupHours = `insert into error_group_hour (group_id, hour, n)
		select group_id, first_at - first_at % 3600000000, sum(arrived) from error_group_delta where arrived > 0 group by 1, 2
		on conflict (group_id, hour) do update set n = n + excluded.n`
	addErrorGroups = `update error_group set total = total + d.arrived, active = error_group.active + d.active, retry_pending = error_group.retry_pending + d.retry_pending,
			parked = error_group.parked + d.parked, escalated = error_group.escalated + d.escalated, resolved = error_group.resolved + d.resolved,
			first_seen_at = min(first_seen_at, coalesce(d.first_at, first_seen_at)), last_seen_at = max(last_seen_at, coalesce(d.last_at, last_seen_at))
		from (select group_id, coalesce(sum(arrived), 0) as arrived, coalesce(sum(active), 0) as active, coalesce(sum(retry_pending), 0) as retry_pending,
			coalesce(sum(parked), 0) as parked, coalesce(sum(escalated), 0) as escalated, coalesce(sum(resolved), 0) as resolved,
			min(first_at) as first_at, max(last_at) as last_at from error_group_delta group by group_id) d
		where error_group.group_id = d.group_id`
	clearGroupDeltas = `delete from error_group_delta`
)
