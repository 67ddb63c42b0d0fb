package postgres_test

import (
	"testing"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/store/storetest"
)

func BenchmarkGate(b *testing.B) {
	storetest.BenchGate(b, func(b *testing.B) storetest.Gate {
		_, app := pgtest.Migrated(b)
		return open(b, app)
	}, map[string]func(*testing.B) func([]store.Intake){"bare_copy": bareCopy, "bare_insert": bareInsert})
}

// bareTable is a table with one index, no guards and no counts.
func bareTable(b *testing.B) *pgx.Conn {
	owner, _ := pgtest.Migrated(b)
	p := connect(b, owner)
	p.Do(`create table bare (intake_id uuid primary key, batch_id text, import_key text, company_name text,
		domain text, linkedin_url text, state text, status text, created_at timestamptz, updated_at timestamptz)`)
	return p.conn
}

func bareCopy(b *testing.B) func([]store.Intake) {
	conn := bareTable(b)
	columns := []string{"intake_id", "batch_id", "import_key", "company_name", "domain", "linkedin_url", "state", "status", "created_at", "updated_at"}
	return func(list []store.Intake) {
		rows := pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
			c := &list[i]
			return []any{[16]byte(c.ID), c.BatchID, c.ImportKey, c.CompanyName, c.Domain, c.LinkedInURL, c.State, c.Status, c.CreatedAt, c.UpdatedAt}, nil
		})
		if _, err := conn.CopyFrom(b.Context(), pgx.Identifier{"bare"}, columns, rows); err != nil {
			b.Fatal(err)
		}
	}
}

// bareInsert sends one array per column that differs.
func bareInsert(b *testing.B) func([]store.Intake) {
	conn := bareTable(b)
	return func(list []store.Intake) {
		ids, texts := make([][16]byte, len(list)), make([][]string, 4)
		for i := range list {
			c := &list[i]
			ids[i] = c.ID
			for j, v := range []string{c.ImportKey, c.CompanyName, c.Domain, c.LinkedInURL} {
				texts[j] = append(texts[j], v)
			}
		}
		_, err := conn.Exec(b.Context(), `insert into bare select id, 'b1', k, n, d, l, 'OH', 'PENDING', $6, $6
			from unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[]) as u (id, k, n, d, l)`,
			ids, texts[0], texts[1], texts[2], texts[3], list[0].CreatedAt)
		if err != nil {
			b.Fatal(err)
		}
	}
}
