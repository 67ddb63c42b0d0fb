package adopt

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
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
	own, err := pgx.ConnectConfig(ctx, conn.Config())
	if err != nil {
		return err
	}
	defer func() { _ = own.Close(context.WithoutCancel(ctx)) }()
	return discarded(ctx, own, func(tx pgx.Tx) error {
		const name = "pg_temp.recoup_look()"
		create := fmt.Sprintf("create function %s returns jsonb language plpgsql security definer set search_path = pg_catalog, pg_temp as %s",
			name, body("\n#variable_conflict use_column\n"+text))
		statements := append([]string{plainPath, "set local statement_timeout = '10s'", "set local check_function_bodies = off", "set local role " + quote(owner)}, before...)
		for _, sql := range append(statements, create, "grant execute on function "+name+" to public", "reset role") {
			if _, err := tx.Exec(ctx, sql, pgx.QueryExecModeExec); err != nil {
				return err
			}
		}
		var result []byte
		if err := tx.QueryRow(ctx, "select "+name, pgx.QueryExecModeExec).Scan(&result); err != nil {
			return err
		}
		return json.Unmarshal(result, into)
	})
}

// selected is the body of a function that returns the one row of a query as an object.
func selected(query string) string {
	return "begin\n  return (select to_jsonb(q) from (" + query + ") q);\nend "
}

// ownerPatience is how long code of a table's owner may run for a plan.
const ownerPatience = 30 * time.Second

// adopterRole is the role as which nodes reach adopted tables.
const adopterRole = "recoup_adopter"

// adopter connects as the role that may do nothing but call the functions of adoptions. What
// fires triggers of a table's owner runs there and not with the rights of the administrator.
func (r *Runner) adopter(ctx context.Context) (*pgx.Conn, error) {
	config := r.Conn.Config()
	config.User = adopterRole
	if r.Adoption != "" {
		given, err := pgx.ParseConfig(r.Adoption)
		if err != nil {
			return nil, err
		}
		config = given
	}
	config.RuntimeParams = map[string]string{"application_name": "recoup adopt", "search_path": "pg_catalog", "statement_timeout": "60000", "lock_timeout": fmt.Sprint(lockTimeout.Milliseconds())}
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect as %s (set --adoption-database to an address that does): %w", config.User, err)
	}
	return conn, nil
}

// fillRows calls the function that gives rows without a key one, and returns how many it wrote.
// Without pages it returns whether rows are left.
func (r *Runner) fillRows(ctx context.Context, p *Plan, from, to *int64) (rows int64, err error) {
	var token []byte
	err = r.transact(ctx, func(tx pgx.Tx) error {
		if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
			return err
		}
		return tx.QueryRow(ctx, "select token from recoup.adoption_token where adoption_id = $1", p.adoption.ID).Scan(&token)
	})
	if err != nil {
		return 0, err
	}
	conn, err := r.adopter(ctx)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	err = conn.QueryRow(ctx, "select recoup."+p.adoption.name("fill")+"($1, $2, $3)", token, from, to).Scan(&rows)
	return rows, err
}

// fill is the function that gives rows in some pages a key.
func (a *Adoption) fill() Function {
	return a.called("fill", "pages bigint, until bigint", "bigint, bigint", "bigint", "", strings.NewReplacer("TABLE", a.Source.Quoted(), "KEY", quote(KeyColumn)).Replace(`declare
  n bigint;
begin
  if $2 is null then
    return (select count(*) from (select from TABLE t where t.KEY is null limit 1) l);
  end if;
  with batch as (select t.ctid from TABLE t where t.ctid >= format('(%s,0)', $2)::tid and t.ctid < format('(%s,0)', $3)::tid and t.KEY is null for no key update skip locked)
  update TABLE t set KEY = gen_random_uuid() from batch where t.ctid = batch.ctid;
  get diagnostics n = row_count;
  return n;
end `))
}
