package postgres

import (
	"context"
	"fmt"
	"strings"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// RightsError is returned by [Migrate] to a user who may not create the schemas that are missing.
// Nothing was changed.
type RightsError struct {
	User     string   // quoted for SQL
	Database string   // quoted for SQL
	Missing  []string // schemas
}

func (e *RightsError) Error() string {
	var create []string
	for _, name := range e.Missing {
		create = append(create, fmt.Sprintf("CREATE SCHEMA %s AUTHORIZATION %s;", name, e.User))
	}
	return fmt.Sprintf("%[1]s may not create schemas in the database %[2]s, and Recoup needs %[3]s. Nothing was changed. An administrator runs\n"+
		"  %[4]s\nor\n  GRANT CREATE ON DATABASE %[2]s TO %[1]s;\nThen run recoup migrate up as %[1]s.",
		e.User, e.Database, strings.Join(e.Missing, " and "), strings.Join(create, " "))
}

// Unwrap makes it a case of [ErrNotOwner].
func (e *RightsError) Unwrap() error { return ErrNotOwner }

// checkMayCreate refuses a role that may not create what is missing. Nodes are told that the owner of
// the schema migrates: recoup_app must not get more rights.
func checkMayCreate(ctx context.Context, db reader) error {
	var inSchema, inDatabase, node bool
	var missing string
	e := new(RightsError)
	err := db.QueryRowContext(ctx, `select quote_ident(session_user), quote_ident(current_database()), session_user = $1, has_database_privilege(current_database(), 'create'),
		coalesce((select has_schema_privilege(n.oid, 'create') from pg_namespace n where n.nspname = 'recoup'), true),
		coalesce((select string_agg(w.name, ' ' order by w.place) from unnest('{recoup,cl}'::text[]) with ordinality as w (name, place) where to_regnamespace(w.name) is null), '')`,
		AppRole).Scan(&e.User, &e.Database, &node, &inDatabase, &inSchema, &missing)
	e.Missing = strings.Fields(missing)
	switch {
	case err != nil:
		return err
	case !inSchema || node && len(e.Missing) > 0 && !inDatabase:
		return ErrNotOwner
	case len(e.Missing) > 0 && !inDatabase:
		return e
	}
	return nil
}

// ReadSchemaOwner reads who owns the schema recoup, and which roles of Recoup exist.
func ReadSchemaOwner(ctx context.Context, url string) (o store.SchemaOwner, err error) {
	err = readAt(ctx, url, func(db reader) error { return scanSchemaOwner(db.QueryRowContext(ctx, selectSchemaOwner), &o) })
	return o, failure("read the owner of the schema", err)
}

const selectSchemaOwner = `
	select quote_ident(o.rolname), o.rolsuper or o.rolcreaterole,
	    coalesce((select string_agg(w.name, ' ' order by w.place) from unnest('{recoup_app,recoup_writer,recoup_reader}'::text[]) with ordinality as w (name, place) where to_regrole(w.name) is null), '')
	  from pg_namespace n join pg_roles o on o.oid = n.nspowner where n.nspname = 'recoup'`

func scanSchemaOwner(row interface{ Scan(into ...any) error }, o *store.SchemaOwner) error {
	var missing string
	err := row.Scan(&o.Name, &o.CreatesRoles, &missing)
	o.Missing = strings.Fields(missing)
	return err
}
