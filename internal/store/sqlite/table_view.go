package sqlite

import (
	"strings"

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
// schema makes every connection prepare its statements anew.
func (t *tx) syncView(name, query string) error {
	definition := `CREATE VIEW ` + quote(name) + ` as ` + query
	var same bool
	err := t.row(`select exists (select 1 from sqlite_schema where type = 'view' and name = ? and sql = ?)`, name, definition).Scan(&same)
	if err != nil || same {
		return err
	}
	if err := t.define(`drop view if exists ` + quote(name)); err != nil {
		return err
	}
	return t.define(definition)
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
