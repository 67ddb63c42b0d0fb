package define

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// asOwner runs the body of a PL/pgSQL function that returns jsonb with the rights of a source's
// owner, and reads its result. Reading rows runs code of the owner: casts, domains, functions
// in conditions, policies. In a function with the rights of its owner this code cannot return to
// the rights of the administrator: PostgreSQL refuses SET ROLE there. The connection is used for
// nothing else, because that code can change everything in its session. Its transaction is
// rolled back, because deferred triggers and cursors would run at the commit, as the
// administrator. Before are functions that the body needs.
//
// The body names the source. The owner of its schema can give that name to another table or view at any time, whose code
// would run. So statements that read the source have the condition [Source.here].
func asOwner(ctx context.Context, conn *pgx.Conn, s *Source, text string, into any, before ...string) (err error) {
	ctx, cancel := context.WithTimeout(ctx, ownerPatience) // that code can lift the limits of the server
	defer cancel()
	config := conn.Config()
	pgsession.Start(config)
	own, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return err
	}
	defer func() {
		pgsession.End(ctx, own)
		_ = own.Close(context.WithoutCancel(ctx))
	}()
	return pgsession.Brief(discarded(ctx, own, func(tx pgx.Tx) error {
		const name = "pg_temp.recoup_look()"
		create := fmt.Sprintf("create function %s returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as %s",
			name, body("\n#variable_conflict use_column\n"+text))
		statements := []string{"set local lock_timeout = '2s'", "set local statement_timeout = '10s'", "set local check_function_bodies = off", "set local role " + quote(s.Owner), sameRow, s.row()}
		for _, sql := range slices.Concat(statements, before, []string{create, "grant execute on function " + name + " to public", leaveRole}) {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		if err := s.checkRow(ctx, tx); err != nil {
			return err
		}
		var result []byte
		if err := tx.QueryRow(ctx, "select "+name, pgx.QueryExecModeExec).Scan(&result); err != nil {
			return err
		}
		return json.Unmarshal(result, into)
	}))
}

// sameRow creates a function that can be called with two values of the same type: see [Adoption.isSource].
const sameRow = "create function pg_temp.recoup_same(anyelement, anyelement) returns boolean language sql immutable as 'select true'"

// row creates a function that has the row type of the source, for a plan.
func (s *Source) row() string {
	return "create function pg_temp.recoup_row() returns " + s.Quoted() + " language plpgsql stable as 'begin return null; end'"
}

// here is a condition of a row of the source, for a plan. A statement that has it fails before any of it runs if its table
// is another one.
func (s *Source) here(row string) string {
	return "pg_temp.recoup_same(" + row + ".*, pg_temp.recoup_row())"
}

// checkRow checks that the function which [Source.row] creates has the row type of the source, and not that of another
// table which has got its name.
func (s *Source) checkRow(ctx context.Context, tx pgx.Tx) error {
	var same bool
	err := tx.QueryRow(ctx, "select coalesce((select t.typrelid = $1 from pg_proc p join pg_type t on t.oid = p.prorettype where p.pronamespace = pg_my_temp_schema() and p.proname = 'recoup_row'), false)",
		pgx.QueryExecModeExec, s.OID).Scan(&same)
	if err == nil && !same {
		err = errExchanged(s)
	}
	return err
}

// errExchanged is returned when another table has the name of a source.
func errExchanged(s *Source) error {
	return fmt.Errorf("%s was exchanged for another table meanwhile. If that is meant, repeat the command: %w", s, ErrRefused)
}

// checkBound checks that what a step has created is bound to the source, by oid. Steps name the source, and the owner
// of its schema can give that name to another table between two of them.
func (p *Plan) checkBound(ctx context.Context, tx pgx.Tx) error {
	a := p.adoption
	var other bool
	err := tx.QueryRow(ctx, `select exists (select from pg_proc p join pg_type t on t.oid = p.prorettype join pg_namespace n on n.oid = p.pronamespace
	      where n.nspname = 'recoup' and p.proname = $2 and t.typrelid <> $1)
	    or exists (select from pg_class v join pg_namespace n on n.oid = v.relnamespace join pg_rewrite r on r.ev_class = v.oid join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
	      where n.nspname = 'recoup' and v.relname = $3 and d.refclassid = 'pg_class'::regclass and d.refobjid not in (v.oid, $1))`,
		p.Facts.OID, a.name("row_type"), a.name(seen)).Scan(&other)
	if err == nil && other {
		err = errExchanged(p.Facts)
	}
	return err
}

// selected is the body of a function that returns the one row of a query as an object.
func selected(query string) string {
	return "begin\n  return (select to_jsonb(q) from (" + query + ") q);\nend "
}

// ownerPatience is how long code of a table's owner may run for a plan.
const ownerPatience = 30 * time.Second

// fill is the function that gives rows in some pages a key.
func (a *Adoption) fill() Function {
	return a.function("fill", "pages bigint, until bigint", "bigint, bigint", "bigint", "", strings.NewReplacer("TABLE", a.Source.Quoted(), "KEY", quote(KeyColumn), "IS_SOURCE", a.isSource("t")).Replace(`declare
  n bigint;
begin
  if $1 is null then
    return (select count(*) from (select from TABLE t where IS_SOURCE and t.KEY is null limit 1) l);
  end if;
  with batch as (select t.ctid from TABLE t where IS_SOURCE and t.ctid >= format('(%s,0)', $1)::tid and t.ctid < format('(%s,0)', $2)::tid and t.KEY is null for no key update skip locked)
  update TABLE t set KEY = gen_random_uuid() from batch where IS_SOURCE and t.ctid = batch.ctid;
  get diagnostics n = row_count;
  return n;
end `))
}
