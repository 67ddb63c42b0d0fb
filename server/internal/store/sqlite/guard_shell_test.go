package sqlite_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/test/tool"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// shell runs SQL in the sqlite3 program of the machine, as a person does. Debian's is
// older than the library that nodes have.
func (o opened) shell(sql string) (string, error) {
	o.Helper()
	out, err := tool.Command(o.Context(), "sqlite3", "-bail", o.path, ".timeout 5000", sql).CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// What nodes have written is whole to an older shell, and the rows that the schema
// allows can be written with it: where there is no JSON, where a time is left out.
func TestOlderShell(t *testing.T) {
	t.Parallel()
	s := open(t)
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	d := conformance.NewDriver(t, s)
	stage(t, d, s.raw())
	if err := s.AppendAudit(t.Context(), wire.AuditEntry{At: d.Now(), Actor: "ada", Act: "looked"}); err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct{ sql, want string }{
		{"pragma integrity_check", "ok"},
		{"insert into error (table_name, entity_id, code, disposition, blocking) values ('outreach.dol_errors', 'shell', 'X', 'RETRY', 1)", ""},
		{"select abs(created_at / 1000000 - strftime('%s', 'now')) < 60 from error where entity_id = 'shell'", "1"},
		{"update error set message = 'looked at' where entity_id = 'shell'", ""},
		{"insert into error_code (code, domain, description) values ('SHELL', 'data', '')", ""},
		{"insert into audit (at, actor, act) values (1, 'ada', 'looked')", ""},
		{"insert into outbox (notice_id, kind, recipient, created_at, due_at) values (randomblob(16), 'PARKED', 'team', 1, 1)", ""},
		{"insert into error_event (event_id, code, correlation_id, service, ts) values (randomblob(16), 'SHELL', randomblob(16), 's', 1)", ""},
		{"pragma integrity_check", "ok"},
	} {
		if got, err := s.shell(row.sql); err != nil || got != row.want {
			t.Errorf("%s: %s, %v; want %s", row.sql, got, err, row.want)
		}
	}
}
