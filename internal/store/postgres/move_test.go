package postgres_test

import (
	"strings"
	"testing"

	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/conformance"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	_, app := pgtest.Migrated(t)
	conformance.RunMoves(t, open(t, app), mover{connect(t, app)})
}

// mover writes to the archive without the store.
type mover struct{ plainSQL }

func (m mover) Try(sql string) error {
	return m.plainSQL.Try(strings.NewReplacer("{error}", "recoup.error", "{archive}", "recoup.error_archive").Replace(sql))
}

func (mover) Columns() []string {
	_, archive := postgres.ErrorColumnNames()
	return archive
}

// TryMove moves in one statement, as the store does: the guards refuse an error
// that is in both tables or in none.
func (m mover) TryMove(entity, columns, values string) error {
	return m.Try("with gone as (delete from {error} where entity_id = '" + entity + "' returning *) insert into {archive} (" +
		columns + ") select " + values + " from gone")
}
