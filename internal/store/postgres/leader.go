package postgres

import (
	"context"

	"recoup/internal/store"
)

var selectTerm = "select " + names(termColumns, "") + " from recoup.leader where name = $1"

// Lead bids for a leadership. Bids for one take turns at its row.
func (s *Store) Lead(ctx context.Context, b store.Bid) (term store.Term, held bool, err error) {
	err = s.transact(ctx, "lead", b.Now, func(t *tx) error {
		var found []store.Term
		t.queue("insert into recoup.leader (name, number) values ($1, 0) on conflict do nothing", b.Name)
		collect(t.queue(selectTerm+" for update", b.Name), decode(termColumns), &found)
		if err := t.lock(ctx); err != nil {
			return err
		}
		b.Now = t.now
		last, err := one(found, nil, "leadership "+b.Name)
		if err != nil {
			return err
		}
		if term, held = last.Bid(b); held {
			setRows(t, "recoup.leader", termColumns, []store.Term{term})
		}
		return nil
	})
	if err != nil {
		return store.Term{}, false, err
	}
	return term, held, nil
}

// Resign ends a term before its time. One that is over already is none to end.
func (s *Store) Resign(ctx context.Context, term store.Term) error {
	_, err := s.pool.Exec(ctx, `update recoup.leader set holder = null, ends_at = null
		where name = $1 and number = $2 and holder = $3`, term.Name, term.Number, term.Holder)
	return failure("resign", err)
}

// Leader returns the last term of a leadership; the zero term if there was none.
func (s *Store) Leader(ctx context.Context, name string) (store.Term, error) {
	rows, err := s.pool.Query(ctx, selectTerm, name)
	found, err := collectRows("read who leads", rows, err, decode(termColumns))
	if err != nil || len(found) == 0 {
		return store.Term{}, err
	}
	return found[0], nil
}

// SaveJob notes how a job went. The database refuses it from a leader whose term
// is over.
func (s *Store) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	b := newBatch(jobColumns, []*store.Job{&job})
	leader, number := b.add(term.Name), b.add(term.Number)
	b.names, b.values = append(b.names, "leader", "term"), append(b.values, leader+"::text", number+"::int8")
	set := ""
	for _, name := range b.names[1:] {
		set += ", " + name + " = excluded." + name
	}
	_, err := s.pool.Exec(ctx, b.insert("recoup.job")+" on conflict (name) do update set "+set[2:], b.args...)
	return failure("save a job", err)
}

// Jobs returns all jobs, by name.
func (s *Store) Jobs(ctx context.Context) ([]store.Job, error) {
	rows, err := s.pool.Query(ctx, "select "+names(jobColumns, "")+" from recoup.job order by name limit $1", store.MaxPage)
	return collectRows("read jobs", rows, err, decode(jobColumns))
}
