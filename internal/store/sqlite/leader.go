package sqlite

import (
	"context"

	"recoup/internal/store"
)

const (
	selectTerm = `select ` + termColumns + ` from leader where name = ?`
	updateTerm = `update leader set number = ?2, holder = ?3, ends_at = ?4 where name = ?1`
	endTerm    = `update leader set holder = null, ends_at = null where name = ? and number = ? and holder = ?`
	upsertJob  = `insert into job (` + jobColumns + `, leader, term) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
		on conflict do update set started_at = excluded.started_at, finished_at = excluded.finished_at, row_count = excluded.row_count,
		lag_us = excluded.lag_us, cursor = excluded.cursor, error = excluded.error, runs = excluded.runs, failures = excluded.failures,
		leader = excluded.leader, term = excluded.term`
)

// Lead bids for a leadership.
func (s *Store) Lead(ctx context.Context, b store.Bid) (term store.Term, held bool, err error) {
	err = s.writer.doAt(ctx, b.Now, func(tx *tx) error {
		b.Now = tx.now
		found, err := collectAll(tx, termFields, selectTerm, b.Name)
		if err != nil {
			return err
		}
		write := updateTerm
		if len(found) == 0 {
			write, found = addTo("leader", termColumns), []store.Term{{Name: b.Name}}
		}
		if term, held = found[0].Bid(b); !held {
			return nil
		}
		return tx.exec(write, termFields(&term)...)
	})
	if err != nil {
		return store.Term{}, false, err
	}
	return term, held, nil
}

// Resign ends a term before its time. One that is over already is none to end.
func (s *Store) Resign(ctx context.Context, term store.Term) error {
	return s.writer.do(ctx, func(tx *tx) error { return tx.exec(endTerm, term.Name, term.Number, term.Holder) })
}

// Leader returns the last term of a leadership; the zero term if there was none.
func (s *Store) Leader(ctx context.Context, name string) (store.Term, error) {
	found, err := query(ctx, s, termFields, selectTerm, name)
	if err != nil || len(found) == 0 {
		return store.Term{}, err
	}
	return found[0], nil
}

// SaveJob notes how a job went. The database refuses it from a leader whose term
// is over.
func (s *Store) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	return s.writer.do(ctx, func(tx *tx) error {
		return tx.exec(upsertJob, append(jobFields(&job), term.Name, term.Number)...)
	})
}

// Jobs returns all jobs, by name.
func (s *Store) Jobs(ctx context.Context) ([]store.Job, error) {
	return query(ctx, s, jobFields, `select `+jobColumns+` from job order by name limit 0 + ?`, store.MaxPage)
}
