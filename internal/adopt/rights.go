package adopt

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// changeColumns are those of recoup.adopted_change that triggers write.
const changeColumns = "adoption_id, keys, numbers, uuids, entities"

// A role that may only inherit, or only administer, cannot be acted as: PostgreSQL 16
// knows the difference.
const findRights = `
select session_user::text, o.rolname,
  pg_has_role(session_user, o.oid, m.kind), pg_has_role(session_user, s.oid, m.kind),
  has_schema_privilege(s.oid, n.oid, 'usage')
    and (select bool_and(has_column_privilege(s.oid, 'recoup.adopted_change'::regclass, c, 'insert')) from unnest(string_to_array($2, ', ')) c),
  has_schema_privilege(s.oid, n.oid, 'create')
from pg_namespace n join pg_roles o on o.oid = n.nspowner join pg_roles s on s.rolname = $1,
  (select case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end as kind) m
where n.nspname = 'recoup'`

// ReadRights reads who owns what, and whether this user can act as both.
func ReadRights(ctx context.Context, tx pgx.Tx, sourceOwner string) (Rights, error) {
	var r Rights
	var schema, source bool
	err := tx.QueryRow(ctx, findRights, sourceOwner, changeColumns).Scan(&r.User, &r.SchemaOwner, &schema, &source, &r.HasUsage, &r.HasCreate)
	if err != nil {
		return r, fmt.Errorf("read the rights of %s: %w", sourceOwner, err)
	}
	switch r.MayActAs = schema && source; {
	case !schema:
		r.MissingRole = r.SchemaOwner
	case !source:
		r.MissingRole = sourceOwner
	}
	return r, nil
}
