package deadletter_test

import (
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// crowded is a world with so many dead letters that can be replayed. In a file all
// but one of them are copies, which is a tenth of the work of taking each through
// the workflow.
func crowded(t *testing.T, members int) *world {
	t.Helper()
	path := node.File(t)
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := newWorld(t, s)
	w.deadLettered(1)
	if err := errors.Join(s.Close(), multiply(path, members-1)); err != nil {
		t.Fatal(err)
	}
	return newWorld(t, sqlitetest.OpenFile(t, path))
}

// crowdedPostgres is the same on a server, where every one is taken through the
// workflow.
func crowdedPostgres(t *testing.T, members int) *world {
	t.Helper()
	db, _ := node.Postgres(t)
	w := newWorld(t, db)
	w.deadLettered(members)
	return w
}

// multiply adds n copies of the only dead letter of a file. Guards that want a dead
// letter to begin new are away meanwhile; those that count stay.
func multiply(path string, n int) (err error) {
	db, err := sql.Open("sqlite", path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	db.SetMaxOpenConns(1)
	guards := map[string]string{}
	rows, err := db.Query(`select name, sql from sqlite_master where type = 'trigger' and tbl_name in ('error', 'dead_letter') and sql like '%before insert on%'`)
	if err != nil {
		return err
	}
	for rows.Next() {
		var name, text string
		if err := rows.Scan(&name, &text); err != nil {
			return err
		}
		guards[name] = text
	}
	if err := rows.Err(); err != nil {
		return err
	}
	statements := []string{`create temp table copy as with recursive i (n) as (select 1 union all select n + 1 from i where n < ` + fmt.Sprint(n) + `)
		select randomblob(16) as error_id, randomblob(16) as work_id from i`}
	for name := range guards {
		statements = append(statements, "drop trigger "+name)
	}
	for _, table := range []string{"error", "dead_letter", "dead_letter_round"} {
		columns, err := columnsOf(db, table)
		if err != nil {
			return err
		}
		values := strings.NewReplacer(" error_id", " copy.error_id", " work_id", " copy.work_id", " correlation_id", " copy.work_id").Replace(" " + columns)
		statements = append(statements, "insert into "+table+" ("+columns+") select"+values+" from copy cross join (select * from "+table+") t")
	}
	for _, text := range guards {
		statements = append(statements, text)
	}
	for _, text := range statements {
		if _, err := db.Exec(text); err != nil {
			return fmt.Errorf("%s: %w", text, err)
		}
	}
	return nil
}

// columnsOf lists the columns of a table that can be written.
func columnsOf(db *sql.DB, table string) (list string, err error) {
	err = db.QueryRow(`select group_concat(name, ', ') from pragma_table_info(?)`, table).Scan(&list)
	return list, err
}
