package define

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// ErrNotAdopted is returned to who releases what is not adopted.
var ErrNotAdopted = errors.New("the table is not adopted")

// release is an adoption on its way out. Every part of it looks at what is there, so
// that it can be repeated, and goes on after a crash.
type release struct {
	*Runner
	record *Record
	rights Rights
	table  string   // the source's name as it is now; empty: it is gone
	owner  string   // of the source as it is now, which is perhaps not who owned it when it was adopted
	bodies []string // md5 of the bodies of its functions, as they were created
}

// Release takes everything out of a source: triggers, functions, columns, rights. Open
// errors are ended by nodes; once they have, the adoption is forgotten, which Release
// reports.
func (r *Runner) Release(ctx context.Context, source string) (forgotten bool, err error) {
	out := &release{Runner: r}
	if err := r.ask(ctx, func(tx pgx.Tx) error { return out.find(ctx, tx, source) }); err != nil {
		return false, err
	}
	r.released = out.record.ID
	for _, part := range []struct {
		name string
		do   func(context.Context, pgx.Tx) error
	}{
		{"begin", out.begin},
		{stepWatch, out.unwatch},
	} {
		if err := out.part(ctx, part.name, part.do); err != nil {
			return false, err
		}
	}
	if err := out.dropTriggers(ctx); err != nil {
		return false, err
	}
	for _, part := range []struct {
		name string
		do   func(context.Context, pgx.Tx) error
	}{
		{stepFunctions, out.dropFunctions},
		{stepColumns, out.dropColumns},
		{stepRole, out.dropRole},
		{stepRights, out.revoke},
	} {
		if err := out.part(ctx, part.name, part.do); err != nil {
			return false, err
		}
	}
	return r.Forget(ctx)
}

func (o *release) find(ctx context.Context, tx pgx.Tx, source string) error {
	oid, missing := find(ctx, tx, o.Path, source)
	if missing != nil && !errors.Is(missing, errNoTable) && !errors.Is(missing, ErrRefused) {
		return missing
	}
	if err := o.actAsSchemaOwner(ctx, tx); err != nil {
		return err
	}
	var err error
	if missing == nil {
		o.record, err = ReadRecord(ctx, tx, oid)
	}
	if several := err; o.record == nil && (err == nil || errors.Is(err, errSeveral)) {
		// The table is gone, has another name, or has several adoptions.
		if o.record, err = readRecord(ctx, tx, "source = $1", source); o.record == nil && err == nil {
			err = several
		}
	}
	if err != nil {
		return err
	}
	if o.record == nil {
		return fmt.Errorf("%s: %w", source, ErrNotAdopted)
	}
	if err := o.findOwner(ctx, tx); err != nil {
		return err
	}
	if err := o.readRights(ctx, tx); err != nil {
		return err
	}
	err = tx.QueryRow(ctx, "select array(select f.value ->> 4 from recoup.adoption a, jsonb_each(a.made) f where a.adoption_id = $1 and f.value ->> 4 is not null)", o.record.ID).Scan(&o.bodies)
	if err != nil {
		return err
	}
	err = tx.QueryRow(ctx, "select format('%I.%I', n.nspname, c.relname), pg_get_userbyid(c.relowner) from pg_class c join pg_namespace n on n.oid = c.relnamespace where c.oid = $1",
		o.record.OID).Scan(&o.table, &o.owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// findOwner replaces the owner of the record by the owner of the adoption's functions if no role has that
// name: the role was renamed, or dropped after another one got what it had.
func (o *release) findOwner(ctx context.Context, tx pgx.Tx) error {
	err := tx.QueryRow(ctx, `select pg_get_userbyid(p.proowner) from pg_proc p
		where p.pronamespace = 'recoup'::regnamespace and p.proname = format('adopted_%s_insert', $2::int) and to_regrole(quote_ident($1)) is null`,
		o.record.Owner, o.record.ID).Scan(&o.record.Owner)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	return err
}

// readRights reads the rights for the record, and goes on as the owner of the schema recoup.
func (o *release) readRights(ctx context.Context, tx pgx.Tx) (err error) {
	if _, err = tx.Exec(ctx, leaveRole); err != nil {
		return err
	}
	if o.rights, err = ReadRights(ctx, tx, o.record.Owner, o.SchemaOwner); err != nil {
		return err
	}
	if err := o.rights.err(); err != nil {
		return err
	}
	return actAs(ctx, tx, o.rights.SchemaOwner)
}

// actAsSchemaOwner has a transaction go on as the owner of the schema recoup.
func (r *Runner) actAsSchemaOwner(ctx context.Context, tx pgx.Tx) error {
	var user string
	if err := tx.QueryRow(ctx, "select session_user::text").Scan(&user); err != nil {
		return err
	}
	rights, err := ReadRights(ctx, tx, user, r.SchemaOwner)
	if err == nil {
		err = rights.err()
	}
	if err != nil {
		return err
	}
	return actAs(ctx, tx, rights.SchemaOwner)
}

// part does a part in a transaction of its own.
func (o *release) part(ctx context.Context, name string, do func(context.Context, pgx.Tx) error) error {
	err := o.patiently(ctx, o.record.OID, name, func(timeout time.Duration) error {
		return o.transact(ctx, func(tx pgx.Tx) error {
			if err := limit(ctx, tx, timeout); err != nil {
				return err
			}
			if err := actAs(ctx, tx, o.rights.SchemaOwner); err != nil {
				return err
			}
			return do(ctx, tx)
		})
	})
	if err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	o.report(Progress{Step: name, Done: true})
	return nil
}

func (o *release) begin(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `with begun as (update recoup.adoption set state = $2 where adoption_id = $1 and state <> $2 returning source, table_name)
		insert into recoup.audit (at, actor, act, target, details)
		select recoup.clock(), $3, 'table.release', source, json_build_object('table', table_name) from begun`, o.record.ID, wire.AdoptionReleasing, o.Actor)
	return err
}

func (o *release) unwatch(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, "select recoup.watch_errors()")
	return err
}

// isFunction is the condition for a function (p) of an adoption ($1): by its name in the schema
// recoup, or by its body ($2), because the owner ($3) can move and rename it. A procedure is not ours.
const isFunction = `p.prokind = 'f' and (p.pronamespace = 'recoup'::regnamespace and p.proname ~ ('^adopted_' || $1 || '_') or md5(p.prosrc) = any ($2) and pg_get_userbyid(p.proowner) = $3)`

// dropTriggers drops them wherever they are and however they are called: partitions come and
// go, and others can attach the functions to tables of theirs. A partition that was detached has
// columns of ours that are no longer its parent's, and loses them too; a table of another owner
// keeps its columns.
func (o *release) dropTriggers(ctx context.Context) error {
	type held struct {
		Table, Owner string
		Detached     bool
		Triggers     []string
	}
	var tables []held
	err := o.ask(ctx, func(tx pgx.Tx) error {
		rows, err := tx.Query(ctx, `select format('%I.%I', n.nspname, c.relname), pg_get_userbyid(c.relowner)::text,
			c.oid <> $4 and not c.relispartition and pg_get_userbyid(c.relowner) = $3, array_agg(t.tgname::text order by t.tgname)
		from pg_trigger t join pg_class c on c.oid = t.tgrelid
		join pg_namespace n on n.oid = c.relnamespace join pg_proc p on p.oid = t.tgfoid
		where `+isFunction+` and t.tgparentid = 0
		group by n.nspname, c.relname, c.oid, c.relowner, c.relispartition order by 1`, fmt.Sprint(o.record.ID), o.bodies, o.record.Owner, o.record.OID)
		if err == nil {
			tables, err = pgx.CollectRows(rows, pgx.RowToStructByPos[held])
		}
		return err
	})
	if err != nil {
		return err
	}
	for _, on := range tables {
		err := o.part(ctx, stepTriggers+" "+on.Table, func(ctx context.Context, tx pgx.Tx) error {
			if err := actAs(ctx, tx, on.Owner); err != nil {
				return err
			}
			for _, trigger := range on.Triggers {
				if _, err := tx.Exec(ctx, fmt.Sprintf("drop trigger if exists %s on %s", quote(trigger), on.Table)); err != nil {
					return err
				}
			}
			drops := o.record.columns()
			if !on.Detached || len(drops) == 0 {
				return nil
			}
			_, err := tx.Exec(ctx, "alter table "+on.Table+" "+strings.Join(drops, ", "))
			return needed(err, addedColumns)
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// dropFunctions drops the functions of the adoption.
func (o *release) dropFunctions(ctx context.Context, tx pgx.Tx) error {
	return o.dropObjects(ctx, tx, `select 'function', format('%I.%I(%s)', n.nspname, p.proname, pg_get_function_identity_arguments(p.oid)), n.nspname <> 'recoup'
		from pg_proc p join pg_namespace n on n.oid = p.pronamespace where `+isFunction+` order by 2`,
		fmt.Sprint(o.record.ID), o.bodies, o.record.Owner)
}

// dropView drops the views of the adoption. The owner of the source can move the one that triggers use.
func (o *release) dropView(ctx context.Context, tx pgx.Tx) error {
	a := Adoption{ID: o.record.ID}
	return o.dropObjects(ctx, tx, `select 'view', format('%I.%I', n.nspname, c.relname), n.nspname <> 'recoup'
		from pg_class c join pg_namespace n on n.oid = c.relnamespace
		where c.relkind = 'v' and (n.nspname = 'recoup' and c.relname in ($1, $2) or c.relname = $1 and pg_get_userbyid(c.relowner) = $3) order by 2`, a.name(seen), a.name(bound), o.record.Owner)
}

// dropObjects drops the objects that a query finds. What the owner has moved to another schema is
// dropped with the owner's rights.
func (o *release) dropObjects(ctx context.Context, tx pgx.Tx, query string, args ...any) error {
	type object struct {
		Kind, Name string
		Moved      bool
	}
	rows, err := tx.Query(ctx, query, args...)
	if err != nil {
		return err
	}
	objects, err := pgx.CollectRows(rows, pgx.RowToStructByPos[object])
	if err != nil {
		return err
	}
	for _, object := range objects {
		role := o.rights.SchemaOwner
		if object.Moved {
			role = o.record.Owner
		}
		if err := actAs(ctx, tx, role); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "drop "+object.Kind+" "+object.Name); err != nil {
			return needed(err, "the "+object.Kind+" "+object.Name)
		}
	}
	return actAs(ctx, tx, o.rights.SchemaOwner)
}

// columns are the columns that the adoption has added, which its steps say, as they are
// dropped.
func (r *Record) columns() (drops []string) {
	for _, added := range []struct {
		step    string
		columns []string
	}{
		{stepColumns, []string{r.Mapping.Disposition, r.Mapping.ArchivedAt}},
		{stepKeyColumn, []string{KeyColumn}},
	} {
		for _, column := range added.columns {
			if slices.Contains(r.Steps, added.step) {
				drops = append(drops, "drop column if exists "+quote(column))
			}
		}
	}
	return drops
}

// dropColumns drops the columns that the adoption has added, and in the same transaction the view
// that says which table has them. Another table that has got the name of the source keeps its columns,
// and so does a table with another owner, whose they may be.
func (o *release) dropColumns(ctx context.Context, tx pgx.Tx) error {
	record, err := readRecord(ctx, tx, "adoption_id = $1 for update", o.record.ID)
	if err != nil || record == nil {
		return err
	}
	if err := o.dropView(ctx, tx); err != nil {
		return err
	}
	drops := record.columns()
	if len(drops) == 0 {
		return nil
	}
	if unsure := o.unsure(record); o.table != "" && unsure != "" {
		o.report(Progress{Step: stepColumns, Note: fmt.Sprintf("%s %s, so its columns stay. If they are Recoup's, run ALTER TABLE %[1]s %[3]s.", o.table, unsure, strings.Join(drops, ", "))})
	} else if o.table != "" {
		if err := actAs(ctx, tx, o.owner); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, "alter table "+o.table+" "+strings.Join(drops, ", ")); err != nil {
			return needed(err, addedColumns)
		}
		if err := actAs(ctx, tx, o.rights.SchemaOwner); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "update recoup.adoption set steps = array_remove(array_remove(steps, $2), $3) where adoption_id = $1",
		o.record.ID, stepColumns, stepKeyColumn)
	return err
}

// unsure is why the columns of the table are perhaps not those that the adoption has added; empty: they are.
func (o *release) unsure(record *Record) string {
	switch {
	case !record.Sure:
		return "is not the table that was adopted"
	case o.owner != record.Owner:
		return fmt.Sprintf("belongs to %s and was adopted as a table of %s", o.owner, record.Owner)
	}
	return ""
}

// addedColumns are what a view of the owner can use.
const addedColumns = "the columns that Recoup has added"

// needed names the objects that use something that is dropped, if there are any.
func needed(err error, what string) error {
	said, ok := errors.AsType[*pgconn.PgError](err)
	if !ok || said.Code != "2BP01" { // dependent_objects_still_exist
		return err
	}
	return fmt.Errorf("something of yours uses %s: %s; drop it, and run the command again: %w", what, strings.ReplaceAll(said.Detail, "\n", ", "), err)
}

// revoke takes the rights of the source's owner back, unless another table of the
// same owner is adopted: then that adoption is the one that takes them back.
func (o *release) revoke(ctx context.Context, tx pgx.Tx) error {
	var heir *int
	err := tx.QueryRow(ctx, `select min(adoption_id) from recoup.adoption where owner = $1 and adoption_id <> $2 and state <> $3`,
		o.record.Owner, o.record.ID, wire.AdoptionReleasing).Scan(&heir)
	if err != nil {
		return err
	}
	record, err := readRecord(ctx, tx, "adoption_id = $1 for update", o.record.ID)
	if err != nil || record == nil {
		return err
	}
	if slices.Contains(record.Steps, stepRights) {
		if heir != nil {
			_, err = tx.Exec(ctx, "update recoup.adoption set steps = steps || $2::text where adoption_id = $1", *heir, stepRights)
		} else {
			owner := quote(o.record.Owner)
			_, err = tx.Exec(ctx, "revoke insert ("+changeColumns+") on recoup.adopted_change from "+owner+
				"; revoke usage on schema recoup from "+owner, pgx.QueryExecModeSimpleProtocol)
		}
		if err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, "update recoup.adoption set steps = '{}' where adoption_id = $1", o.record.ID)
	return err
}

// Forget deletes the adoption that Release has released last, once nodes have ended its errors, and
// reports whether they have.
func (r *Runner) Forget(ctx context.Context) (forgotten bool, err error) {
	err = r.transact(ctx, func(tx pgx.Tx) error {
		if err := r.actAsSchemaOwner(ctx, tx); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select recoup.forget_adoption($1)", r.released).Scan(&forgotten)
	})
	return forgotten, err
}
