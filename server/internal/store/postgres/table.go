package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// turnTables keeps nodes from renewing views at the same time. It is a number of
// recoup.turn_lock, beside those of [sqldb.AdvisoryLock].
const turnTables = 101

// SyncTables brings the mirror of the policy and the views that carry its names
// in line with the policy, all of it or nothing. A view that another session has locked
// is left for a later sync.
func (s *Store) SyncTables(ctx context.Context, p *policy.Policy, also ...store.SyncPolicy) error {
	err := s.syncTables(ctx, p, also)
	if !errors.Is(err, store.ErrBusy) {
		return err
	}
	if mirrored, other := s.mirrors(ctx, p); other != nil || !mirrored {
		return errors.Join(err, other)
	}
	return fmt.Errorf("%w: %w", store.ErrSyncDeferred, err)
}

// mirrors reports whether the mirror has all tables of this version of the policy.
func (s *Store) mirrors(ctx context.Context, p *policy.Policy) (all bool, err error) {
	var names []string
	for _, table := range p.Tables() {
		names = append(names, table.Name)
	}
	err = s.pool.QueryRow(ctx, `select count(*) = cardinality($1::text[]) from recoup.error_table
		where table_name = any ($1) and policy_version = $2 and not retired`, names, p.Version).Scan(&all)
	return all, failure("read the tables of the policy", err)
}

func (s *Store) syncTables(ctx context.Context, p *policy.Policy, also []store.SyncPolicy) error {
	return s.transact(ctx, "sync tables", time.Time{}, func(t *tx) error {
		t.queue(acquireLock, turnTables, false)
		var names []string
		tables := p.Tables()
		if i := slices.IndexFunc(tables, func(t *policy.Table) bool { return t.EntityColumn == policy.SpecEntityColumn }); i > 0 {
			tables[0], tables[i] = tables[i], tables[0] // the second name of the entity in the others depends on it (other_name)
		}
		for _, table := range tables {
			names = append(names, table.Name)
			t.queue(`select recoup.sync_table(row($1::text, $2::text, $3::text, $4::text[], $5::text, $6::interval, $7::bool,
				$8::bool, $9::text, $10::interval, $11::text, false, $12::text, $13::bool, $14::bool, $15::jsonb)::recoup.error_table)`,
				table.Name, table.Hub, table.EntityColumn, dispositions(table), string(table.Default.Disposition()),
				optional(table.TTL), table.Blocks, table.DeadLetter, optional(table.Archive), optional(table.Retention), p.Version,
				table.HubName(), !table.EntityOptional, table == p.OrphanTable, table.Source)
		}
		t.queue("select recoup.retire_tables($1, $2)", p.Version, names)
		t.queue("select recoup.sync_ledger($1, $2, $3)", p.Version, p.Ledger.EventRetention, p.Ledger.RollupRetention)
		for _, sync := range also {
			if err := sync(&act{tx: t, store: s, ctx: ctx}, p); err != nil {
				return err
			}
		}
		return nil
	})
}

// TableNames lists the names of the policy's tables and archives, and what each is in
// the database.
func (s *Store) TableNames(ctx context.Context) ([]wire.TableName, error) {
	rows, err := s.pool.Query(ctx, `select name, table_name, archive, standing, coalesce(kind, ''), coalesce(owner, '') from recoup.names()`)
	if err != nil {
		return nil, failure("list the names of tables", err)
	}
	list, err := pgx.CollectRows(rows, pgx.RowToStructByPos[wire.TableName])
	return list, failure("list the names of tables", err)
}

// dispositions lists what the column may hold in a table: what its policy
// allows, RESOLVED where errors can end, and ARCHIVE where what should be
// parked cannot be.
func dispositions(t *policy.Table) []string {
	var list []string
	for _, action := range t.Allowed() {
		list = append(list, string(action.Disposition()))
	}
	if t.Infinite() {
		return list
	}
	list = append(list, string(recoup.DispositionResolved))
	if archive := string(recoup.DispositionArchive); !t.Allows(recoup.ActionPark) && !slices.Contains(list, archive) {
		list = append(list, archive)
	}
	return list
}

// optional turns the zero value into NULL.
func optional[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}
