package adopt

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
)

// Request is what a person asks for.
type Request struct {
	Source   string         // as written
	As       string         // the policy's table; empty: that of the same name
	Mapping  recoup.Mapping // what is said of it; the rest is guessed
	NoMirror bool           // the source gets no columns
	Preset   string
}

// Plan is all that adopting a table would do.
type Plan struct {
	Source  string         `json:"source"`
	Table   Table          `json:"table"`
	Preset  string         `json:"preset,omitempty"`
	Key     []string       `json:"key"`
	Mapping recoup.Mapping `json:"mapping"`
	Steps   []Step         `json:"steps"`
	Adopted *Record        `json:"adopted,omitempty"`

	Facts    *Source `json:"-"`
	adoption *Adoption
	rights   Rights
}

// Table is the policy's table, as the nodes have noted it.
type Table struct {
	Name           string             `json:"name"`
	Hub            string             `json:"hub"`
	Default        recoup.Disposition `json:"default"`
	TTL            time.Duration      `json:"ttl"`
	Blocks         bool               `json:"blocks"`
	EntityRequired bool               `json:"entity_required"`
	Policy         string             `json:"policy"` // its version
}

// MakePlan reads a table and says what adopting it would do. It changes nothing.
func MakePlan(ctx context.Context, conn *pgx.Conn, request Request) (*Plan, error) {
	p := &Plan{Preset: request.Preset}
	err := readOnly(ctx, conn, func(tx pgx.Tx) (err error) {
		if p.Facts, err = ReadSource(ctx, tx, request.Source); err != nil {
			return err
		}
		if p.rights, err = ReadRights(ctx, tx, p.Facts.Owner); err != nil {
			return err
		}
		if p.Adopted, err = ReadRecord(ctx, tx, p.Facts.OID); err != nil {
			return err
		}
		return p.make(ctx, tx, request)
	})
	return p, err
}

func (p *Plan) make(ctx context.Context, tx pgx.Tx, request Request) error {
	name := request.As
	if name == "" {
		name = p.Facts.String()
	}
	if err := p.readTable(ctx, tx, name); err != nil {
		return err
	}
	p.adoption = &Adoption{Source: p.Facts, Mapping: request.Mapping, Default: p.Table.Default}
	if err := tx.QueryRow(ctx, "select 1 + coalesce(pg_sequence_last_value(pg_get_serial_sequence('recoup.adoption', 'adoption_id')), 0)").Scan(&p.adoption.ID); err != nil {
		return err
	}
	if p.Adopted != nil {
		p.adoption.ID, p.adoption.Mapping = p.Adopted.ID, p.Adopted.Mapping
	}
	p.Source, p.Mapping, p.Steps = p.Facts.String(), p.adoption.Mapping, p.adoption.Steps(p.rights)
	for _, c := range p.adoption.key() {
		p.Key = append(p.Key, c.Name)
	}
	return nil
}

func (p *Plan) readTable(ctx context.Context, tx pgx.Tx, name string) error {
	t := &p.Table
	var seconds float64
	err := tx.QueryRow(ctx, `select table_name, hub, default_disposition, coalesce(extract(epoch from ttl), 0)::float8, blocks, entity_required, policy_version
		from recoup.error_table where table_name = $1 and not retired`, name).Scan(&t.Name, &t.Hub, &t.Default, &seconds, &t.Blocks, &t.EntityRequired, &t.Policy)
	t.TTL = time.Duration(seconds * float64(time.Second))
	if errors.Is(err, pgx.ErrNoRows) {
		return fmt.Errorf("the policy in force has no table %s: %w", name, ErrRefused)
	}
	return err
}

// readOnly gives do a transaction that is rolled back.
func readOnly(ctx context.Context, conn *pgx.Conn, do func(pgx.Tx) error) error {
	tx, err := conn.BeginTx(ctx, pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
	if err != nil {
		return fmt.Errorf("begin: %w", err)
	}
	return errors.Join(do(tx), tx.Rollback(context.WithoutCancel(ctx)))
}
