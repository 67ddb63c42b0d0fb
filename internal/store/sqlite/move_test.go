package sqlite_test

import (
	"strings"
	"testing"

	"recoup/internal/test/conformance"
)

func TestMoves(t *testing.T) {
	t.Parallel()
	s := open(t)
	conformance.RunMoves(t, s, mover{connect(t, s.path)})
}

// mover writes to the archive without the store.
type mover struct{ plainSQL }

func (m mover) Try(sql string) error {
	return m.plainSQL.Try(strings.NewReplacer("{error}", "error", "{archive}", "error_archive").Replace(sql))
}

func (m mover) Columns() (columns []string) {
	m.Helper()
	rows, err := m.db.QueryContext(m.Context(), "select name from pragma_table_info('error_archive')")
	if err != nil {
		m.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var name string
		if err := rows.Scan(&name); err != nil {
			m.Fatal(err)
		}
		columns = append(columns, name)
	}
	if err := rows.Err(); err != nil {
		m.Fatal(err)
	}
	return columns
}

// TryMove adds to the archive, and the error leaves its table by itself.
func (m mover) TryMove(entity, columns, values string) error {
	return m.Try("insert into {archive} (" + columns + ") select " + values + " from {error} where entity_id = '" + entity + "'")
}
