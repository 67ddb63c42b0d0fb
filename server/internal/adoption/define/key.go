package define

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
)

// A batch of a filling is as many pages as take about this long, and what writers
// and replicas need is waited for in between.
const (
	batchTime  = 100 * time.Millisecond
	firstPages = 64
	mostPages  = 4096
)

// fill gives rows without a key one, page by page. Rows that somebody holds are left
// for the next round. Nothing has to be remembered: what has a key is passed over.
func (r *Runner) fill(ctx context.Context, p *Plan, s Step) error {
	for {
		var done bool
		err := r.patiently(ctx, p.Facts.OID, s.Name, func(time.Duration) error {
			return r.transact(ctx, func(tx pgx.Tx) (err error) {
				done, err = r.enter(ctx, tx, p, s.Name)
				return err
			})
		})
		if done || err != nil {
			return err
		}
		left, err := r.fillRound(ctx, p, s)
		if err != nil {
			return err
		}
		if !left {
			return r.noteAlone(ctx, p, s)
		}
		if err := r.Sleep(ctx, time.Second); err != nil {
			return err
		}
	}
}

// fillRound goes through the table once, and reports whether rows without a key are left.
func (r *Runner) fillRound(ctx context.Context, p *Plan, s Step) (left bool, err error) {
	var pages int64
	err = r.ask(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, "select pg_relation_size($1::oid) / current_setting('block_size')::bigint", p.Facts.OID).Scan(&pages)
	})
	if err != nil {
		return false, err
	}
	for at, many := int64(0), int64(firstPages); at < pages; {
		if err := r.throttle(ctx); err != nil {
			return false, err
		}
		began := r.Now()
		rows, err := r.fillPages(ctx, p, s, at, at+many)
		if err != nil {
			return false, err
		}
		took := r.Now().Sub(began)
		at += many
		r.report(Progress{Step: s.Name, Rows: min(at, pages), Of: pages})
		if many = resize(many, took); rows > 0 {
			if err := r.Sleep(ctx, took); err != nil { // half of the time is the writers'
				return false, err
			}
		}
	}
	rows, err := r.fillRows(ctx, p, nil, nil)
	return rows > 0, err
}

// fillPages fills the rows from one page to another.
func (r *Runner) fillPages(ctx context.Context, p *Plan, s Step, from, to int64) (rows int64, err error) {
	err = r.patiently(ctx, p.Facts.OID, s.Name, func(time.Duration) error {
		rows, err = r.fillRows(ctx, p, &from, &to)
		return err
	})
	return rows, err
}

// resize lets the next batch take about as long as one should.
func resize(pages int64, took time.Duration) int64 {
	switch {
	case took > 2*batchTime:
		pages /= 2
	case took < batchTime/2:
		pages *= 2
	}
	return min(max(pages, 1), mostPages)
}

func (r *Runner) noteAlone(ctx context.Context, p *Plan, s Step) error {
	return r.patiently(ctx, p.Facts.OID, s.Name, func(time.Duration) error {
		return r.transact(ctx, func(tx pgx.Tx) error {
			done, err := r.enter(ctx, tx, p, s.Name)
			if done || err != nil {
				return err
			}
			return r.note(ctx, tx, p, s.Name)
		})
	})
}

// buildIndex builds the index beside the writers. One that was cut off is invalid: it is
// dropped and built anew.
func (r *Runner) buildIndex(ctx context.Context, p *Plan, s Step) error {
	name := quote(p.Facts.Schema, p.adoption.keyIndex())
	return r.patiently(ctx, p.Facts.OID, s.Name, func(time.Duration) error {
		var valid *bool
		err := r.ask(ctx, func(tx pgx.Tx) error {
			return tx.QueryRow(ctx, "select (select i.indisvalid from pg_index i where i.indexrelid = to_regclass($1))", name).Scan(&valid)
		})
		if err != nil {
			return err
		}
		if valid != nil && *valid {
			return r.noteAlone(ctx, p, s)
		}
		statements := []string{"set role " + quote(p.Facts.Owner), "set lock_timeout = '1s'"}
		if valid != nil {
			statements = append(statements, "drop index concurrently if exists "+name)
		}
		for _, sql := range append(statements, s.SQL...) {
			if _, err = r.Conn.Exec(ctx, sql); err != nil {
				break
			}
		}
		if _, back := r.Conn.Exec(context.WithoutCancel(ctx), "set role none; reset lock_timeout"); err == nil {
			err = back
		}
		if err != nil {
			return err
		}
		return r.noteAlone(ctx, p, s)
	})
}
