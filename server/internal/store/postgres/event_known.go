package postgres

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// rememberIDs remembers the ids that carry no time, and leaves out the events whose
// id has come before: whenever that was dated, they are the same. Two that bring one
// id at the same moment wait for each other here, in the order of ids.
func (t *tx) rememberIDs(ctx context.Context, months monthly) (monthly, error) {
	ids := timeless(months)
	if len(ids) == 0 {
		return months, nil
	}
	rows, err := t.conn.Query(ctx, `insert into recoup.event_known (event_id)
		select k from unnest($1::uuid[]) k order by k on conflict do nothing returning event_id`, raw(ids))
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	fresh := make(map[recoup.ID]bool, len(ids))
	for rows.Next() {
		var id recoup.ID
		copy(id[:], rows.RawValues()[0])
		fresh[id] = true
	}
	return unknown(months, fresh), rows.Err()
}

func timeless(months monthly) (ids []recoup.ID) {
	for _, events := range months {
		for i := range events {
			if events[i].Timeless {
				ids = append(ids, events[i].ID)
			}
		}
	}
	return ids
}

// unknown returns the events but those whose id is not fresh, or no more.
func unknown(months monthly, fresh map[recoup.ID]bool) monthly {
	rest := make(monthly, len(months))
	for month, events := range months {
		list := slices.DeleteFunc(slices.Clone(events), func(e store.Event) bool {
			known := e.Timeless && !fresh[e.ID]
			delete(fresh, e.ID)
			return known
		})
		if len(list) > 0 {
			rest[month] = list
		}
	}
	return rest
}
