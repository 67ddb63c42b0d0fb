package adopt

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"

	"recoup"
)

// Record is a row of recoup.adoption.
type Record struct {
	recoup.Adoption

	OID   uint32
	Owner string
	Steps []string
}

const selectRecord = `select adoption_id, table_name, source, key_columns, mapping, coalesce(preset, ''), state, scanned, rows, begun_at,
  coalesce(governed_at, '0001-01-01'), begun_by, agreed, source_oid, owner, steps from recoup.adoption where `

// ReadRecord returns the adoption of a table, or nil.
func ReadRecord(ctx context.Context, q querier, oid uint32) (*Record, error) {
	return readRecord(ctx, q, "source_oid = $1", oid)
}

type querier interface {
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

func readRecord(ctx context.Context, q querier, where string, arg any) (*Record, error) {
	r := new(Record)
	err := q.QueryRow(ctx, selectRecord+where, arg).Scan(&r.ID, &r.Table, &r.Source, &r.Key, &r.Mapping, &r.Preset, &r.State, &r.Scanned, &r.Rows,
		&r.BegunAt, &r.GovernedAt, &r.BegunBy, &r.Agreed, &r.OID, &r.Owner, &r.Steps)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read the adoption: %w", err)
	}
	return r, nil
}

// begin notes that an adoption begins, and gives it its number.
func (p *Plan) begin(ctx context.Context, tx pgx.Tx, actor string) error {
	a, s := p.adoption, p.Facts
	names := make([]string, len(a.key()))
	for i, c := range a.key() {
		names[i] = c.Name
	}
	err := tx.QueryRow(ctx, `insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, preset, rows, begun_by)
		values ($1, $2, $3, $4, $5, $6, nullif($7, ''), $8, $9) returning adoption_id`,
		p.Table.Name, s.Quoted(), s.OID, s.Owner, names, a.Mapping, p.Preset, max(p.Rows.Rows, 0), actor).Scan(&a.ID)
	if err == nil {
		a.Role, err = nameRole(ctx, tx, a.ID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "insert into recoup.adoption_login (adoption_id, role) values ($1, $2)", a.ID, a.Role)
	}
	if err == nil {
		_, err = tx.Exec(ctx, `insert into recoup.audit (at, actor, act, target, details)
			values (recoup.clock(), $1, 'table.adopt', $2, json_build_object('table', $3::text))`, actor, s.Quoted(), p.Table.Name)
	}
	if err != nil {
		return fmt.Errorf("note the adoption: %w", err)
	}
	return nil
}

// NodeAlive reports whether a node runs on this database: one of them leads.
func NodeAlive(ctx context.Context, conn *pgx.Conn) (alive bool, err error) {
	err = conn.QueryRow(ctx, "select exists (select from recoup.leader where ends_at > now())").Scan(&alive)
	return alive, err
}
