package define

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5"
)

// replaceRole notes a new login for the adoption, and takes the rights in this database from the
// role that belongs to another one. That role itself stays: the other database needs it.
func (p *Plan) replaceRole(ctx context.Context, tx pgx.Tx) error {
	if err := actAs(ctx, tx, p.rights.SchemaOwner); err != nil {
		return err
	}
	var exists bool
	err := tx.QueryRow(ctx, `with noted as (update recoup.adoption_login set role = $2, password = default where adoption_id = $1)
		select to_regrole(quote_ident(nullif($3, ''))) is not null`, p.adoption.ID, p.adoption.Role, p.adoption.former).Scan(&exists)
	if err != nil {
		return err
	}
	statements := []string{leaveRole}
	if exists && strings.HasPrefix(p.adoption.former, rolePrefix) {
		former := " from " + quote(p.adoption.former)
		statements = append(statements, as(p.rights.SchemaOwner, p.rights, "revoke usage on schema recoup"+former)...)
		if slices.Contains(p.adoption.done, stepFunctions) {
			for _, f := range p.adoption.made() {
				statements = append(statements, as(p.Facts.Owner, p.rights, fmt.Sprintf("revoke execute on function %s(%s)%s", f.Name, f.Arguments, former))...)
			}
		}
	}
	return run(ctx, tx, statements)
}

// RepairRole gives an adoption a login role that works: it creates one that is missing, replaces one
// that belongs to another database, and grants what the role needs.
func (r *Runner) RepairRole(ctx context.Context, source string) error {
	p, err := r.adopted(ctx, source)
	if err != nil {
		return err
	}
	if p.adoption.Role == "" && p.logins.noted != "" {
		return r.do(ctx, p, p.adoption.stepOwnLogin(p.rights))
	}
	if !p.rights.CreatesRole && !p.logins.prepared {
		return p.refuseRole().err()
	}
	return r.do(ctx, p, p.adoption.stepRole(p.rights))
}

// adopted is the plan of a table that is adopted, with the rules that were agreed on.
func (r *Runner) adopted(ctx context.Context, source string) (*Plan, error) {
	p, err := MakePlan(ctx, r.Conn, Request{Source: source, Path: r.Path, SchemaOwner: r.SchemaOwner})
	switch {
	case err != nil:
		return nil, err
	case p.rights.err() != nil:
		return nil, p.rights.err()
	case p.Adopted == nil:
		return nil, fmt.Errorf("%s: %w", source, ErrNotAdopted)
	case len(p.Refusals) > 0:
		return nil, p.Refusals[0].err()
	}
	p.adoption.Rules = p.adoption.agreed
	return p, nil
}

// Remake makes the view, the functions and the triggers of an adoption anew, and has nodes look at
// all of its rows again. Its columns, its errors and its login stay.
func (r *Runner) Remake(ctx context.Context, source string) error {
	p, err := r.adopted(ctx, source)
	if err != nil {
		return err
	}
	out := &release{Runner: r}
	if err := r.ask(ctx, func(tx pgx.Tx) error { return out.find(ctx, tx, source) }); err != nil {
		return err
	}
	if err := out.dropTriggers(ctx); err != nil {
		return err
	}
	err = out.part(ctx, stepFunctions, func(ctx context.Context, tx pgx.Tx) error {
		if err := out.dropFunctions(ctx, tx); err != nil {
			return err
		}
		if err := out.dropView(ctx, tx); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `with forgotten as (update recoup.adoption set source_oid = $4,
				steps = array(select s from unnest(steps) with ordinality as w (s, place) where s <> $2 and not starts_with(s, $3) order by w.place) where adoption_id = $1)
			insert into recoup.adopted_change (adoption_id) values ($1)`, p.adoption.ID, stepFunctions, stepTriggers+" ", p.Facts.OID)
		if err == nil {
			_, err = tx.Exec(ctx, "select recoup.bind_adoption($1)", p.adoption.ID)
		}
		return err
	})
	if err != nil {
		return err
	}
	for i := range p.Facts.Partitions {
		p.Facts.Partitions[i].Triggers = nil
	}
	p.adoption.done = slices.DeleteFunc(p.adoption.done, func(s string) bool { return s == stepFunctions || strings.HasPrefix(s, stepTriggers+" ") })
	for _, s := range p.adoption.Steps(p.rights) {
		if err := r.do(ctx, p, s); err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
	}
	return nil
}
