package define

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Record is a row of recoup.adoption.
type Record struct {
	wire.Adoption

	OID   uint32 // of the source as it is now; zero: it is gone
	Sure  bool   // the source is the table that was adopted, and not only one of its name
	Owner string
	Steps []string
}

const selectRecord = `select adoption_id, table_name, source, key_columns, mapping, coalesce(preset, ''), state, scanned, rows, begun_at,
  coalesce(governed_at, '0001-01-01'), begun_by, agreed, coalesce(recoup.adopted_source(adoption_id), 0),
  recoup.bound_source(adoption_id) is not null or source_oid is not distinct from recoup.adopted_source(adoption_id),
  owner, steps from recoup.adoption where `

// errSeveral is wrapped by what names the adoptions of a table that has more than one.
var errSeveral = errors.New("release each by the name under which it was adopted")

// ReadRecord returns the adoption of a table, or nil. Several are an error.
func ReadRecord(ctx context.Context, q querier, oid uint32) (*Record, error) {
	return readRecord(ctx, q, "recoup.adopted_source(adoption_id) = $1 order by adoption_id", oid)
}

type querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

func readRecord(ctx context.Context, q querier, where string, arg any) (*Record, error) {
	rows, err := q.Query(ctx, selectRecord+where, arg)
	if err != nil {
		return nil, fmt.Errorf("read the adoption: %w", err)
	}
	list, err := pgx.CollectRows(rows, func(row pgx.CollectableRow) (*Record, error) {
		r := new(Record)
		return r, row.Scan(&r.ID, &r.Table, &r.Source, &r.Key, &r.Mapping, &r.Preset, &r.State, &r.Scanned, &r.Rows,
			&r.BegunAt, &r.GovernedAt, &r.BegunBy, &r.Agreed, &r.OID, &r.Sure, &r.Owner, &r.Steps)
	})
	switch {
	case err != nil:
		return nil, fmt.Errorf("read the adoption: %w", err)
	case len(list) == 0:
		return nil, nil
	case len(list) == 1:
		return list[0], nil
	}
	names := make([]string, len(list))
	for i, r := range list {
		names[i] = fmt.Sprintf("%d (%s)", r.ID, r.Source)
	}
	return nil, fmt.Errorf("adoptions %s have the same table: %w", strings.Join(names, " and "), errSeveral)
}

// findAgain gives rows of a table ($2) that was adopted before the errors that they have still, because
// the policy keeps errors of its table ($3) for ever.
const findAgain = `with known as (delete from recoup.adopted_kept k using recoup.error e
    where k.source = $2 and e.error_id = k.error_id and e.table_name = $3 returning k.key, k.error_id, k.digest)
  insert into recoup.adopted_row (adoption_id, key, error_id, digest) select $1, key, error_id, digest from known`

// begin notes that an adoption begins, and gives it its number.
func (p *Plan) begin(ctx context.Context, tx pgx.Tx, actor string) error {
	a, s := p.adoption, p.Facts
	names := make([]string, len(a.key()))
	for i, c := range a.key() {
		names[i] = c.Name
	}
	err := tx.QueryRow(ctx, `insert into recoup.adoption (table_name, source, source_oid, owner, key_columns, mapping, preset, rows, begun_by, partitions)
		values ($1, $2, $3, $4, $5, $6, nullif($7, ''), $8, $9, $10) returning adoption_id`,
		p.Table.Name, s.Quoted(), s.OID, s.Owner, names, a.Mapping, p.Preset, max(p.Rows.Rows, 0), actor, s.partitions()).Scan(&a.ID)
	if err == nil {
		_, err = tx.Exec(ctx, "select recoup.bind_adoption($1)", a.ID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, findAgain, a.ID, s.Quoted(), p.Table.Name)
	}
	if err == nil && a.Role != "" {
		a.Role, err = nameRole(ctx, tx, a.ID)
	}
	if err == nil {
		_, err = tx.Exec(ctx, "insert into recoup.adoption_login (adoption_id, role) values ($1, nullif($2, '')::name)", a.ID, a.Role)
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

// NodeAlive reports whether a node runs on this database and is awake: one of them leads.
func NodeAlive(ctx context.Context, conn *pgx.Conn) (alive bool, err error) {
	err = conn.QueryRow(ctx, "select exists (select from recoup.leader where ends_at > now())").Scan(&alive)
	return alive, err
}

// WakeNodes wakes idle nodes. One of them leads within moments.
func WakeNodes(ctx context.Context, conn *pgx.Conn) error {
	_, err := conn.Exec(ctx, "select pg_notify('recoup', 'active') where pg_notification_queue_usage() < 0.5")
	return err
}
