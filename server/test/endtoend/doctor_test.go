package endtoend

import (
	"context"
	"encoding/json"
	"errors"
	"net/url"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/program"
)

// runDoctor runs the program, and returns what it said and its exit status.
func runDoctor(t *testing.T, args ...string) (out, said string, status int) {
	t.Helper()
	var stdout, stderr strings.Builder
	cmd := exec.CommandContext(t.Context(), program.Path(t), append([]string{"doctor"}, args...)...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var ended *exec.ExitError
	if err != nil && !errors.As(err, &ended) {
		t.Fatal(err)
	}
	return stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()
}

// The doctor finds a guard that somebody has disabled, through a server and, with that one
// stopped, in the database itself; says so with its exit status; fixes it when it is asked
// to and told that it may, and writes that down.
func TestDoctor(t *testing.T) {
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Settings: []string{"fsync=on", "full_page_writes=on", "archive_mode=on", "archive_command=/bin/true"}})
	owner, app := server.Migrated(t)
	pgtest.HoldToClock(t, owner)
	super, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	super.User = url.User("postgres")
	runSQL(t, super.String(), "revoke create on schema public from public") // which PostgreSQL 13 and 14 grant
	s := newSite(t, live.Database{Kind: "postgres", Owner: owner, Nodes: app})
	s.start()
	through := []string{"--server", "http://" + *s.address.Load(), "--key", s.key()}
	if out, said, status := runDoctor(t, through...); status != 0 {
		t.Errorf("a healthy server: status %d\n%s%s", status, out, said)
	}
	runSQL(t, owner, "alter table recoup.audit disable trigger forbidden")
	out, _, status := runDoctor(t, through...)
	if status != 1 || !strings.Contains(out, "CRITICAL: trigger forbidden on recoup.audit (triggers)") || !strings.Contains(out, "enable trigger forbidden") {
		t.Errorf("through the server: status %d\n%s", status, out)
	}
	for line := range strings.Lines(out) {
		if utf8.RuneCountInString(line) > 81 && !strings.HasPrefix(line, "  fix") {
			t.Errorf("a line is too long for 80 columns: %s", line)
		}
	}
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Errorf("the server ended with %v", err)
	}
	out, _, status = runDoctor(t, "--database", owner, "--json")
	var found wire.Diagnosis
	if err := json.Unmarshal([]byte(out), &found); err != nil || status != 1 || found.Healthy() || !found.Findings[0].Safe {
		t.Errorf("without a server: status %d, %v\n%s", status, err, out)
	}
	for _, wrong := range [][]string{{"--fix"}, {"--yes"}, {"--database", owner, "--server", "http://127.0.0.1:1"}} {
		if _, said, status := runDoctor(t, wrong...); status != 2 {
			t.Errorf("%v: status %d, %s", wrong, status, said)
		}
	}
	if _, said, status := runDoctor(t, "--database", owner, "--fix"); status != 1 || !strings.Contains(said, "repeat it with --yes") {
		t.Errorf("without a confirmation: status %d, %s", status, said)
	}
	if out, said, status := runDoctor(t, "--database", app, "--fix", "--yes"); status != 1 || !strings.Contains(said, "owner") {
		t.Errorf("as a node's role: status %d\n%s%s", status, out, said)
	}
	if out, said, status := runDoctor(t, "--database", owner, "--fix", "--yes"); status != 0 || !strings.Contains(said, "fixed: trigger forbidden on recoup.audit") {
		t.Errorf("fixed: status %d\n%s%s", status, out, said)
	}
	var audited int
	conn, err := pgx.Connect(t.Context(), owner)
	if err == nil {
		defer func() { _ = conn.Close(context.Background()) }()
		err = conn.QueryRow(t.Context(), "select count(*) from recoup.audit where act = 'doctor.fix' and target = 'trigger forbidden on recoup.audit'").Scan(&audited)
	}
	if err != nil || audited == 0 {
		t.Errorf("the audit has %d rows of the fix, %v", audited, err)
	}
}

// runSQL runs a statement as another program would.
func runSQL(t *testing.T, address, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(context.Background()) }()
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}
