package endtoend

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
	"github.com/recoup-dev/recoup/server/test/program"
)

// systemctl starts and stops a node as the unit of deploy/systemd does, where no systemd runs.
const systemctl = `#!/usr/bin/env bash
set -euo pipefail
cd "$(dirname "$0")/.."
case $1 in
start)
  recoup serve >>node.log 2>&1 &
  echo $! >node.pid
  until recoup healthcheck >>node.log 2>&1; do sleep 0.1; done ;;
stop)
  kill "$(<node.pid)"
  while kill -0 "$(<node.pid)" 2>/dev/null; do sleep 0.1; done ;;
esac
`

// TestBackupPage runs docs/backup.md: on the embedded database, and from one PostgreSQL server to
// another that has none of the roles. What was reported before the dump is there afterwards, nodes
// can work with it, and the doctor finds nothing that it did not find before.
func TestBackupPage(t *testing.T) {
	t.Parallel()
	old, next := pgtest.Start(t, pgtest.Options{}), pgtest.Start(t, pgtest.Options{})
	owner, nodes := old.Migrated(t)
	before := newSite(t, live.Database{Nodes: nodes})
	before.start()
	before.report("DUMPED")
	if err := before.signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	known := diagnosed(t, owner)
	restored := next.New(t)
	runOperationPage(t, "docs/backup.md", owner, restored)

	after := newSite(t, live.Database{Nodes: asRole(t, restored, "recoup_app", "")})
	after.keyFile = before.keyFile
	after.printed()
	after.start()
	if got := after.ask(http.MethodGet, "/v1/errors?entity_id=DUMPED", ""); got.status != http.StatusOK || len(got.body) < 100 {
		t.Errorf("what was reported before the dump: %d %s", got.status, got.body)
	}
	after.report("LATER")
	for finding := range diagnosed(t, restored) {
		if !known[finding] {
			t.Errorf("the doctor finds in the restored database alone: %s", finding)
		}
	}
}

// diagnosed are the findings of the doctor in a database.
func diagnosed(t *testing.T, address string) map[string]bool {
	t.Helper()
	out, _ := exec.CommandContext(t.Context(), program.Path(t), "doctor", "--database", address, "--json").Output() // findings are status 1
	var found wire.Diagnosis
	if err := json.Unmarshal(out, &found); err != nil || found.Checks == 0 {
		t.Fatalf("the doctor says %s: %v", out, err)
	}
	all := map[string]bool{}
	for _, f := range found.Findings {
		all[f.Check+": "+f.Subject] = true
	}
	return all
}

// TestUpgradePage runs docs/upgrade.md.
func TestUpgradePage(t *testing.T) {
	t.Parallel()
	owner, _ := pgtest.Migrated(t)
	runOperationPage(t, "docs/upgrade.md", owner, owner)
}

// asRole is the address of a database for another role; name is another database, or empty.
func asRole(t *testing.T, address, role, name string) string {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(role)
	if name != "" {
		u.Path = "/" + name
	}
	return u.String()
}

// runOperationPage runs a page for operators beside a node that runs as the page assumes: the files
// of a release are in the current folder, and the places of an installation are in the test's folder.
func runOperationPage(t *testing.T, page, owner, next string) {
	t.Helper()
	folder := clone(t)
	binary, err := os.ReadFile(program.Path(t))
	if err != nil {
		t.Fatal(err)
	}
	sums := fmt.Sprintf("%x  recoup-linux-amd64\n%x  recoup-linux-arm64\n", sha256.Sum256(binary), sha256.Sum256(nil))
	for name, content := range map[string]string{"recoup-linux-amd64": string(binary), "SHA256SUMS": sums, "bin/systemctl": systemctl} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	readGuide(t, page).runIn(t, folder, surroundings{
		database: "sqlite:" + filepath.Join(folder, "recoup.db"),
		begin:    "systemctl start recoup\n", end: "\nsystemctl stop recoup",
		places: []string{
			"/var/lib/recoup", folder, "/usr/local/bin", filepath.Join(folder, "bin"),
			"postgres://recoup_owner@db/recoup", "'" + owner + "'", "postgres://recoup_owner@new-db/recoup", "'" + next + "'",
			"postgres://postgres@new-db/postgres", "'" + asRole(t, next, "postgres", "postgres") + "'",
		},
	})
}
