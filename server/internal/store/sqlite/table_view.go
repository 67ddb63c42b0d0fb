package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// views are what has a name in the schema, and what is to become of the views. It is
// read once and changed last: SQLite scans all of its schema for the name of a view, and
// has every statement prepared anew once one has changed.
type views struct {
	are     map[string]entry // by name in lower case, as SQLite compares them
	dropped []string
	created []view
}

// view is a row of the schema.
type view struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// entry has a name in the schema.
type entry struct {
	view
	taken bool // it is no view of ours, and keeps its name
	fresh bool // it is still to be made
}

// loadViews reads the schema; triggers have names of their own.
func (t *tx) loadViews() (*views, error) {
	rows, err := t.query(`select s.name, coalesce(s.sql, ''), ` + notOurs + ` from sqlite_schema s where s.type <> 'trigger'`)
	if err != nil {
		return nil, err
	}
	list, err := collect(rows, func(n *entry) []any { return []any{&n.Name, &n.Text, &n.taken} })
	v := &views{are: make(map[string]entry, len(list))}
	for _, n := range list {
		v.are[strings.ToLower(n.Name)] = n
	}
	return v, err
}

// sync gives the table and its archive the names that the policy has for
// them: read-only views, whose names have a dot and must be quoted, with the
// entity under the policy's name for it, and under the other one. "Likely" keeps the planner from
// preferring the index of tables where the entity is asked for.
func (v *views) sync(table *policy.Table, other string) {
	ofTable := ` where likely(table_name = ` + literal(table.Name) + `)`
	v.create(table.Name, `select `+viewColumns(errorColumns, table, other)+`, null as archived_at from error`+ofTable)
	if table.Archive != "" {
		v.create(table.Archive, `select `+viewColumns(archivedColumns, table, other)+` from error_archive`+ofTable)
	}
}

// create makes a view unless it is there as it should be. What else has the name keeps
// it.
func (v *views) create(name, query string) {
	definition := `CREATE VIEW ` + quote(name) + ` as ` + query
	key := strings.ToLower(name)
	if is := v.are[key]; is.taken || is.Text == definition {
		return
	}
	v.drop(name)
	made := view{name, definition}
	v.are[key] = entry{view: made, fresh: true}
	v.created = append(v.created, made)
}

// drop drops a view of ours, if there is one of that name.
func (v *views) drop(name string) {
	key := strings.ToLower(name)
	if is, found := v.are[key]; found && !is.taken && !is.fresh {
		delete(v.are, key)
		v.dropped = append(v.dropped, is.Name)
	}
}

// fewViews is how many views are changed one by one.
const fewViews = 50

// save changes the schema. One by one, many views take a time that grows with the square
// of their number, because each statement scans the schema: beyond a few they are written
// into it at once, as SQLite describes it for such changes (decision 0079).
func (v *views) save(t *tx) error {
	if len(v.dropped)+len(v.created) > fewViews {
		return v.saveMany(t)
	}
	for _, name := range v.dropped {
		if err := t.define(`drop view ` + quote(name)); err != nil {
			return err
		}
	}
	for _, view := range v.created {
		if err := t.define(view.Text); err != nil {
			return err
		}
	}
	return nil
}

// saveMany writes the views into the schema, says that it has changed, and has this
// connection read it anew; the others do when they see that.
func (v *views) saveMany(t *tx) (err error) {
	dropped, err := json.Marshal(v.dropped)
	if err != nil {
		return err
	}
	created, err := json.Marshal(v.created)
	if err != nil {
		return err
	}
	var version int64
	if err := t.row(`pragma schema_version`).Scan(&version); err != nil {
		return err
	}
	if err := t.define(`pragma writable_schema = on`); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, t.define(`pragma writable_schema = reset`)) }()
	if _, err := t.conn.ExecContext(context.Background(), `delete from sqlite_schema where type = 'view' and name in (select value from json_each(?))`, string(dropped)); err != nil {
		return err
	}
	if _, err := t.conn.ExecContext(context.Background(), `insert into sqlite_schema (type, name, tbl_name, rootpage, sql)
		select 'view', value ->> 'name', value ->> 'name', 0, value ->> 'text' from json_each(?)`, string(created)); err != nil {
		return err
	}
	return t.define(fmt.Sprintf(`pragma schema_version = %d`, version+1))
}

// notOurs tells what has a name in the schema from a view of ours, by its text.
const notOurs = `s.type <> 'view' or s.sql not like 'CREATE VIEW "%" as select %, entity_id as %from error%where likely(table_name = ''%'')'`

// TableNames lists the names of the policy's tables and archives, and what each is in
// the file.
func (s *Store) TableNames(ctx context.Context) ([]wire.TableName, error) {
	return query(ctx, s, func(n *wire.TableName) []any { return []any{&n.Name, &n.Table, &n.Archive, &n.Standing, &n.Kind} }, `
		select p.name, p.table_name, p.archive,
		  case when s.name is null then 'FREE' when `+notOurs+` then 'TAKEN' else 'VIEW' end,
		  case when `+notOurs+` then s.type else '' end
		from (select table_name as name, table_name, 0 as archive from error_table where not retired
		  union all select archive_name, table_name, 1 from error_table where not retired and archive_name is not null) p
		left join sqlite_schema s on s.type <> 'trigger' and s.name = p.name collate nocase
		order by p.table_name, p.archive`)
}

func viewColumns(columns []column, table *policy.Table, other string) string {
	list := make([]string, len(columns))
	for i, c := range columns {
		list[i] = c.name
		if c.name == "entity_id" && table.EntityColumn != "" {
			list[i] += ` as ` + quote(table.EntityColumn)
		}
	}
	return strings.Join(append(list, "entity_id as "+other), ", ")
}

// quote quotes an identifier, and literal a string. Both come from a checked
// policy; a view takes no parameters.
func quote(identifier string) string { return `"` + strings.ReplaceAll(identifier, `"`, `""`) + `"` }

func literal(s string) string { return `'` + strings.ReplaceAll(s, `'`, `''`) + `'` }
