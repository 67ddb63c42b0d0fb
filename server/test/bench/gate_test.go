package bench

import (
	"path/filepath"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
)

// BenchmarkGateZero measures Gate Zero: imports in chunks of 5,000 rows, beside bare
// ones into a table with one index, no guards and no counts, and its other verbs.
func BenchmarkGateZero(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		open := func(b *testing.B) gatezerotest.Database { s, _ := openPostgres(b); return s }
		b.Run("import", func(b *testing.B) { importBeside(b, open(b), copyIntakes(b), "copy") })
		gatezerotest.Bench(b, open)
	})
	b.Run("sqlite", func(b *testing.B) {
		open := func(b *testing.B) gatezerotest.Database { s, _ := openSQLite(b); return s }
		b.Run("import", func(b *testing.B) { importBeside(b, open(b), insertIntakes(b), "insert") })
		gatezerotest.Bench(b, open)
	})
}

func importBeside(b *testing.B, s gatezerotest.Database, bare func([]recoup.Intake), rival string) {
	next, add := gatezerotest.Importing(b, s)
	c := contest{B: b}
	for b.Loop() {
		list := next()
		c.round(gatezerotest.Chunk, just(func() { add(list) }), just(func() { bare(list) }))
	}
	c.report("rows", rival)
}

func copyIntakes(b *testing.B) func([]recoup.Intake) {
	_, conn := openPostgres(b)
	execute(b, conn, `create table bare (intake_id uuid primary key, batch_id text, import_key text, company_name text,
		domain text, linkedin_url text, state text, status text, created_at timestamptz, updated_at timestamptz)`)
	columns := []string{"intake_id", "batch_id", "import_key", "company_name", "domain", "linkedin_url", "state", "status", "created_at", "updated_at"}
	return func(list []recoup.Intake) {
		rows := pgx.CopyFromSlice(len(list), func(i int) ([]any, error) {
			c := &list[i]
			return []any{[16]byte(c.ID), c.BatchID, c.ImportKey, c.CompanyName, c.Domain, c.LinkedInURL, c.State, c.Status, c.CreatedAt, c.UpdatedAt}, nil
		})
		_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"bare"}, columns, rows)
		must(b, err)
	}
}

// insertIntakes writes a transaction for each chunk, as durable as the store.
func insertIntakes(b *testing.B) func([]recoup.Intake) { return bareIntakes(b) }

// bareIntakes makes the table, and what else is asked for.
func bareIntakes(b *testing.B, more ...string) func([]recoup.Intake) {
	db := connect(b, filepath.Join(b.TempDir(), "bare.db"))
	_, err := db.ExecContext(b.Context(), `create table bare (intake_id blob primary key, batch_id text, import_key text, company_name text, domain text,
		linkedin_url text, state text, status text, created_at integer, updated_at integer) strict, without rowid`)
	must(b, err)
	for _, statement := range more {
		_, err := db.ExecContext(b.Context(), statement)
		must(b, err)
	}
	return func(list []recoup.Intake) {
		tx, err := db.BeginTx(b.Context(), nil)
		must(b, err)
		insert, err := tx.PrepareContext(b.Context(), "insert into bare values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
		must(b, err)
		for i := range list {
			c := &list[i]
			_, err := insert.ExecContext(b.Context(), c.ID[:], c.BatchID, c.ImportKey, c.CompanyName, c.Domain, c.LinkedInURL,
				c.State, string(c.Status), c.CreatedAt.UnixMicro(), c.UpdatedAt.UnixMicro())
			must(b, err)
		}
		must(b, tx.Commit())
	}
}
