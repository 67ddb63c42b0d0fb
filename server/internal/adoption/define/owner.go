package define

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// asOwner runs the body of a PL/pgSQL function that returns jsonb with the rights of a table's
// owner, and reads its result. Reading rows runs code of the owner: casts, domains, functions
// in conditions, policies. In a function with the rights of its owner this code cannot return to
// the rights of the administrator: PostgreSQL refuses SET ROLE there. The connection is used for
// nothing else, because that code can change everything in its session. Its transaction is
// rolled back, because deferred triggers and cursors would run at the commit, as the
// administrator. Before are functions that the body needs.
func asOwner(ctx context.Context, conn *pgx.Conn, owner, text string, into any, before ...string) (err error) {
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
		statements := append([]string{"set local lock_timeout = '2s'", "set local statement_timeout = '10s'", "set local check_function_bodies = off", "set local role " + quote(owner)}, before...)
		for _, sql := range append(statements, create, "grant execute on function "+name+" to public", leaveRole) {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		var result []byte
		if err := tx.QueryRow(ctx, "select "+name, pgx.QueryExecModeExec).Scan(&result); err != nil {
			return err
		}
		return json.Unmarshal(result, into)
	}))
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
