package cli_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestAdoptWakesIdleNode adopts and releases a table while the only node is idle and looks once an hour: it is
// woken, reads the rows, and ends their errors. Neither command says that no node runs.
func TestAdoptWakesIdleNode(t *testing.T) {
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	conn, err := pgx.Connect(t.Context(), owner)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close(t.Context()) })
	if _, err := conn.Exec(t.Context(), "create schema shop; "+failures); err != nil {
		t.Fatal(err)
	}
	live.Start(t, app.Options{Database: nodes, AdminKeyFile: "off", Idle: app.Idle{Every: time.Hour, After: 3 * time.Second, Linger: 300 * time.Millisecond}})
	until := func(what string) {
		t.Helper()
		for is, try := false, 0; !is; try++ {
			if err := conn.QueryRow(t.Context(), "select coalesce((select "+what+" from recoup.leader), false)").Scan(&is); err != nil || try == 600 {
				t.Fatalf("it is not so that %s: %v", what, err)
			}
			_ = retry.Sleep(t.Context(), 50*time.Millisecond)
		}
	}
	until("holder is not null")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"adopt", "shop.failures", "--as", "outreach.dol_errors", "--apply"}, string(wire.AdoptionGoverned)},
		{[]string{"adopt", "release", "shop.failures"}, `"ended": true`},
	} {
		until("holder is null") // the node is idle
		out, stderr, status := clitest.Run(t, append(c.args, "--yes", "--json", "--database", owner)...)
		if status != 0 || !strings.Contains(out, c.want) || strings.Contains(stderr, "No node is running") {
			t.Errorf("%v: status %d, want %s\n%s%s", c.args, status, c.want, out, stderr)
		}
	}
}
