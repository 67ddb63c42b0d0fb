package define

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// How steps wait. Whoever waits for a lock keeps out everybody behind it, so none
// waits long: it steps back and comes again.
const (
	lockTimeout  = 100 * time.Millisecond
	shortest     = 50 * time.Millisecond // pause between two attempts
	longest      = 10 * time.Second
	firstTimeout = 250 * time.Millisecond // of a statement that holds locks; doubled every five attempts
)

// Runner runs the steps of adoptions on a connection of its own.
type Runner struct {
	Conn     *pgx.Conn
	Adoption string // address at which adopted tables are reached; empty: that of Conn
	Actor    string
	Path     []string                                   // the schemas in which names of sources without one are looked up
	Patience time.Duration                              // for a lock; a step that has not got it by then fails
	Sleep    func(context.Context, time.Duration) error // between attempts
	Random   func() float64                             // of [0,1)
	Now      func() time.Time                           // to measure batches
	Report   func(Progress)                             // what happens; may be nil

	// SchemaOwner is the owner of the schema recoup, if the user states it: see [pgsession.Owner].
	SchemaOwner string

	released int // adoption of the last release
}

// Progress is what a runner has to say.
type Progress struct {
	Step    string        // its name
	Does    string        // for people
	Done    bool          // it is, or was before
	Note    string        // what is left to do by hand
	Waits   time.Duration // before the next attempt
	Blocker string        // who holds the lock
	Rows    int64         // of those that a filling has written
	Of      int64
}

func (r *Runner) report(p Progress) {
	if r.Report != nil {
		r.Report(p)
	}
}

// ErrLockTimeout is returned when a step did not get its lock in time. Nothing of
// the step was changed.
var ErrLockTimeout = errors.New("lock timeout: nothing of this step was changed, steps before it stay done; run the command again to go on")

// ErrReleasing is returned to who adopts what is being released.
var ErrReleasing = errors.New("the table is being released")

// Apply does what a plan says. An adoption that was begun goes on where it was.
func (r *Runner) Apply(ctx context.Context, p *Plan) error {
	if p.Adopted == nil {
		err := r.transact(ctx, func(tx pgx.Tx) error {
			if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
				return err
			}
			return p.begin(ctx, tx, r.Actor)
		})
		if err != nil {
			return err
		}
	}
	for _, s := range p.adoption.Steps(p.rights) {
		if err := r.do(ctx, p, s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		r.report(Progress{Step: s.Name, Does: s.Does, Done: true})
	}
	return nil
}

func (r *Runner) do(ctx context.Context, p *Plan, s Step) error {
	switch s.Alone {
	case aloneRole:
		return r.makeRole(ctx, p, s)
	case aloneFill:
		return r.fill(ctx, p, s)
	case aloneIndex:
		return r.buildIndex(ctx, p, s)
	}
	return r.patiently(ctx, p.Facts.OID, s.Name, func(timeout time.Duration) error {
		return r.transact(ctx, func(tx pgx.Tx) error {
			done, err := r.enter(ctx, tx, p, s.Name)
			if done && !s.Again || err != nil {
				return err
			}
			if err := limit(ctx, tx, timeout); err != nil {
				return err
			}
			for _, sql := range s.SQL {
				if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeSimpleProtocol); err != nil {
					return err
				}
			}
			if err := p.checkBound(ctx, tx); err != nil || s.Again {
				return err
			}
			return r.note(ctx, tx, p, s.Name)
		})
	})
}

// enter locks the adoption and reports whether a step is done.
func (r *Runner) enter(ctx context.Context, tx pgx.Tx, p *Plan, step string) (bool, error) {
	if err := limit(ctx, tx, firstTimeout); err != nil {
		return false, err
	}
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return false, err
	}
	record, err := readRecord(ctx, tx, "adoption_id = $1 for update", p.adoption.ID)
	switch {
	case err != nil:
		return false, err
	case record == nil:
		return false, errors.New("the adoption is gone: it was released meanwhile")
	case record.State == wire.AdoptionReleasing:
		return false, ErrReleasing
	}
	_, err = tx.Exec(ctx, leaveRole)
	return slices.Contains(record.Steps, step), err
}

// note writes down that a step is done, in its own transaction.
func (r *Runner) note(ctx context.Context, tx pgx.Tx, p *Plan, step string) error {
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "update recoup.adoption set steps = steps || $2::text where adoption_id = $1", p.adoption.ID, step)
	return err
}

// patiently tries until there is no lock in the way, with growing pauses.
func (r *Runner) patiently(ctx context.Context, on uint32, step string, try func(timeout time.Duration) error) error {
	var waited time.Duration
	pause, timeout := shortest, firstTimeout
	for attempt := 1; ; attempt++ {
		err := try(timeout)
		if err == nil || !inTheWay(err) || ctx.Err() != nil {
			return err
		}
		if waited >= r.Patience {
			return fmt.Errorf("%w (%w)", ErrLockTimeout, err)
		}
		wait := time.Duration(float64(pause) * (0.5 + r.Random()))
		r.report(Progress{Step: step, Waits: wait, Blocker: r.blocker(ctx, on)})
		if err := r.Sleep(ctx, wait); err != nil {
			return err
		}
		waited += wait + lockTimeout
		if pause = pause * 8 / 5; pause > longest {
			pause = longest
		}
		if attempt%5 == 0 {
			timeout *= 2
		}
	}
}

// blocker describes who holds a table the longest, as well as this user may know.
func (r *Runner) blocker(ctx context.Context, table uint32) string {
	var who string
	err := r.ask(ctx, func(tx pgx.Tx) error {
		return tx.QueryRow(ctx, `select format('process %s (%s, %s), in a transaction for %s s', a.pid, a.usename, coalesce(nullif(a.application_name, ''), 'no name'),
			coalesce(round(extract(epoch from clock_timestamp() - a.xact_start))::text, '?'))
		from pg_locks l join pg_stat_activity a using (pid) where l.relation = $1 and l.granted and a.pid <> pg_backend_pid() order by a.xact_start limit 1`, table).Scan(&who)
	})
	if err != nil {
		return "" // nobody any more, or nobody who may be seen
	}
	return who
}

// lockNotAvailable is the state of a statement that did not get a lock in time.
const lockNotAvailable = "55P03"

// The states of a statement that another time will do: locks, time limits, deadlocks,
// and rights that two change at once.
var passing = []string{lockNotAvailable, "57014", "40P01", "40001", "XX000"}

func inTheWay(err error) bool {
	said, ok := errors.AsType[*pgconn.PgError](err)
	return ok && slices.Contains(passing, said.Code) && (said.Code != "XX000" || said.Message == "tuple concurrently updated")
}

func limit(ctx context.Context, tx pgx.Tx, timeout time.Duration) error {
	return begin(ctx, tx, lockTimeout, timeout)
}

// begin sets the role, the search path and the limits of a transaction. To compile a query on the
// catalog takes longer than to run it.
func begin(ctx context.Context, tx pgx.Tx, lock, statement time.Duration) error {
	_, err := tx.Exec(ctx, fmt.Sprintf("%s; set local jit = off; set local lock_timeout = %d; set local statement_timeout = %d", pgsession.SetLocal(), lock.Milliseconds(), statement.Milliseconds()),
		pgx.QueryExecModeSimpleProtocol)
	return err
}

// ask gives do a transaction that only reads.
func (r *Runner) ask(ctx context.Context, do func(pgx.Tx) error) error {
	return planned(ctx, r.Conn, do)
}

func actAs(ctx context.Context, tx pgx.Tx, role string) error {
	_, err := tx.Exec(ctx, "set local role "+quote(role))
	if err != nil {
		return fmt.Errorf("act as %s: %w", role, err)
	}
	return nil
}

// transact gives do a transaction whose role is the user's own and whose search path is fixed.
func (r *Runner) transact(ctx context.Context, do func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, r.Conn, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, pgsession.SetLocal(), pgx.QueryExecModeSimpleProtocol); err != nil {
			return err
		}
		return do(tx)
	})
}
