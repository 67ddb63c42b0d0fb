package define

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// changeColumns are those of recoup.adopted_change that triggers write.
const changeColumns = "adoption_id, keys, numbers, uuids, entities"

// A role that may only inherit, or only administer, cannot be acted as: PostgreSQL 16
// knows the difference.
const findRights = `
select session_user::text, o.rolname,
  pg_catalog.pg_has_role(session_user, o.oid, m.kind), pg_catalog.pg_has_role(session_user, s.oid, m.kind),
  pg_catalog.has_schema_privilege(s.oid, n.oid, 'usage')
    and (select pg_catalog.bool_and(pg_catalog.has_column_privilege(s.oid, t.oid, c, 'insert')) from pg_catalog.unnest($2::text[]) c),
  pg_catalog.has_schema_privilege(s.oid, n.oid, 'create'), (select u.rolsuper or u.rolcreaterole from pg_catalog.pg_roles u where u.rolname = session_user),
  pg_catalog.to_regrole('recoup_app') is null
from pg_catalog.pg_namespace n join pg_catalog.pg_class t on t.relnamespace = n.oid and t.relname = 'adopted_change'
join pg_catalog.pg_roles o on o.oid = n.nspowner join pg_catalog.pg_roles s on s.rolname = $1,
  (select case when pg_catalog.current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end as kind) m
where n.nspname = 'recoup'`

// errNotMigrated is for a database that nobody has prepared.
var errNotMigrated = fmt.Errorf("this database has no schema recoup, or an old one: run recoup migrate up with the same --database first: %w", ErrRefused)

// ReadRights reads who owns what, whether this user can act as both, and whether the user trusts the
// owner of the schema recoup: see [pgsession.Owner.CheckAdministrator]. It reads the catalog only.
// Objects of other roles in the schema are an error.
func ReadRights(ctx context.Context, tx pgx.Tx, sourceOwner, stated string) (Rights, error) {
	var r Rights
	var schema, source bool
	err := tx.QueryRow(ctx, findRights, sourceOwner, strings.Split(changeColumns, ", ")).Scan(&r.User, &r.SchemaOwner, &schema, &source, &r.HasUsage, &r.HasCreate, &r.CreatesRole, &r.OneRole)
	if errors.Is(err, pgx.ErrNoRows) {
		return r, errNotMigrated
	}
	if err != nil {
		return r, fmt.Errorf("read the rights of %s: %w", sourceOwner, err)
	}
	switch r.MayActAs = schema && source; {
	case !schema:
		r.MissingRole = r.SchemaOwner
		return r, nil // nothing in the schema can be run as its owner
	case !source:
		r.MissingRole = sourceOwner
	}
	return r, r.checkTrust(ctx, tx, stated)
}

// checkTrust notes that the user does not trust the owner of the schema recoup. Then the user may
// not act as any role.
func (r *Rights) checkTrust(ctx context.Context, tx pgx.Tx, stated string) error {
	owner, err := pgsession.ReadOwner(ctx, tx)
	if err != nil {
		return err
	}
	if err := owner.CheckAdministrator(stated); errors.As(err, &r.Untrusted) {
		r.MayActAs = false
		return nil
	} else if err != nil {
		return err
	}
	if err := pgsession.CheckObjects(ctx, tx, owner, nil); err != nil {
		return fmt.Errorf("%w: %w", err, ErrRefused)
	}
	return nil
}

// refuse says which owner the user cannot act as, or does not trust.
func (r Rights) refuse() Refusal {
	if r.Untrusted != nil {
		return Refusal{Why: r.Untrusted.Why(), Way: r.Untrusted.Way()}
	}
	return Refusal{
		Why: fmt.Sprintf("%s may not act as %s: this needs the rights of both owners, of the table and of the schema recoup (%s)", r.User, r.MissingRole, r.SchemaOwner),
		Way: fmt.Sprintf("run GRANT %s TO %s as an administrator, and take it back afterwards", quote(r.MissingRole), quote(r.User)),
	}
}

// err is the refusal as an error; nil: the user can act as both.
func (r Rights) err() error {
	if r.MayActAs {
		return nil
	}
	return r.refuse().err()
}
