package postgres

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"recoup"
	"recoup/internal/store"
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
// for one entity after the other, in its own order.
func newGateCheck() gateCheck {
	columns := foundColumns()
	shown := strings.Replace(names(columns[1:], ""), "next_retry_at",
		"coalesce((select d.lease_ends_at from recoup.due d where d.error_id = error.error_id), next_retry_at) as next_retry_at", 1)
	from := " from recoup.error where blocking and entity_id = "
	first := " order by created_at, error_id limit $2"
	return gateCheck{
		columns: columns,
		one:     "select 1, " + shown + from + "$1" + first,
		many: "select k.place, " + names(columns[1:], "e.") + ` from json_array_elements_text($1::json) with ordinality k (entity, place)
			cross join lateral (select ` + shown + from + "k.entity" + first + ") e",
	}
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
