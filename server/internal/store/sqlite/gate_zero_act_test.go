package sqlite_test

import (
	"database/sql"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	driver "modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// plainSQL is a connection of somebody else, with the pragmas it has by default.
type plainSQL struct {
	testing.TB
	db *sql.DB
}

func connect(t testing.TB, path string) plainSQL {
	t.Helper()
	db, err := sql.Open("sqlite", path+"?_pragma=busy_timeout(5000)")
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	return plainSQL{t, db}
}

var spelling = strings.NewReplacer("cl.gate", "gate", "{id}", "randomblob(16)", "{hour}", "3600000000", "{time}", "1770022800000000")

func (p plainSQL) Try(text string) error {
	tx, err := p.db.BeginTx(p.Context(), nil)
	if err != nil {
		p.Fatal(err)
	}
	_, err = tx.ExecContext(p.Context(), spelling.Replace(text))
	return errors.Join(err, tx.Rollback())
}

func (p plainSQL) Do(text string) {
	if _, err := p.db.ExecContext(p.Context(), spelling.Replace(text)); err != nil {
		p.Fatal(err)
	}
}

func (plainSQL) Refused(err error) bool {
	var fault *driver.Error
	return errors.As(err, &fault) && fault.Code()&0xff == sqlite3.SQLITE_CONSTRAINT
}

func (p plainSQL) Dump() string {
	var b strings.Builder
	for _, table := range []string{"batch", "intake", "recovery", "air"} {
		rows, err := p.db.QueryContext(p.Context(), "select * from gate_zero_"+table+" order by 1")
		if err != nil {
			p.Fatal(err)
		}
		b.WriteString(table + ":\n")
		for _, line := range p.lines(rows) {
			b.WriteString(line + "\n")
		}
	}
	return b.String()
}

func (p plainSQL) lines(rows *sql.Rows) (list []string) {
	defer func() { _ = rows.Close() }()
	columns, err := rows.Columns()
	if err != nil {
		p.Fatal(err)
	}
	for rows.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			p.Fatal(err)
		}
		list = append(list, fmt.Sprintf("%x", values))
	}
	if rows.Err() != nil || len(list) == 0 {
		p.Fatalf("%d rows: %v", len(list), rows.Err())
	}
	return list
}

// replacing are ways in which a row could be replaced without being deleted by
// name.
func replacing() []string {
	var list []string
	for _, verb := range []string{"insert or replace", "replace", "insert or ignore", "insert"} {
		list = append(list,
			verb+` into gate_zero_recovery select recovery_id, intake_id, batch_id, 'X', 1, next_eligible_at, 'ACTIVE', created_at, updated_at
				from gate_zero_recovery where status = 'EXHAUSTED'`,
			verb+` into gate_zero_recovery select randomblob(16), intake_id, batch_id, 'X', 1, next_eligible_at, 'ACTIVE', created_at, updated_at
				from gate_zero_recovery where status = 'ACTIVE'`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, created_at, updated_at)
				select intake_id, batch_id, 'X', created_at, updated_at from gate_zero_intake where company_name = 'active'`,
			verb+` into gate_zero_intake (intake_id, batch_id, import_key, company_name, created_at, updated_at)
				select randomblob(16), batch_id, import_key, 'X', created_at, updated_at from gate_zero_intake where company_name = 'active'`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, status, previous_intake_id, created_at, updated_at)
				select randomblob(16), batch_id, 'X', 'AUTHORIZED', previous_intake_id, created_at, updated_at
				from gate_zero_intake where previous_intake_id is not null`,
			verb+` into gate_zero_intake (intake_id, batch_id, company_name, status, previous_intake_id, created_at, updated_at)
				select randomblob(16), batch_id, 'X', 'AUTHORIZED', intake_id, created_at, updated_at
				from gate_zero_intake where company_name = 'half'`,
			verb+` into gate_zero_recovery select r.recovery_id, i.intake_id, i.batch_id, 'X', 1, r.next_eligible_at, 'ACTIVE', r.created_at, r.updated_at
				from gate_zero_recovery r, gate_zero_intake i where r.status = 'EXHAUSTED' and i.company_name = 'bare'`,
			verb+` into gate_zero_air (air_id, intake_id, event, at) select air_id, intake_id, 'AUTH', at from gate_zero_air where event = 'EXHAUSTED'`,
			verb+` into gate_zero_batch (batch_id, created_at) select batch_id, created_at from gate_zero_batch`)
	}
	return append(list,
		`insert or replace into gate_zero_air (air_id, intake_id, event, at) select -1, intake_id, 'AUTH', at from gate_zero_air where event = 'EXHAUSTED'`,
		`update or replace gate_zero_recovery set intake_id = (select min(intake_id) from gate_zero_recovery)`,
		`update or replace gate_zero_intake set import_key = 'active'`,
		`update or replace gate_zero_batch set batch_id = 'open'`,
		`update or ignore gate_zero_recovery set status = 'ACTIVE' where status = 'EXHAUSTED'`)
}

func TestGateActs(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "recoup.db")
	conformance.RunGateActs(t, openAt(t, path), connect(t, path), replacing()...)
}
