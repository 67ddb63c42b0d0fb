package server_test

import (
	"database/sql"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// planted changes a database by plain SQL.
func planted(t *testing.T, file, statement string) {
	t.Helper()
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := db.ExecContext(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
}

// A file that is no database is refused with its own name, and not as a failure of the
// database in use.
func TestRestoreRefusesWhatIsNoBackup(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	bad := filepath.Join(t.TempDir(), "bad.db")
	if err := os.WriteFile(bad, []byte(strings.Repeat("no database\n", 1000)), 0o600); err != nil {
		t.Fatal(err)
	}
	r := n.Direct("restore", bad, "--yes")
	if r.Status == command.ExitDone || !strings.Contains(r.Err, bad) || !strings.Contains(r.Err, "it is damaged, or no database") ||
		strings.Contains(r.Err, "TEMPORARY_UNAVAILABLE") || strings.Contains(r.Err, "restore it from a backup") {
		t.Errorf("status %d: %s", r.Status, r.Err)
	}
}

// A backup with a trigger that is not part of Recoup is restored, and the trigger is reported, with
// the status of the doctor.
func TestRestoreReportsTriggers(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	backup := filepath.Join(t.TempDir(), "backup.db")
	if r := n.Direct("backup", backup); r.Status != command.ExitDone {
		t.Fatal(r.Err)
	}
	if r := n.Direct("restore", backup, "--yes"); r.Status != command.ExitDone || !strings.Contains(r.Out, "Its triggers are those of Recoup.") {
		t.Errorf("a clean backup: status %d: %s%s", r.Status, r.Out, r.Err)
	}
	planted(t, backup, "create trigger schema_version before insert on ERROR_EVENT begin select raise(ignore); end")
	r := n.Direct("restore", backup, "--yes")
	if r.Status != command.ExitRefused || !strings.Contains(r.Out, "WARNING: trigger schema_version (triggers)") || !strings.Contains(r.Out, `drop trigger "schema_version"`) {
		t.Errorf("a planted trigger: status %d: %s%s", r.Status, r.Out, r.Err)
	}
	var got struct{ Findings []wire.Finding }
	r = n.Direct("restore", backup, "--yes", "--json")
	if clitest.Parse(t, r.Out, &got); r.Status != command.ExitRefused || len(got.Findings) != 1 {
		t.Errorf("a planted trigger as JSON: status %d: %s%s", r.Status, r.Out, r.Err)
	}
}
