package define

import (
	"context"
	"crypto/hmac"
	"crypto/pbkdf2"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
)

// rolePrefix begins the names of login roles of adoptions.
const rolePrefix = "recoup_adopter_"

// nameRole returns the name of the login role of an adoption. Roles are shared by all
// databases of a server, so the name has the number of the database too.
func nameRole(ctx context.Context, tx pgx.Tx, adoption int) (name string, err error) {
	err = tx.QueryRow(ctx, "select concat($2::text, oid, '_', $1::int) from pg_database where datname = current_database()", adoption, rolePrefix).Scan(&name)
	return name, err
}

// roleOptions are the options of the role of an adoption.
var roleOptions = fmt.Sprintf(" login noinherit connection limit %d", pgsession.AdopterConnections)

// stepRole creates the login role as which nodes reach the source. Code of the source's owner
// can run in its sessions, at the commit, and can change the role itself: its password, its
// settings, its privileges. So each adoption has a role of its own (decision 0105).
func (a *Adoption) stepRole(r Rights) Step {
	role := quote(a.Role)
	return Step{
		Name: stepRole, Does: "creates the login role as which nodes reach the table, with a random password; it can call the functions of this adoption and nothing else", Alone: aloneRole,
		SQL: append([]string{"create role " + role + roleOptions + " password '********'"}, as(r.SchemaOwner, r, "grant usage on schema recoup to "+role)...),
	}
}

// grant lets the role of the adoption call a function.
func (a *Adoption) grant(f Function) string {
	return fmt.Sprintf("grant execute on function %s(%s) to %s", f.Name, f.Arguments, quote(a.Role))
}

// makeRole creates the role of an adoption. If the step was done before, it creates a role
// that is missing, gives one that cannot log in its password and settings again, and grants
// again what the role needs.
func (r *Runner) makeRole(ctx context.Context, p *Plan, s Step) error {
	reached := false
	if slices.Contains(p.adoption.done, s.Name) && p.logins.noted == p.adoption.Role {
		if conn, err := r.connectSource(ctx, p); err == nil {
			reached = conn.Close(ctx) == nil
		}
	}
	return r.patiently(ctx, p.Facts.OID, s.Name, func(timeout time.Duration) error {
		return r.transact(ctx, func(tx pgx.Tx) error {
			done, err := r.enter(ctx, tx, p, s.Name)
			if err == nil {
				err = limit(ctx, tx, timeout)
			}
			if err == nil {
				err = p.setRole(ctx, tx, reached, done)
			}
			if err == nil {
				err = p.grantRole(ctx, tx, s)
			}
			if done || err != nil {
				return err
			}
			return r.note(ctx, tx, p, s.Name)
		})
	})
}

// setRole replaces the role of another database or the login of the schema's owner, limits a role that can log in, and creates
// or alters any other one.
func (p *Plan) setRole(ctx context.Context, tx pgx.Tx, reached, done bool) error {
	if p.Adopted != nil && p.logins.noted != p.adoption.Role {
		done = false
		if err := p.replaceRole(ctx, tx); err != nil {
			return err
		}
	}
	if reached {
		return p.limitRole(ctx, tx)
	}
	return p.alterRole(ctx, tx, done)
}

// run runs statements one after the other.
func run(ctx context.Context, tx pgx.Tx, statements []string) error {
	for _, sql := range statements {
		if _, err := tx.Exec(ctx, sql); err != nil {
			return err
		}
	}
	return nil
}

// grantRole grants what the role of an adoption needs: the schema, and the functions if they
// exist already. A restore without privileges lets everybody call them.
func (p *Plan) grantRole(ctx context.Context, tx pgx.Tx, s Step) error {
	statements := slices.Clone(s.SQL[1:])
	if slices.Contains(p.adoption.done, stepFunctions) {
		statements = append(statements, as(p.Facts.Owner, p.rights, p.adoption.grants()...)...)
	}
	return run(ctx, tx, statements)
}

// grants are the statements that let the role of the adoption call its functions, and nobody else.
func (a *Adoption) grants() (list []string) {
	for _, f := range a.made() {
		list = append(list, a.define(f)[1:]...)
	}
	return list
}

// made are the functions that exist: those of the rules that were agreed on.
func (a *Adoption) made() []Function {
	was := *a
	was.Rules = a.agreed
	return was.Functions()
}

// alterRole creates the role of an adoption, or sets its password and settings again. A role
// that exists before the adoption has created it belongs to another program.
func (p *Plan) alterRole(ctx context.Context, tx pgx.Tx, done bool) error {
	if p.lacksRole() {
		return p.refuseRole().err()
	}
	login, salt, err := p.login(ctx, tx)
	if err != nil {
		return err
	}
	var exists bool
	if err := tx.QueryRow(ctx, "select to_regrole(quote_ident($1)) is not null", login.role).Scan(&exists); err != nil {
		return err
	}
	if exists && !done && !p.logins.prepared {
		return fmt.Errorf("the role %[1]s exists already and does not belong to this adoption: run DROP ROLE %[1]s as an administrator, then repeat the command", login.role)
	}
	secret, err := verifier(login.password, salt)
	if err != nil {
		return err
	}
	role := quote(login.role)
	statements := []string{"create role " + role + roleOptions + " password " + literal(secret)}
	if p.logins.prepared {
		statements = setPassword(role, secret, tx.Conn().Config().Database)
	} else if exists {
		statements = []string{"alter role " + role + roleOptions + " password " + literal(secret) + " valid until 'infinity'", "alter role " + role + " reset all",
			"alter role " + role + " in database " + quote(tx.Conn().Config().Database) + " reset all"}
	}
	if err := run(ctx, tx, statements); err != nil {
		return fmt.Errorf("create the role %s: %w", login.role, err)
	}
	return nil
}

// limitRole limits the connections of a role that has another limit, or none.
func (p *Plan) limitRole(ctx context.Context, tx pgx.Tx) error {
	var limited bool
	role := p.adoption.Role
	err := tx.QueryRow(ctx, "select not exists (select from pg_roles r where r.rolname = $1 and r.rolconnlimit <> $2)", role, pgsession.AdopterConnections).Scan(&limited)
	if err == nil && !limited {
		_, err = tx.Exec(ctx, fmt.Sprintf("alter role %s connection limit %d", quote(role), pgsession.AdopterConnections))
	}
	return err
}

// login is the name and the password of the role of an adoption. Without a name it is the login of the
// schema's owner.
type login struct{ role, password string }

// login reads the login of the adoption, and makes a salt.
func (p *Plan) login(ctx context.Context, tx pgx.Tx) (l login, salt []byte, err error) {
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return l, nil, err
	}
	err = tx.QueryRow(ctx, "select coalesce(role, ''), password, uuid_send(gen_random_uuid()) from recoup.adoption_login where adoption_id = $1", p.adoption.ID).Scan(&l.role, &l.password, &salt)
	if err == nil {
		_, err = tx.Exec(ctx, leaveRole)
	}
	return l, salt, err
}

// verifier is a password as PostgreSQL stores it for SCRAM-SHA-256 (RFC 5803), so that the
// password itself is in no statement and no log.
func verifier(password string, salt []byte) (string, error) {
	const rounds = 4096
	salted, err := pbkdf2.Key(sha256.New, password, salt, rounds, sha256.Size)
	if err != nil {
		return "", err
	}
	sign := func(text string) []byte {
		mac := hmac.New(sha256.New, salted)
		mac.Write([]byte(text))
		return mac.Sum(nil)
	}
	stored := sha256.Sum256(sign("Client Key"))
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("SCRAM-SHA-256$%d:%s$%s:%s", rounds, encode(salt), encode(stored[:]), encode(sign("Server Key"))), nil
}

// connectSource connects as the role of an adoption. Statements that fire triggers of the
// source's owner run there and not with the rights of the administrator.
func (r *Runner) connectSource(ctx context.Context, p *Plan) (*pgx.Conn, error) {
	var as login
	err := r.transact(ctx, func(tx pgx.Tx) (err error) {
		as, _, err = p.login(ctx, tx)
		return err
	})
	if err != nil {
		return nil, err
	}
	config := r.Conn.Config()
	if as.role == "" {
		as = login{config.User, config.Password}
	}
	if r.Adoption != "" {
		if config, err = pgx.ParseConfig(r.Adoption); err != nil {
			return nil, err
		}
	}
	config.User, config.Password = as.role, as.password
	config.RuntimeParams = map[string]string{"application_name": "recoup adopt", "statement_timeout": "60000", "lock_timeout": fmt.Sprint(lockTimeout.Milliseconds())}
	pgsession.Start(config)
	config.DefaultQueryExecMode = pgx.QueryExecModeExec
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect as %s (the server must let this role log in; --adoption-database sets another address): %w", config.User, err)
	}
	return conn, nil
}

// fillPatience is how long filling keys in some pages may take: longer than statement_timeout.
const fillPatience = 90 * time.Second

// fillRows calls the function that gives rows without a key one, and returns how many it wrote.
// Without pages it returns whether rows are left.
func (r *Runner) fillRows(ctx context.Context, p *Plan, from, to *int64) (rows int64, err error) {
	conn, err := r.connectSource(ctx, p)
	if err != nil {
		return 0, err
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	ctx, cancel := context.WithTimeout(ctx, fillPatience) // code of the owner can lift the limit of the server
	defer cancel()
	defer pgsession.End(ctx, conn)
	err = conn.QueryRow(ctx, "select recoup."+p.adoption.name("fill")+"($1, $2)", from, to).Scan(&rows)
	return rows, pgsession.Brief(err)
}

// dropRole drops the role of the adoption. A role that the user may not drop, or that other
// objects depend on, stays without rights, login and password; its name is reported. A role that
// belongs to another database only loses its rights in this one.
func (o *release) dropRole(ctx context.Context, tx pgx.Tx) error {
	var role, own string
	err := tx.QueryRow(ctx, "select role from recoup.adoption_login where adoption_id = $1 and to_regrole(quote_ident(role)) is not null", o.record.ID).Scan(&role)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil
	}
	if err == nil {
		own, err = nameRole(ctx, tx, o.record.ID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "revoke usage on schema recoup from "+quote(role)+"; "+leaveRole, pgx.QueryExecModeSimpleProtocol)
	}
	if err != nil || role != own {
		return err
	}
	for _, sql := range []string{"alter role " + quote(role) + " nologin password null", "drop role " + quote(role)} {
		err = pgx.BeginFunc(ctx, tx, func(tx pgx.Tx) error {
			_, err := tx.Exec(ctx, sql)
			return err
		})
		if said, ok := errors.AsType[*pgconn.PgError](err); ok && slices.Contains([]string{"42501", "2BP01"}, said.Code) { // insufficient_privilege, dependent_objects_still_exist
			o.report(Progress{Step: stepRole, Note: staying(sql, role, said.Message)})
			return nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// staying describes the role that a statement could not be applied to.
func staying(sql, role, why string) string {
	if strings.HasPrefix(sql, "alter") {
		return fmt.Sprintf("The role %[1]s stays, without rights, and can still log in (%[2]s). Run DROP ROLE %[1]s as an administrator.", role, why)
	}
	return fmt.Sprintf("The role %[1]s stays, without rights and without login (%[2]s). Run DROP ROLE %[1]s as an administrator.", role, why)
}
