package sqlite_test

import (
	"path/filepath"
	"testing"

	"recoup/internal/store"
	"recoup/internal/store/storetest"
)

func BenchmarkGate(b *testing.B) {
	storetest.BenchGate(b, func(b *testing.B) storetest.Gate { return open(b) },
		map[string]func(*testing.B) func([]store.Intake){"bare_insert": bareInsert})
}

// bareInsert writes to a table with one index, no guards and no counts, a
// transaction for each chunk, as durable as the store.
func bareInsert(b *testing.B) func([]store.Intake) {
	db := connect(b, filepath.Join(b.TempDir(), "bare.db")).db
	for _, sql := range []string{"pragma journal_mode = wal", "pragma synchronous = full",
		`create table bare (intake_id blob primary key, batch_id text, import_key text, company_name text, domain text,
			linkedin_url text, state text, status text, created_at integer, updated_at integer) strict, without rowid`} {
		if _, err := db.ExecContext(b.Context(), sql); err != nil {
			b.Fatal(err)
		}
	}
	return func(list []store.Intake) {
		tx, err := db.BeginTx(b.Context(), nil)
		if err != nil {
			b.Fatal(err)
		}
		insert, err := tx.PrepareContext(b.Context(), "insert into bare values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
		if err != nil {
			b.Fatal(err)
		}
		for i := range list {
			c := &list[i]
			_, err := insert.ExecContext(b.Context(), c.ID[:], c.BatchID, c.ImportKey, c.CompanyName, c.Domain, c.LinkedInURL,
				c.State, string(c.Status), c.CreatedAt.UnixMicro(), c.UpdatedAt.UnixMicro())
			if err != nil {
				b.Fatal(err)
			}
		}
		if err := tx.Commit(); err != nil {
			b.Fatal(err)
		}
	}
}
