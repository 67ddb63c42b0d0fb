package adoption

import (
	"context"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// Extend adds to a store what blocks entities, and what inspections look at. It is called before the
// first act.
func Extend(s *postgres.Store) error {
	db, err := Open(s)
	if err != nil {
		return err
	}
	s.AddBlockers(Blockers())
	s.AddInspection([]postgres.Look{
		{What: "adopted tables", Ask: readAdoptions}, {What: "login roles of adopted tables", Ask: readUnlimited}, {What: "code of others at adopted tables", Ask: readForeignCode},
	}, func(ctx context.Context, f *store.Facts) {
		db.reachSources(ctx, f)
		recognise(f)
	})
	return nil
}

// FirstDue are what nodes look for when they have nothing to do: what triggers of adopted tables wrote
// down is due, and so are jobs of a queue, which are asked for, and rows that refused what became of
// their errors.
func FirstDue() []string {
	return []string{
		`select timestamptz 'epoch' where exists (select from recoup.adoption a where a.preset is not null or a.state <> 'GOVERNED'
			or ` + first("adopted_change", "change_id") + ` or ` + first("adopted_mirror", "mirror_id") + `)`,
		`select min((select f.retry_at from recoup.adopted_refused f where f.adoption_id = a.adoption_id order by f.adoption_id, f.retry_at limit 1)) from recoup.adoption a`,
	}
}
