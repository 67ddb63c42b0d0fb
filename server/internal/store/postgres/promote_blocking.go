package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// found is what blocks one of several entities.
type found struct {
	place int // of the entity among those that were asked for, from 1
	store.Blocker
}

// foundColumns are those that a gate shows.
func foundColumns() []column[found] {
	type f = found
	return []column[f]{
		number("place", func(f *f) *int { return &f.place }),
		id("error_id", func(f *f) *recoup.ID { return &f.ID }),
		text("table_name", func(f *f) *string { return &f.Table }),
		text("code", func(f *f) *recoup.Code { return &f.Code }),
		text("state", func(f *f) *recoup.State { return &f.State }),
		text("assigned_to", func(f *f) *string { return &f.AssignedTo }),
		text("escalated_to", func(f *f) *string { return &f.EscalatedTo }),
		stamp("created_at", func(f *f) *time.Time { return &f.CreatedAt }),
		stamp("next_retry_at", func(f *f) *time.Time { return &f.NextRetryAt }),
		stamp("expires_at", func(f *f) *time.Time { return &f.ExpiresAt }),
	}
}

// gateCheck holds the statements that read gates, one or several at once, with
// their columns.
type gateCheck struct {
	columns   []column[found]
	one, many string
}

// newGateCheck makes the statements. Entities come as JSON and not as an array: of
// an array the planner looks at the length, prefers a plan for just that length to
// one that it can keep, and so plans anew every time, which takes four times as long
// as the reading. Several are not sorted once more: a lateral query with a limit is run
// for one entity after the other, in its own order. Behind what blocks come rows of
// adopted tables that no node has looked at (recoup.unread): without an id, because they
// are no errors yet. Where nothing is adopted that is a look into an empty index.
func newGateCheck() gateCheck {
	columns := foundColumns()
	shown := strings.Replace(names(columns[1:], ""), "next_retry_at",
		"coalesce((select d.lease_ends_at from recoup.due d where d.error_id = error.error_id), next_retry_at) as next_retry_at", 1)
	from := " from recoup.error where blocking and entity_id = "
	first := " order by created_at, error_id limit $2"
	each := func(place, entity string) string {
		return "(select " + place + shown + from + entity + first + ") union all (select " + place + unread(entity) + ")"
	}
	return gateCheck{
		columns: columns,
		one:     each("1, ", "$1"),
		many: "select k.place, " + names(columns[1:], "e.") + ` from json_array_elements_text($1::json) with ordinality k (entity, place)
			cross join lateral (` + each("", "k.entity") + ") e",
	}
}

// unread is recoup.unread as a part of these statements, with the columns of what
// blocks: calling it would cost as much as the rest.
func unread(entity string) string {
	hash := "hashtextextended(nullif(" + entity + `, '') collate "C", 0)`
	return `null::uuid, a.table_name, null::text, null::text, null::text, null::text, c.at, null::timestamptz, null::timestamptz
		from ((select adoption_id, at from recoup.adopted_change where entities is not null and ` + hash + ` = any (entities) offset 0)
			union all
			select o.adoption_id, (select coalesce(max(at), now()) from recoup.adopted_change where adoption_id = o.adoption_id and change_id = e.change_id)
			from recoup.adoption o cross join lateral (select change_id from recoup.adopted_entity where hash = ` + hash + ` and adoption_id = o.adoption_id limit 1) e
			where exists (select from recoup.adopted_entity where hash = ` + hash + `)) c
		join recoup.adoption a on a.adoption_id = c.adoption_id and a.state <> 'RELEASING'
		where exists (select from recoup.error_table t where t.table_name = a.table_name and t.blocks and not t.retired) limit 1`
}

// Unread implements [sqlops.DB].
func (d database) Unread(ctx context.Context, entity string) ([]recoup.Error, error) {
	rows, err := d.vital.Query(ctx, "select table_name, since from recoup.unread($1)", entity)
	return collectRows("look for unread rows", rows, err, func(row pgx.CollectableRow) (e recoup.Error, err error) {
		e.EntityID = entity
		err = row.Scan(&e.Table, &e.CreatedAt)
		e.CreatedAt = e.CreatedAt.UTC()
		return e, err
	})
}

// Blocking returns for each entity the errors that block it, oldest first.
func (s *Store) Blocking(ctx context.Context, entities []string, limit int) ([][]store.Blocker, error) {
	sql, whom := s.gates.one, ""
	if len(entities) == 1 {
		whom = entities[0]
	} else {
		list, err := json.Marshal(entities)
		if err != nil {
			return nil, err
		}
		sql, whom = s.gates.many, string(list)
	}
	rows, err := s.vital.Query(ctx, sql, whom, clamp(limit))
	list, err := collectRows("read what blocks", rows, err, decode(s.gates.columns))
	if err != nil {
		return nil, err
	}
	blockers := make([][]store.Blocker, len(entities))
	for i := range list {
		at := &blockers[list[i].place-1]
		*at = append(*at, list[i].Blocker)
	}
	return blockers, nil
}
