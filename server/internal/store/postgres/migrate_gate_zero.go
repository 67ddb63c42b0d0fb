package postgres

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// takenOverTables are the tables of spec 004 that migrations take over, and takenOverNames the
// same for a statement.
var takenOverTables = []string{"cl.gate_zero_intake", "cl.gate_zero_recovery"}

const takenOverNames = "'cl.gate_zero_intake', 'cl.gate_zero_recovery'"

// What the help of migrations says of tables that are taken over, and the migration that
// does it.
const (
	TakeOverHelp = `On PostgreSQL, tables cl.gate_zero_intake and cl.gate_zero_recovery that are there already are
taken over with their rows; rows that break a rule are listed and left as they are.`
	TakeOverMigration = "gate_zero"
)

// selectTakeOver finds what keeps Gate Zero's schema from being made, and its tables, if
// there are some already, from being taken over (decision 0077): they are recognised by
// the columns of spec 004 and their types, and moved to the schema cl_before. Their owner and what
// could run code of others are checked apart ([checkOwners], [checkPlain]).
const selectTakeOver = `
	with wanted (tab, col, type, required) as (values
	  ('gate_zero_intake', 'intake_id', 'uuid', true), ('gate_zero_intake', 'company_name', 'text', true), ('gate_zero_intake', 'status', 'text', true),
	  ('gate_zero_intake', 'batch_id', 'text', false), ('gate_zero_intake', 'import_key', 'text', false), ('gate_zero_intake', 'domain', 'text', false),
	  ('gate_zero_intake', 'linkedin_url', 'text', false), ('gate_zero_intake', 'state', 'text', false), ('gate_zero_intake', 'previous_intake_id', 'uuid', false),
	  ('gate_zero_intake', 'created_at', 'timestamptz', false), ('gate_zero_intake', 'updated_at', 'timestamptz', false),
	  ('gate_zero_recovery', 'recovery_id', 'uuid', true), ('gate_zero_recovery', 'intake_id', 'uuid', true), ('gate_zero_recovery', 'batch_id', 'text', true),
	  ('gate_zero_recovery', 'failure_reason', 'text', true), ('gate_zero_recovery', 'attempt_count', 'integer', true),
	  ('gate_zero_recovery', 'next_eligible_at', 'timestamptz', true), ('gate_zero_recovery', 'status', 'text', true),
	  ('gate_zero_recovery', 'created_at', 'timestamptz', true), ('gate_zero_recovery', 'updated_at', 'timestamptz', true)),
	place as (select oid, nspowner from pg_namespace where nspname = 'cl'),
	base as (select has_database_privilege(current_database(), 'create') as open, datdba from pg_database where datname = current_database()),
	found as (select c.* from pg_class c join place p on p.oid = c.relnamespace where c.relname in ('gate_zero_intake', 'gate_zero_recovery')),
	odd as (
	  select f.relname, string_agg(case when a.attname is null then 'has no column ' || w.col
	      else format('has a column %s of type %s, not %s', w.col, format_type(a.atttypid, a.atttypmod), w.type) end, '; ' order by w.col) as how
	    from found f join wanted w on w.tab = f.relname
	    left join pg_attribute a on a.attrelid = f.oid and a.attname = w.col and a.attnum > 0 and not a.attisdropped
	    left join pg_type t on t.oid = a.atttypid
	   where case when a.attname is null then w.required
	     when w.type = 'text' then t.typcategory not in ('S', 'E')
	     when w.type = 'integer' then t.typname not in ('int2', 'int4', 'int8')
	     else t.typname <> w.type end
	   group by 1)
	select 'cl_before', 'schema', pg_get_userbyid(nspowner), 'the tables of Gate Zero that are there would be kept in a new schema of that name: rename this one'
	  from pg_namespace where nspname = 'cl_before' and exists (select from found)
	union all
	select 'cl_before', 'missing schema', pg_get_userbyid(datdba), format('the tables of Gate Zero that are there are kept in it: grant create on database %I to %I', current_database(), current_user)
	  from base where not open and exists (select from found)
	union all
	select 'cl.' || f.relname, case f.relkind when 'r' then 'table' when 'v' then 'view' when 'p' then 'partitioned table' when 'm' then 'materialized view' else 'relation' end,
	    pg_get_userbyid(f.relowner), case
	      when o.how is not null then 'it is not the table of the specification: it ' || o.how || '. Alter it, and it is taken over with its rows; or rename it'
	      else 'it cannot be taken over without cl.gate_zero_intake, to which it refers: rename it' end
	  from found f left join odd o on o.relname = f.relname
	 where o.how is not null
	    or f.relname = 'gate_zero_recovery' and not exists (select from found where relname = 'gate_zero_intake')
	 order by 1, 2`

// TakenOver is what became of the tables of Gate Zero that were there before Recoup.
type TakenOver struct {
	Intakes    int64
	Recoveries int64
	Left       int64       // rows that break a rule, and are only in cl_before
	Examples   []RowLeft   // of these, some
	References []Reference // of others to the tables as they were
}

// RowLeft is a row that was not taken over.
type RowLeft struct{ Table, ID, Problem string }

// Reference is a view or a foreign key that still is about a table in cl_before.
type Reference struct{ Kind, Name, Table string }

// String says it in lines, for a person.
func (t *TakenOver) String() string {
	var text strings.Builder
	fmt.Fprintf(&text, "Gate Zero: took over %d intakes and %d recoveries; the tables as they were are in the schema cl_before", t.Intakes, t.Recoveries)
	if t.Left > 0 {
		fmt.Fprintf(&text, "\n%d rows break a rule and were left there; all of them: select * from cl.gate_zero_left", t.Left)
	}
	for _, r := range t.Examples {
		fmt.Fprintf(&text, "\n  %s %s: %s", r.Table, r.ID, r.Problem)
	}
	for _, r := range t.References {
		fmt.Fprintf(&text, "\nthe %s %s is still about %s: make it anew on the table of that name in cl", r.Kind, r.Name, r.Table)
	}
	return text.String()
}

// exampleRows is how many rows that were left are named by [ReadTakenOver].
const exampleRows = 20

// ReadTakenOver says what was taken over when Gate Zero's schema was made; nil: there was
// nothing.
func ReadTakenOver(ctx context.Context, url string) (t *TakenOver, err error) {
	err = readAt(ctx, url, func(db reader) (err error) {
		t, err = readTakenOver(ctx, db)
		return err
	})
	return t, failure("read what was taken over", err)
}

func readTakenOver(ctx context.Context, db reader) (t *TakenOver, err error) {
	t = &TakenOver{}
	err = db.QueryRowContext(ctx, `select intakes, recoveries, (select count(*) from cl.gate_zero_left) from cl.gate_zero_taken_over`).
		Scan(&t.Intakes, &t.Recoveries, &t.Left)
	if err == sql.ErrNoRows { //nolint:errorlint // database/sql returns it bare
		return nil, nil //nolint:nilnil // nothing was there, and that is no failure
	}
	if err == nil {
		t.Examples, err = readList(ctx, db, fmt.Sprintf(`select table_name, coalesce(row_id, 'without an id'), problem from cl.gate_zero_left order by 1, 2 limit %d`, exampleRows),
			func(r *RowLeft) []any { return []any{&r.Table, &r.ID, &r.Problem} })
	}
	if err == nil {
		t.References, err = readList(ctx, db, selectReferences, func(r *Reference) []any { return []any{&r.Kind, &r.Name, &r.Table} })
	}
	return t, err
}

const selectReferences = `
	select distinct 'view', v.oid::regclass::text, c.oid::regclass::text
	  from pg_class c join pg_depend d on d.refobjid = c.oid and d.classid = 'pg_rewrite'::regclass::oid
	  join pg_rewrite r on r.oid = d.objid join pg_class v on v.oid = r.ev_class
	 where c.relnamespace = to_regnamespace('cl_before')::oid and v.oid <> c.oid
	union all
	select 'foreign key', k.conname || ' of ' || k.conrelid::regclass, k.confrelid::regclass::text
	  from pg_constraint k join pg_class c on c.oid = k.confrelid join pg_class o on o.oid = k.conrelid
	 where k.contype = 'f' and c.relnamespace = to_regnamespace('cl_before')::oid and o.relnamespace <> c.relnamespace
	 order by 1, 2`

func readList[T any](ctx context.Context, db reader, query string, fields func(*T) []any, args ...any) (list []T, err error) {
	rows, err := db.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}
