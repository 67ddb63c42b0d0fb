package sqlite

import (
	"context"
	"strings"

	"recoup"
	"recoup/internal/policy"
)

// syncViews gives the table and its archive the names that the policy has for
// them: read-only views, whose names have a dot and must be quoted, with the
// entity under the policy's name for it, and under the one that the promotion check
// of spec 000, 6.3 has. "Likely" keeps the planner from
// preferring the index of tables where the entity is asked for.
func (t *tx) syncViews(table *policy.Table) error {
	ofTable := ` where likely(table_name = ` + literal(table.Name) + `)`
	err := t.syncView(table.Name, `select `+viewColumns(errorColumns, table)+`, null as archived_at from error`+ofTable)
	if err != nil || table.Archive == "" {
		return err
	}
	return t.syncView(table.Archive, `select `+viewColumns(archivedColumns, table)+` from error_archive`+ofTable)
}

// syncView makes a view unless it is there as it should be: a change of the
// schema makes every connection prepare its statements anew. What else has the name
// keeps it.
func (t *tx) syncView(name, query string) error {
	definition := `CREATE VIEW ` + quote(name) + ` as ` + query
	var same, taken bool
	err := t.row(`select count(*) filter (where sql = ?) > 0, count(*) filter (where `+notOurs+`) > 0 from sqlite_schema s where `+hasName, definition, name).
		Scan(&same, &taken)
	if err != nil || same || taken {
		return err
	}
	if err := t.define(`drop view if exists ` + quote(name)); err != nil {
		return err
	}
	return t.define(definition)
}

// dropView drops a view of ours, if there is one of that name.
func (t *tx) dropView(name string) error {
	var ours bool
	err := t.row(`select exists (select 1 from sqlite_schema s where not (`+notOurs+`) and `+hasName+`)`, name).Scan(&ours)
	if err != nil || !ours {
		return err
	}
	return t.define(`drop view ` + quote(name))
}

const (
	// hasName finds what has a name; triggers have names of their own.
	hasName = `s.type <> 'trigger' and s.name = ? collate nocase`

	// notOurs tells it from a view of ours, by its text.
	notOurs = `s.type <> 'view' or s.sql not like 'CREATE VIEW "%" as select %, entity_id as %from error%where likely(table_name = ''%'')'`
)

// TableNames lists the names of the policy's tables and archives, and what each is in
// the file.
func (s *Store) TableNames(ctx context.Context) ([]recoup.TableName, error) {
	return query(ctx, s, func(n *recoup.TableName) []any { return []any{&n.Name, &n.Table, &n.Archive, &n.Standing, &n.Kind} }, `
		select p.name, p.table_name, p.archive,
		  case when s.name is null then 'FREE' when `+notOurs+` then 'TAKEN' else 'VIEW' end,
		  case when `+notOurs+` then s.type else '' end
		from (select table_name as name, table_name, 0 as archive from error_table where not retired
		  union all select archive_name, table_name, 1 from error_table where not retired and archive_name is not null) p
		left join sqlite_schema s on s.type <> 'trigger' and s.name = p.name collate nocase
		order by p.table_name, p.archive`)
}

func viewColumns(columns []column, table *policy.Table) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
		if c.name == "entity_id" && table.EntityColumn != "" {
			list[i] += ` as ` + quote(table.EntityColumn)
		}
	}
	other := "outreach_id"
	if table.EntityColumn == other {
		other = "entity_id"
	}
	return strings.Join(append(list, "entity_id as "+other), ", ")
}

// quote quotes an identifier, and literal a string. Both come from a checked
// policy; a view takes no parameters.
func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

func literal(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
