package sqlite

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// SyncTables brings the mirror and the views in line with the policy. Tables that
// the policy no longer has are retired: their rows, views and rules stay.
func (s *Store) SyncTables(ctx context.Context, p *policy.Policy, also ...store.SyncPolicy) error {
	return s.writer.do(ctx, func(tx *tx) error {
		views, err := tx.loadViews()
		if err != nil {
			return err
		}
		if err := tx.exec(`update error_table set retired = 1, orphans = 0`); err != nil {
			return err
		}
		for _, table := range p.Tables() {
			if err := tx.syncTable(table, p, views); err != nil {
				return err
			}
		}
		for _, sync := range also {
			if err := sync(act{tx, s}, p); err != nil {
				return err
			}
		}
		return views.save(tx)
	})
}

func (t *tx) syncTable(table *policy.Table, p *policy.Policy, views *views) error {
	was, err := t.archiveName(table.Name)
	if err != nil {
		return err
	}
	if was != "" && was != table.Archive {
		views.drop(was)
	}
	if err := t.mirror(table, p); err != nil {
		return err
	}
	views.sync(table, p.OtherEntityColumn(table))
	return t.allow(table)
}

// archiveName returns the name that the table's archive has had so far.
func (t *tx) archiveName(table string) (string, error) {
	rows, err := t.query(`select archive_name from error_table where table_name = ?`, table)
	if err != nil {
		return "", err
	}
	names, err := collect(rows, func(name *string) []any { return []any{text[string]{name}} })
	if err != nil || len(names) == 0 {
		return "", err
	}
	return names[0], nil
}

// mirror writes the table's row. A replacement would be refused, hence the two
// statements.
func (t *tx) mirror(table *policy.Table, p *policy.Policy) error {
	args := []any{
		table.Hub, table.EntityColumn, string(table.Default.Disposition()), span(table.TTL),
		table.Blocks, table.DeadLetter, text[string]{&table.Archive}, span(table.Retention), p.Version,
		!table.EntityOptional, table == p.OrphanTable, table.Name,
	}
	n, err := t.change(`update error_table set hub = ?, entity_column = ?, default_disposition = ?, ttl = ?,
		blocks = ?, dead_letter = ?, archive_name = ?, retention = ?, policy_version = ?,
		entity_required = ?, orphans = ?, retired = 0
		where table_name = ?`, args...)
	if err != nil || n > 0 {
		return err
	}
	return t.exec(`insert into error_table (hub, entity_column, default_disposition, ttl,
		blocks, dead_letter, archive_name, retention, policy_version, entity_required, orphans, table_name)
		values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, args...)
}

// span is how a length of time is stored: in microseconds, null for ever.
func span(d time.Duration) any {
	if d == 0 {
		return nil
	}
	return d.Microseconds()
}

// allow writes the dispositions that the table allows.
func (t *tx) allow(table *policy.Table) error {
	if err := t.exec(`delete from error_table_disposition where table_name = ?`, table.Name); err != nil {
		return err
	}
	for _, d := range dispositions(table) {
		if err := t.exec(`insert into error_table_disposition (table_name, disposition) values (?, ?)`, table.Name, string(d)); err != nil {
			return err
		}
	}
	return nil
}

// dispositions lists what the column may hold: what the policy allows, RESOLVED
// where errors can end, and ARCHIVE where what should be parked cannot be.
func dispositions(table *policy.Table) []recoup.Disposition {
	var list []recoup.Disposition
	for _, action := range table.Allowed() {
		list = append(list, action.Disposition())
	}
	if table.Infinite() {
		return list
	}
	list = append(list, recoup.DispositionResolved)
	if !table.Allows(recoup.ActionPark) && !table.Allows(recoup.ActionArchive) {
		list = append(list, recoup.DispositionArchive)
	}
	return list
}
