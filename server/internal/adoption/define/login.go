package define

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// logins describe as which role nodes can reach the table of an adoption.
type logins struct {
	number   int    // of the adoption, or of the next
	role     string // login role of the adoption, which perhaps does not exist
	exists   bool
	prepared bool   // the user may not create roles, and an administrator has created this one for the user
	noted    string // role of an adoption that was begun before; empty: nodes use the login of the schema's owner
}

// readLogins reads them as the owner of the schema recoup.
func (p *Plan) readLogins(ctx context.Context, tx pgx.Tx) error {
	if p.rights.Untrusted != nil || !p.rights.MayActAs && p.rights.MissingRole == p.rights.SchemaOwner {
		return nil //nolint:nilerr // the plan refuses it
	}
	err := actAs(ctx, tx, p.rights.SchemaOwner)
	if err != nil {
		return err
	}
	l := &p.logins
	if p.Adopted != nil {
		l.number = p.Adopted.ID
		err = tx.QueryRow(ctx, "select coalesce(role, '') from recoup.adoption_login where adoption_id = $1", l.number).Scan(&l.noted)
	} else {
		const next = "select 1 + coalesce(pg_sequence_last_value(pg_get_serial_sequence('recoup.adoption', 'adoption_id')), 0)"
		err = tx.QueryRow(ctx, next).Scan(&l.number)
	}
	if err == nil {
		l.role, err = nameRole(ctx, tx, l.number)
	}
	if err == nil {
		err = tx.QueryRow(ctx, selectPrepared, l.role, pgsession.AdopterConnections).Scan(&l.exists, &l.prepared)
	}
	if l.prepared = l.prepared && !p.rights.CreatesRole; err != nil {
		return fmt.Errorf("read the login of the adoption: %w", err)
	}
	_, err = tx.Exec(ctx, leaveRole)
	return err
}

// selectPrepared reads whether a role exists, and whether the user can act as it and set its password,
// and it can do nothing else. The owner of the table can run code as this role.
const selectPrepared = `
	select count(*) > 0, coalesce(bool_or(r.rolcanlogin and not (r.rolsuper or r.rolcreaterole or r.rolcreatedb or r.rolreplication or r.rolbypassrls)
	    and r.rolconnlimit between 0 and $2 and not exists (select from pg_auth_members m where m.member = r.oid)
	    and pg_has_role(session_user, r.oid, case when current_setting('server_version_num')::int >= 160000 then 'SET' else 'MEMBER' end)), false)
	  from pg_roles r where r.rolname = $1`

// chooseLogin returns the login role of the adoption; empty: nodes use the login of the schema's owner.
// They do so only where no role can be created and the table belongs to the owner too: its code then
// gains nothing in a session of the owner, who is the owner of that code.
func (p *Plan) chooseLogin() string {
	r, l := p.rights, p.logins
	own := r.SchemaOwner == r.User && p.Facts.Owner == r.User
	switch before := p.Adopted != nil; {
	case r.CreatesRole, l.prepared, before && l.noted == l.role && l.exists:
		return l.role
	case own && (r.OneRole || before && l.noted == ""):
		return ""
	}
	return l.role
}

// lacksRole reports whether an administrator has to create the login role first.
func (p *Plan) lacksRole() bool {
	return !p.rights.CreatesRole && !p.logins.prepared && p.chooseLogin() != ""
}

// refuseRole says what an administrator has to run before nodes can reach the table.
func (p *Plan) refuseRole() Refusal {
	role, user := quote(p.logins.role), quote(p.rights.User)
	statements := []string{fmt.Sprintf("CREATE ROLE %s LOGIN NOINHERIT CONNECTION LIMIT %d", role, pgsession.AdopterConnections), fmt.Sprintf("GRANT %s TO %s", role, user)}
	return Refusal{
		Why: p.rights.User + " cannot create roles: each adoption needs a login role of its own, as which nodes reach the table",
		Way: fmt.Sprintf("an administrator runs the statements below, then repeat the command. It sets a password for the role. Or run ALTER ROLE %s CREATEROLE as an administrator, and revoke it afterwards with NOCREATEROLE\n%s;", user, strings.Join(statements, ";\n")),
	}
}

// stepOwnLogin has nodes use the login of the schema's owner.
func (a *Adoption) stepOwnLogin(r Rights) Step {
	return Step{
		Name: stepRole, Again: true,
		Does: fmt.Sprintf("lets nodes reach the table with the login of %s, who owns it and the schema recoup and may not create roles", r.SchemaOwner),
		SQL:  as(r.SchemaOwner, r, fmt.Sprintf("update recoup.adoption_login set role = null where adoption_id = %d", a.ID)),
	}
}

// noteLogin says what follows from the login of the schema's owner.
func (p *Plan) noteLogin() {
	if p.adoption.Role == "" {
		p.Notes = append(p.Notes, fmt.Sprintf("%[1]s may not create roles, so nodes reach it with the login of %[1]s and not with a role that can do nothing else. Its triggers, casts and policies run with the rights of %[1]s, who owns the table and Recoup anyway.", p.rights.User))
	}
}

// setPassword are the statements that give a prepared role its password. The user may not alter the
// role, but can become it, and each role may set its own password.
func setPassword(role, secret, database string) []string {
	return []string{
		"set local role " + role, "alter role " + role + " password " + literal(secret),
		"alter role " + role + " reset all", "alter role " + role + " in database " + quote(database) + " reset all", leaveRole,
	}
}
