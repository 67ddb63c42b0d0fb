package app_test

import (
	"database/sql"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func sqliteIlls() []planted {
	const id = "x'0198f2a47c317b4e9d525a1f0c3e8b67'"
	const now = "(cast(strftime('%s', 'now') as integer) * 1000000)"
	const hour = "3600000000"
	someError := "(select error_id from error where state = 'RETRY_PENDING' order by error_id limit 1)"
	return []planted{
		{"guard missing", owner, []string{"drop trigger gate_entry_insert"}, "triggers", "trigger gate_entry_insert", wire.FindingCritical, true, "CREATE TRIGGER gate_entry_insert"},
		{"guard replaced", owner, []string{"drop trigger gate_entry_insert", "create trigger gate_entry_insert before insert on gate_entry begin select 1; end"}, "triggers", "trigger gate_entry_insert", wire.FindingCritical, true, "drop trigger"},
		{"trigger that is not Recoup's", owner, []string{"create trigger evil before insert on error_event begin select raise(ignore); end"}, "triggers", "trigger evil", wire.FindingWarning, false, `drop trigger "evil"`},
		{"trigger in disguise", owner, []string{"create trigger schema_version before insert on ERROR_EVENT begin select raise(ignore); end"}, "triggers", "trigger schema_version", wire.FindingWarning, false, "drop trigger"},
		{"trigger on a name", owner, []string{`create trigger evil instead of insert on "app.errors" begin select 1; end`}, "triggers", "trigger evil", wire.FindingWarning, false, "drop trigger"},
		{"trigger on a table that is not Recoup's", owner, []string{"create table other (i)", "create trigger mine after insert on other begin select 1; end"}, "triggers", "trigger mine", wire.FindingNote, false, ""},
		{"index missing", owner, []string{"drop index error_expiry_idx"}, "indexes", "index error_expiry_idx", wire.FindingWarning, true, "CREATE INDEX error_expiry_idx"},
		{"index replaced", owner, []string{"drop index error_list_idx", "create index error_list_idx on error (created_at)"}, "indexes", "index error_list_idx", wire.FindingWarning, true, "drop index"},
		{"view missing", owner, []string{"drop view gate_log"}, "functions", "view gate_log", wire.FindingCritical, false, ""},
		{"name missing", owner, []string{`drop view "app.errors"`}, "tables", "app.errors", wire.FindingWarning, true, "recoup doctor --fix"},
		{"name taken", owner, []string{`drop view "app.errors"`, `create table "app.errors" (id integer)`}, "tables", "app.errors", wire.FindingWarning, false, "rename to"},
		{"error without an end", super, []string{"update error set expires_at = null, next_escalation_at = null, review_due_at = null, assigned_to = null, escalated_to = null, next_retry_at = null, lease_token = zeroblob(16), lease_worker = 'w', lease_ends_at = 1, leased_at = 1 where error_id = " + someError},
			"rows", "errors without an end", wire.FindingCritical, false, "recoup errors resolve 0"},
		{"error outside the queue", super, []string{"update error set next_retry_at = null where error_id = " + someError}, "rows", "errors outside the queue", wire.FindingCritical, false, ""},
		{"gate log lacks an error", super, []string{"delete from gate_entry where error_id = (select error_id from error where blocking order by error_id limit 1)"}, "rows", "gate log", wire.FindingCritical, false, ""},
		{"counts wrong", super, []string{"update error_count set n = n + 5 where state = 'PARKED' and table_name = 'app.errors'"}, "rows", "counts", wire.FindingWarning, false, ""},
		{"code not registered", super, []string{"delete from error_code where code = 'NETWORK_TIMEOUT'"}, "rows", "codes", wire.FindingWarning, false, "recoup codes add NETWORK_TIMEOUT"},
		{"dead letter without its error", super, []string{"update dead_letter set error_id = " + id}, "rows", "dead letters", wire.FindingCritical, false, ""},
		{"payload key gone", super, []string{"update work_payload set key_id = 'gone'"}, "rows", "payload keys", wire.FindingCritical, false, "recoup keys payload list"},
		{"row not admitted", super, []string{"update error set policy_version = null, created_at = " + now + " - " + hour + " where error_id = " + someError}, "rows", "rows of plain SQL", wire.FindingWarning, false, "recoup jobs list"},
		{"notification given up", super, []string{"insert into outbox (notice_id, kind, recipient, created_at, given_up_at, last_error) values (" + id + ", 'PARKED', 'team', 1, 1, 'no such host')"},
			"rows", "undeliverable notifications", wire.FindingWarning, false, "recoup notifications resend"},
		{"outbox stuck", super, []string{"insert into outbox (notice_id, kind, recipient, created_at, due_at) values (" + id + ", 'PARKED', 'team', 1, " + now + " - " + hour + ")"}, "outbox", "outbox", wire.FindingWarning, false, "recoup notifications list"},
		{"job fails", super, []string{"update job set error = 'the disk is full' where name = 'ttl'"}, "jobs", "job ttl", wire.FindingWarning, false, "recoup jobs run ttl"},
		{"key without an end", super, []string{"update api_key set expires_at = null"}, "keys", "key first admin", wire.FindingWarning, false, "recoup keys rotate"},
		{"no admin", super, []string{"update api_key set revoked_at = 1, revoked_by = 'sql'"}, "keys", "admin key", wire.FindingWarning, false, "recoup keys create --role admin"},
		{"platform key in plaintext", super, []string{"update platform_key set wrapped_by = null"}, "encryption", "platform keys", wire.FindingNote, false, "master-key-file"},
		{"backup never made", super, []string{"update schema_version set tstamp = datetime('now', '-20 days')"}, "backups", "backup", wire.FindingWarning, false, "recoup backup"},
		{"backup old", super, []string{"insert into audit (seq, at, actor, act) values (1000, " + now + " - 200 * " + hour + ", 'x', 'database.backup')"}, "backups", "backup", wire.FindingWarning, false, "recoup backup"},
		{"schema behind", super, []string{"delete from schema_version where version_id = (select max(version_id) from schema_version)"}, "migrations", "schema", wire.FindingCritical, false, "recoup migrate up"},
		{"file that others can read", "chmod", nil, "file", "", wire.FindingWarning, false, "chmod 600"},
		{"log out of hand", "wal", nil, "file", "", wire.FindingWarning, true, "wal_checkpoint"},
	}
}

// TestDoctorOnSQLite is TestDoctorOnPostgres for an embedded database.
func TestDoctorOnSQLite(t *testing.T) {
	base := filepath.Join(t.TempDir(), "recoup.db")
	node := live.Start(t, healthy(t, "sqlite:"+base))
	for _, f := range examine(t, healthy(t, "sqlite:"+base)).Findings {
		t.Errorf("on a fresh database it found: %+v", f)
	}
	drive(t, node)
	for _, f := range examine(t, healthy(t, "sqlite:"+base)).Findings {
		t.Errorf("after a busy run it found: %+v", f)
	}
	if found, err := admin.New(node.Client()).System.Doctor(t.Context()); err != nil || !found.Healthy() {
		t.Errorf("through the server: %+v, %v", found, err)
	}
	node.Stop()
	file, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	for _, ill := range sqliteIlls() {
		t.Run(ill.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "recoup.db")
			if err := os.WriteFile(path, file, 0o600); err != nil {
				t.Fatal(err)
			}
			switch ill.as {
			case "chmod":
				err = os.Chmod(path, 0o644)
			case "wal":
				plantLog(t, path)
			default:
				plantSQLite(t, path, ill)
			}
			if err != nil {
				t.Fatal(err)
			}
			judge(t, ill, healthy(t, "sqlite:"+path))
		})
	}
}

// plantLog lets another program have the file open, with a log of 300 MB.
func plantLog(t *testing.T, path string) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	if _, err := db.ExecContext(t.Context(), "pragma journal_mode = wal; create table other (i); drop table other"); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(path+"-wal", 300<<20); err != nil {
		t.Fatal(err)
	}
}

// plantSQLite plants an ill by another program's hand: super plants what guards would
// refuse, with the triggers taken out meanwhile.
func plantSQLite(t *testing.T, path string, ill planted) {
	t.Helper()
	db, err := sql.Open("sqlite", path)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = db.Close() }()
	db.SetMaxOpenConns(1)
	statements := []string{"pragma ignore_check_constraints = on"}
	var again []string
	if ill.as == super {
		rows, err := db.QueryContext(t.Context(), "select name, sql from sqlite_schema where type = 'trigger'")
		if err != nil {
			t.Fatal(err)
		}
		for rows.Next() {
			var name, text string
			if err := rows.Scan(&name, &text); err != nil {
				t.Fatal(err)
			}
			statements, again = append(statements, fmt.Sprintf("drop trigger %q", name)), append(again, text)
		}
		if err := rows.Err(); err != nil {
			t.Fatal(err)
		}
	}
	for _, statement := range append(append(statements, ill.plant...), again...) {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %v", statement, err)
		}
	}
}

// What the doctor's job finds is in the metrics of the node that leads, by check and
// severity.
func TestDoctorMetrics(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recoup.db")
	o := healthy(t, "sqlite:"+path)
	live.Start(t, o).Stop()
	plantSQLite(t, path, planted{as: owner, plant: []string{"drop index error_expiry_idx"}})
	node := live.Start(t, o)
	node.Key = key(t, o)
	c := node.Client()
	awaitJobs(t, c, func(jobs wire.Jobs) bool { return jobs.Leader != "" })
	if _, err := admin.New(c).Jobs.Run(t.Context(), "doctor", wire.JobRunRequest{Reason: "now"}); err != nil {
		t.Fatal(err)
	}
	const want = `recoup_doctor_findings{check="indexes",severity="warning"} 1`
	if metrics := node.Call("GET", "/metrics", ""); !strings.Contains(metrics, want) {
		t.Errorf("the metrics lack %s:\n%s", want, metrics)
	}
}

// key makes an admin key in a database.
func key(t *testing.T, o app.Options) string {
	t.Helper()
	keys, err := app.OpenKeys(t.Context(), o, false)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = keys.Close() }()
	k, err := keys.Create(t.Context(), wire.NewKey{Name: "second admin", Role: "admin"})
	if err != nil {
		t.Fatal(err)
	}
	return k.Secret
}

// A backup that the command makes is written down, and one that is asked for on a database
// of an older schema changes nothing there.
func TestBackupIsKnown(t *testing.T) {
	path := filepath.Join(t.TempDir(), "recoup.db")
	o := healthy(t, "sqlite:"+path)
	live.Start(t, o).Stop()
	plantSQLite(t, path, planted{as: super, plant: []string{"update schema_version set tstamp = datetime('now', '-20 days')"}})
	if found := examine(t, o).Findings; len(found) != 1 || found[0].Check != "backups" {
		t.Errorf("before the backup it found %+v", found)
	}
	if err := app.Backup(t.Context(), o, filepath.Join(t.TempDir(), "copy.db")); err != nil {
		t.Fatal(err)
	}
	if found := examine(t, o).Findings; len(found) != 0 {
		t.Errorf("after the backup it found %+v", found)
	}
}
