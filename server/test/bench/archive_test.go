package bench

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// BenchmarkArchive archives what has expired in batches of 500, as the sweep
// does: decided, moved with its history, the gate opened, counts and guards on, its
// owner notified. Beside it the bare statement (delete, returning, insert) moves as
// many rows between two tables that are the same but for the guards. Target: 0.75 of
// the bare statement on PostgreSQL, 0.65 on SQLite.
func BenchmarkArchive(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		s, owner := openPostgres(b)
		execute(b, owner, bareTables)
		columns := columnsOf(b, owner)
		n, c := newNode(b, s), contest{B: b}
		move := "with gone as (delete from bare.error where error_id = any ($1) returning *) insert into bare.error_archive (" +
			strings.Join(columns, ", ") + archiveColumns + ") select " + shelved(columns, "interval '1 year'") + " from gone"
		for b.Loop() {
			b.StopTimer()
			list := n.report(workBatch)
			execute(b, owner, "insert into bare.error select * from recoup.error where error_id = any ($1)", keys(list))
			n.now = list[len(list)-1].ExpiresAt // the last of them
			must(b, s.EnsurePartitions(b.Context(), n.now))
			b.StartTimer()
			c.round(workBatch, just(func() { n.expire(list) }), just(func() { execute(b, owner, move, keys(list)) }))
		}
		c.report("errors", "bare")
	})
	b.Run("sqlite", func(b *testing.B) {
		s, db := openSQLite(b)
		c, n := contest{B: b}, newNode(b, s)
		bare := newBareFile(b, db)
		for b.Loop() {
			b.StopTimer()
			list := n.report(workBatch)
			bare.load(list)
			n.now = list[len(list)-1].ExpiresAt // the last of them
			b.StartTimer()
			c.round(workBatch, just(func() { n.expire(list) }), just(func() { bare.move(list) }))
		}
		c.report("errors", "bare")
	})
}

// expire lets the time of errors be over.
func (n *node) expire(list []recoup.Error) {
	n.Helper()
	steps := make([]store.Step, len(list))
	for i := range list {
		steps[i] = n.ending(list[i].ID, lifecycle.Expire{})
	}
	must(n, n.apply(steps))
}

// ending is the step by which the sweep archives an error.
func (n *node) ending(id recoup.ID, in lifecycle.Input) store.Step {
	return store.Step{ID: id, Decide: n.decide(in), Result: &store.Result{Like: in, Brief: true}}
}

// bareTables are the tables of errors and their archive without guards, and without
// what the archive's rows carry of the history.
const bareTables = `create schema bare; create table bare.error (like recoup.error including all) with (fillfactor = 70);
	create table bare.error_archive (like recoup.error_archive including all);
	alter table bare.error_archive drop column was_state, drop column was_blocking, drop column end_seq, drop column end_input,
		drop column end_reason, drop column end_policy, drop column end_worker, drop column end_claimed_at, drop column end_attempt, drop column end_gate`

const archiveColumns = ", archived_at, archived_by, archive_reason, final_disposition, purge_at"

// shelved is what a moved row has in the archive, where it is kept for so long.
func shelved(columns []string, kept string) string {
	values := slices.Clone(columns)
	for i, column := range columns {
		switch column {
		case "state":
			values[i] = "'ARCHIVED'"
		case "blocking", "replaceable":
			values[i] = "false"
		}
	}
	return strings.Join(values, ", ") + ", expires_at, 'system', 'TTL_EXPIRED', disposition, expires_at + " + kept
}

func keys(list []recoup.Error) [][]byte {
	ids := make([][]byte, len(list))
	for i := range list {
		ids[i] = list[i].ID[:]
	}
	return ids
}

// columnsOf returns the columns that an error keeps in the archive.
func columnsOf(b *testing.B, conn *pgx.Conn) []string {
	b.Helper()
	rows, _ := conn.Query(b.Context(), `select e.attname::text from pg_attribute e join pg_attribute a on a.attname = e.attname
		where e.attrelid = 'recoup.error'::regclass and a.attrelid = 'recoup.error_archive'::regclass and e.attnum > 0 order by e.attnum`)
	columns, err := pgx.CollectRows(rows, pgx.RowTo[string])
	must(b, err)
	return columns
}

// bareFile is a SQLite file with the tables and indexes of errors, and without
// their triggers.
type bareFile struct {
	*testing.B
	*sql.DB
	columns []string
}

// carried is what the archive's rows have of the history.
var carried = regexp.MustCompile(`(?m)^ +(was|end)_\w+ .*\n|,\n +constraint error_archive_gate .*$`)

func newBareFile(b *testing.B, source *sql.DB) *bareFile {
	b.Helper()
	var path string
	must(b, source.QueryRowContext(b.Context(), "select file from pragma_database_list where name = 'main'").Scan(&path))
	f := &bareFile{B: b, DB: connect(b, path+".bare")}
	schema := texts(b, source, "select sql from sqlite_schema where tbl_name in ('error', 'error_archive') and type in ('table', 'index') and sql is not null order by type desc")
	for _, ddl := range schema {
		f.run(carried.ReplaceAllString(ddl, ""))
	}
	f.columns = texts(b, source, "select name from pragma_table_info('error') where name in (select name from pragma_table_info('error_archive'))")
	f.run("attach '" + path + "' as theirs")
	return f
}

func (f *bareFile) run(statement string, args ...any) {
	f.Helper()
	_, err := f.ExecContext(f.Context(), statement, args...)
	must(f, err)
}

func texts(b *testing.B, db *sql.DB, query string) (list []string) {
	b.Helper()
	rows, err := db.QueryContext(b.Context(), query)
	must(b, err)
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var text string
		must(b, rows.Scan(&text))
		list = append(list, text)
	}
	must(b, rows.Err())
	return list
}

// load copies errors from the store's file.
func (f *bareFile) load(list []recoup.Error) {
	f.Helper()
	f.run("insert into main.error select * from theirs.error where error_id in (" + literals(list) + ")")
}

// move moves errors in one transaction.
func (f *bareFile) move(list []recoup.Error) {
	f.Helper()
	f.moveThose("(" + literals(list) + ")")
}

func (f *bareFile) moveThose(ids string) {
	f.Helper()
	which := " from main.error where error_id in " + ids
	tx, err := f.BeginTx(f.Context(), nil)
	must(f, err)
	_, err = tx.ExecContext(f.Context(), "insert into main.error_archive ("+strings.Join(f.columns, ", ")+archiveColumns+") select "+shelved(f.columns, "365 * 86400000000")+which)
	must(f, err)
	_, err = tx.ExecContext(f.Context(), "delete"+which)
	must(f, err)
	must(f, tx.Commit())
}

func literals(list []recoup.Error) string {
	ids := make([]string, len(list))
	for i := range list {
		ids[i] = fmt.Sprintf("x'%x'", list[i].ID[:])
	}
	return strings.Join(ids, ", ")
}
