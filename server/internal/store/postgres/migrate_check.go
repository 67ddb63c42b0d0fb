package postgres

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Obstacle is something in the database that pending migrations cannot do with.
type Obstacle struct {
	Name  string // schema and name; of a function without its arguments
	Kind  string // table, view, function, schema …
	Owner string
	Way   string // out
}

// ObstacleError is returned by [Migrate] when names that pending migrations would make
// are taken, or what they make would be granted to other roles. It lists all obstacles, and
// nothing was changed.
type ObstacleError struct{ Obstacles []Obstacle }

// mostObstacles is how many obstacles are listed: who has more has somebody else's schema.
const mostObstacles = 50

func (e *ObstacleError) Error() string {
	var text strings.Builder
	text.WriteString("the database is not ready for Recoup's migrations. Nothing was changed.")
	for i, o := range e.Obstacles {
		if i == mostObstacles {
			fmt.Fprintf(&text, "\n  … and %d more", len(e.Obstacles)-i)
			break
		}
		fmt.Fprintf(&text, "\n  %s %s (owner %s): %s", o.Kind, o.Name, o.Owner, o.Way)
	}
	return text.String()
}

// checkPending says what is in the way of migrations, before the first change: [ErrNotOwner], a
// [*RightsError] or an [*ObstacleError]. What was applied and what is there are read from one snapshot, because others may
// migrate meanwhile. Owners are checked first: reading a table of others can run their code.
func checkPending(ctx context.Context, db *sql.DB) error {
	if err := checkRole(ctx, db); err != nil {
		return err
	}
	return readPlainly(ctx, db, func(tx reader) error {
		if err := checkMayCreate(ctx, tx); err != nil {
			return err
		}
		if err := refuse(checkOwners(ctx, tx, slices.Concat(writtenTables, takenOverTables))); err != nil {
			return err
		}
		list, err := schema.Status(appliedMigrations(ctx, tx))
		if err != nil {
			return err
		}
		if err := refuse(checkPlain(ctx, tx, writtenTables)); err != nil {
			return err
		}
		if err := refuse(checkNames(ctx, tx, list)); err != nil {
			return err
		}
		return refuse(checkDefaultGrants(ctx, tx))
	})
}

// refuse returns obstacles as an error.
func refuse(found []Obstacle, err error) error {
	if err == nil && len(found) > 0 {
		return &ObstacleError{found}
	}
	return err
}

// checkNames lists what has the names of pending migrations, and which tables that can be
// taken over are not fit for that.
func checkNames(ctx context.Context, db reader, list store.Migrations) ([]Obstacle, error) {
	names, ours, err := pendingNames(list)
	if err != nil || len(names) == 0 {
		return nil, err
	}
	first := !slices.ContainsFunc(list, func(m store.Migration) bool { return !m.AppliedAt.IsZero() })
	found, err := readList(ctx, db, selectTaken, obstacle, names, ours, first)
	if err != nil || !slices.ContainsFunc(names, func(name string) bool { return slices.Contains(takenOverTables, name) }) {
		return found, err
	}
	odd, err := readList(ctx, db, selectTakeOver, obstacle)
	if err != nil {
		return nil, err
	}
	unplain, err := checkPlain(ctx, db, takenOverTables)
	return slices.Concat(found, odd, unplain), err
}

func obstacle(o *Obstacle) []any { return []any{&o.Name, &o.Kind, &o.Owner, &o.Way} }

// made finds what a migration makes: its kind, its name, and of an index the schema.
var made = regexp.MustCompile(`(?im)^\s*create (?:or replace )?(?:unlogged )?(?:unique )?(?:(?:table|view|materialized view|sequence|type|domain|function|procedure) (?:if not exists )?((?:recoup|cl)\.\w+)|index (\w+)\s+on (?:only )?(recoup|cl)\.)`)

// pendingNames lists what pending migrations make, and what those that were applied have
// made: that is ours, and may be made anew.
func pendingNames(list store.Migrations) (pending, ours []string, err error) {
	ours = []string{} // for a query, to which nil would be null
	for _, m := range list {
		text, err := fs.ReadFile(schema.Folder, fmt.Sprintf("migrations/%03d_%s.sql", m.Version, m.Name))
		if err != nil {
			return nil, nil, err
		}
		for _, match := range made.FindAllSubmatch(text, -1) {
			name := cmp.Or(string(match[1]), string(match[3])+"."+string(match[2]))
			if m.AppliedAt.IsZero() {
				pending = append(pending, name)
			} else {
				ours = append(ours, name)
			}
		}
	}
	return pending, ours, nil
}

// selectTaken finds what has a name of $1 and is not among $2; where nothing of ours is
// yet ($3), also whatever else is in the schema recoup, which nodes may read as a whole.
// The tables that can be taken over are another question, with their
// indexes. What an earlier attempt has left of the tables of versions and locks is ours.
const selectTaken = `
	with present as (
	  select n.nspname || '.' || c.relname as name, c.relowner as owner, case c.relkind when 'r' then 'table' when 'p' then 'partitioned table'
	      when 'f' then 'foreign table' when 'v' then 'view' when 'm' then 'materialized view' when 'S' then 'sequence' when 'c' then 'type' else 'index' end as kind
	    from pg_class c join pg_namespace n on n.oid = c.relnamespace left join pg_index i on i.indexrelid = c.oid
	    join pg_class o on o.oid = coalesce(i.indrelid, c.oid)
	   where n.nspname in ('recoup', 'cl')
	     and n.nspname || '.' || o.relname not in (` + takenOverNames + `)
	     and not (n.nspname || '.' || o.relname = 'recoup.schema_version' and exists (select from pg_attribute a where a.attrelid = o.oid and a.attname = 'version_id'))
	     and not (n.nspname || '.' || o.relname = 'recoup.schema_lock' and not exists (select from pg_attribute a where a.attrelid = o.oid and a.attnum > 0))
	     and not exists (select from pg_depend d where d.objid = c.oid and d.deptype in ('a', 'i') and d.refobjsubid > 0 and c.relkind = 'S')
	  union all
	  select n.nspname || '.' || p.proname, p.proowner, 'function' from pg_proc p join pg_namespace n on n.oid = p.pronamespace where n.nspname in ('recoup', 'cl')
	  union all
	  select n.nspname || '.' || t.typname, t.typowner, 'type' from pg_type t join pg_namespace n on n.oid = t.typnamespace
	   where n.nspname in ('recoup', 'cl') and t.typrelid = 0 and not exists (select from pg_type e where e.typarray = t.oid))
	select distinct name, kind, pg_get_userbyid(owner), case when name like 'recoup.%'
	    then 'give Recoup a database of its own, or rename that schema: alter schema recoup rename to …'
	    else format('rename it: alter %s %s rename to …', kind, name) end
	  from present
	 where name = any ($1) and name <> all ($2) or $3 and name like 'recoup.%' and kind <> 'index'
	 order by 1, 2`
