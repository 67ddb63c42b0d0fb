package postgres

import (
	"cmp"
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// inspectPatience is how long a question of an inspection may run, in milliseconds.
const inspectPatience = "5000"

// look is one question of an inspection.
type look struct {
	what string
	ask  func(ctx context.Context, q querier, i store.Inspection, f *store.Facts) error
}

// querier is what asks: a transaction that only reads.
type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// Inspect implements [store.Inspector]. Each question is a transaction of its own, which
// only reads, so that what one may not see keeps none of the others from being asked.
func (s *Store) Inspect(ctx context.Context, i store.Inspection) (store.Facts, error) {
	i.Sample = cmp.Or(i.Sample, store.DefaultSample)
	f := store.Facts{Kind: "postgres", Server: &store.ServerFacts{Pooled: s.Polls()}, Expected: expectedSchema()}
	looks := []look{
		{"the clock", readClock}, {store.FactSchema, readSchema}, {store.FactGrants, readGrants}, {"names of the policy", readNames},
		{"dead tables", readDeadTables}, {"tables of others", readLookalikes}, {store.FactPartitions, readPartitions},
		{"settings", readServerSettings}, {"sessions", readSessions}, {"tables", readTables}, {"what holds the horizon", readHolders},
		{"replication slots", readSlots}, {store.FactArchiver, readArchiver}, {"row security", readUnsecured}, {store.FactRoles, readRoles}, {"settings of roles", readRoleSettings}, {"what dropped roles could read", readStaleReaders}, {"locks", readLocks}, {"owners", readForeign}, {"privileges of other roles", readOtherGrants}, {"default privileges", readDefaultGrants}, {"dependent objects", readDependents}, {"the schema public", readPublicSchema}, {store.FactBackups, readBackups},
	}
	for _, l := range s.looks {
		looks = append(looks, look{l.What, func(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
			return l.Ask(ctx, q, f)
		}})
	}
	for _, rule := range rowRules {
		looks = append(looks, look{rule.name, rule.read})
	}
	for _, l := range looks {
		if err := s.look(ctx, l, i, &f); err != nil {
			return f, err
		}
	}
	for _, do := range s.examine {
		do(ctx, &f)
	}
	return f, busyService(s.readService(ctx, &f), &f)
}

// look asks a question. One that is refused or takes too long is noted; a database that
// does not answer is an error.
func (s *Store) look(ctx context.Context, l look, i store.Inspection, f *store.Facts) error {
	tx, err := s.pool.Begin(ctx)
	if err != nil {
		return failure("inspect", err)
	}
	defer func() { _ = tx.Rollback(context.WithoutCancel(ctx)) }()
	_, err = tx.Exec(ctx, `select set_config('transaction_read_only', 'on', true), set_config('search_path', 'pg_catalog', true),
		set_config('statement_timeout', $1, true), set_config('lock_timeout', '1000', true)`, inspectPatience)
	if err == nil {
		err = l.ask(ctx, tx, i, f)
	}
	switch state(err) {
	case insufficientPrivilege:
		f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: "this role may not read it"})
		return nil
	case queryCanceled:
		if ctx.Err() == nil {
			f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: "it took longer than " + inspectPatience + " ms"})
			return nil
		}
	case lockNotAvailable:
		f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: lockedWhy})
		return nil
	case undefinedTable, "42883", "42703": // of a schema that somebody has taken apart: what is missing is found as such
		f.Unseen = append(f.Unseen, store.Unseen{What: l.what, Why: "something that it needs is missing from the schema"})
		return nil
	}
	return failure("inspect "+l.what, err)
}

// readService reads what the service keeps, by its own verbs.
func (s *Store) readService(ctx context.Context, f *store.Facts) (err error) {
	if f.Outbox, err = s.OutboxLevels(ctx); err != nil {
		return err
	}
	if f.LateEvents, err = s.LateEvents(ctx, store.MaxFigure); err != nil {
		return err
	}
	f.Keys, _, err = s.Keys(ctx, sqldb.Page{Limit: sqldb.MaxPage})
	return err
}

func readClock(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	return q.QueryRow(ctx, `select recoup.clock(), coalesce((select min(tstamp) from recoup.schema_version where version_id > 0), now())`).Scan(&f.Clock, &f.Since)
}

// readBackups reads when the last backup was written down, and which keys of the platform
// live, without their secrets.
func readBackups(ctx context.Context, q querier, _ store.Inspection, f *store.Facts) error {
	rows, err := q.Query(ctx, `select key_id, purpose, created_at, coalesce(wrapped_by, '') from recoup.platform_key where deleted_at is null order by 1`)
	if err != nil {
		return err
	}
	f.PlatformKeys, err = pgx.CollectRows(rows, func(row pgx.CollectableRow) (k store.PlatformKey, err error) {
		err = row.Scan(&k.ID, &k.Purpose, &k.CreatedAt, &k.WrappedBy)
		return k, err
	})
	return err
}

// Repair implements [store.SchemaRepairer]. What cannot run in a transaction is run without one.
func (s *Store) Repair(ctx context.Context, statements []string) error {
	for _, statement := range statements {
		if _, err := s.pool.Exec(ctx, statement, pgx.QueryExecModeExec); err != nil {
			if state(err) == insufficientPrivilege {
				return fmt.Errorf("%w: %w", ErrNotOwner, failure("mend", err))
			}
			return failure("mend", err)
		}
	}
	return nil
}

// moment reads a time that may be missing.
func moment(t *time.Time) time.Time {
	if t == nil {
		return time.Time{}
	}
	return t.UTC()
}
