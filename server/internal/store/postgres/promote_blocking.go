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

// Blockers are what blocks entities beside their errors. The database refuses a promotion because of
// them by itself (recoup.pass_gate). Whoever reads a gate, or asks why a promotion was refused, is
// answered by these queries. Their columns are the name of a table of the policy and since when.
type Blockers struct {
	// Gate returns a query for at most one row that blocks an entity, which is given as an expression. It
	// becomes part of the statement that reads gates: an error and what blocked in its place before
	// are seen at one moment, so that a gate is never open between the two.
	Gate func(entity string) string

	// Refused is a query for all rows that block the entity $1.
	Refused string
}

// AddBlockers adds what a slice has. It is called before the first act.
func (s *Store) AddBlockers(b Blockers) {
	s.blockers = append(s.blockers, b)
	s.gates = newGateCheck(s.blockers)
}

// newGateCheck makes the statements. Entities come as JSON and not as an array: of
// an array the planner looks at the length, prefers a plan for just that length to
// one that it can keep, and so plans anew every time, which takes four times as long
// as the reading. Several are not sorted once more: a lateral query with a limit is run
// for one entity after the other, in its own order. Behind errors come the blockers of slices,
// without an id, because they are no errors.
func newGateCheck(others []Blockers) gateCheck {
	columns := foundColumns()
	shown := strings.Replace(names(columns[1:], ""), "next_retry_at",
		"coalesce((select d.lease_ends_at from recoup.due d where d.error_id = error.error_id), next_retry_at) as next_retry_at", 1)
	from := " from recoup.error where blocking and entity_id = "
	first := " order by created_at, error_id limit $2"
	each := func(place, entity string) string {
		all := "(select " + place + shown + from + entity + first + ")"
		for _, b := range others {
			all += " union all (select " + place + `null::uuid, b.table_name, null::text, null::text, null::text, null::text, b.since, null::timestamptz, null::timestamptz
				from (` + b.Gate(entity) + ") b (table_name, since))"
		}
		return all
	}
	return gateCheck{
		columns: columns,
		one:     each("1, ", "$1"),
		many: "select k.place, " + names(columns[1:], "e.") + ` from json_array_elements_text($1::json) with ordinality k (entity, place)
			cross join lateral (` + each("", "k.entity") + ") e",
	}
}

// Blockers implements [sqlops.DB].
func (d database) Blockers(ctx context.Context, entity string) (list []recoup.Error, err error) {
	for _, b := range d.blockers {
		rows, err := d.vital.Query(ctx, b.Refused, entity)
		more, err := collectRows("read what else blocks", rows, err, func(row pgx.CollectableRow) (e recoup.Error, err error) {
			e.EntityID = entity
			err = row.Scan(&e.Table, &e.CreatedAt)
			e.CreatedAt = e.CreatedAt.UTC()
			return e, err
		})
		if err != nil {
			return nil, err
		}
		list = append(list, more...)
	}
	return list, nil
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
