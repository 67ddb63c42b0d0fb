package postgres

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/policy"
)

// ErrNameTaken is returned by SyncTables when something that is not ours has
// the name of a table or of an archive. It is left as it is. Everything else is
// in place, and the errors of that table are kept, but not under its name.
var ErrNameTaken = errors.New("the name is taken by something else in the database: rename it, or give the table another name in the policy")

// syncLock keeps nodes from renewing views at the same time.
const syncLock = 20260204

// SyncTables brings the mirror of the policy and the views that carry its names
// in line with the policy.
func (s *Store) SyncTables(ctx context.Context, p *policy.Policy) error {
	var taken []string
	err := s.transact(ctx, "sync tables", time.Time{}, func(t *tx) error {
		taken = nil
		t.queue("select pg_advisory_xact_lock($1, 0)", syncLock)
		var names []string
		for _, table := range p.Tables() {
			names = append(names, table.Name)
			t.queue(`select recoup.sync_table(row($1::text, $2::text, $3::text, $4::text[], $5::text, $6::interval, $7::bool,
				$8::bool, $9::text, $10::interval, $11::text, false, $12::text, $13::bool, $14::bool)::recoup.error_table)`,
				table.Name, table.Hub, table.EntityColumn, dispositions(table), string(table.Default.Disposition()),
				optional(table.TTL), table.Blocks, table.DeadLetter, optional(table.Archive), optional(table.Retention), p.Version,
				table.HubName(), !table.EntityOptional, table == p.OrphanTable,
			).QueryRow(func(row pgx.Row) error {
				var list []string
				err := row.Scan(&list)
				taken = append(taken, list...)
				return err
			})
		}
		t.queue("select recoup.retire_tables($1, $2)", p.Version, names)
		t.queue("select recoup.sync_ledger($1, $2, $3)", p.Version, p.Ledger.EventRetention, p.Ledger.RollupRetention)
		if gate := &p.Gate; gate.Exists() {
			t.queue("select cl.sync_gate($1, $2, $3, $4)", p.Version, waits(gate), reasons(gate), gate.RecoveryWindow)
		}
		return nil
	})
	if err == nil && len(taken) > 0 {
		return fmt.Errorf("%s: %w", strings.Join(taken, ", "), ErrNameTaken)
	}
	return err
}

// waits lists how long a recovery of Gate Zero waits after each of its attempts.
func waits(gate *policy.Gate) []time.Duration {
	list := make([]time.Duration, gate.MaxAttempts)
	for i := range list {
		list[i] = gate.Schedule.Delay(i+1, nil)
	}
	return list
}

func reasons(gate *policy.Gate) []string {
	list := make([]string, len(gate.Reasons))
	for i := range gate.Reasons {
		list[i] = gate.Reasons[i].Name
	}
	return list
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
