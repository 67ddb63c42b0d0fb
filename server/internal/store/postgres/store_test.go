package postgres_test

import (
	"context"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

func TestStore(t *testing.T) {
	t.Parallel()
	conformance.Run(t, func(t *testing.T) conformance.Store {
		_, app := pgtest.Migrated(t)
		return &opened{Store: open(t, app), url: app}
	})
}

// opened is a store that the suite may also reach by plain SQL, and open twice.
type opened struct {
	*postgres.Store
	url string
}

func open(t testing.TB, url string) *postgres.Store {
	t.Helper()
	s, err := postgres.Open(t.Context(), url, postgres.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s
}

// RawInsert writes through the table's view, as any program may.
func (o *opened) RawInsert(ctx context.Context, table, entity string, code recoup.Code) error {
	conn, err := pgx.Connect(ctx, o.url)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close(ctx) }()
	governed, _ := policy.Default().Table(table)
	view := pgx.Identifier(strings.SplitN(table, ".", 2)).Sanitize()
	column := pgx.Identifier{governed.EntityColumn}.Sanitize()
	_, err = conn.Exec(ctx, "insert into "+view+" ("+column+", code) values (nullif($1, ''), $2)", entity, string(code))
	return err
}

// Reopen opens the database as another node would.
func (o *opened) Reopen(ctx context.Context) (conformance.Store, error) {
	return postgres.Open(ctx, o.url, postgres.Options{})
}
