package endtoend

import (
	"net/url"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/chaos"
	"github.com/recoup-dev/recoup/server/test/program"
)

// TestChaosVersions does what TestChaosPostgres does to nodes of two versions side by
// side: the schema is the older version's, is migrated beside one of its nodes, and then
// has two of them and a newer one. RECOUP_OLDER names the older program:
// make two-versions builds one and runs this.
func TestChaosVersions(t *testing.T) {
	t.Parallel()
	older := os.Getenv("RECOUP_OLDER")
	if older == "" {
		t.Skip("needs the program of an older version in RECOUP_OLDER: make two-versions builds one and runs this")
	}
	r := regime{
		mixed: chaos.Mix{chaos.KillNode: 3, chaos.KillLeader: 3, chaos.KillTwo: 1, chaos.PauseLeader: 1, chaos.RestartNode: 2, chaos.AbortDatabase: 1, chaos.MuteDatabase: 1},
		dense: chaos.Mix{chaos.KillNode: 1, chaos.KillLeader: 2, chaos.RestartNode: 1},
		rest:  400 * time.Millisecond,
		goals: map[string]func(chaos.Counts) int{"RECOUP_CHAOS_VERSION_KILLS": chaos.Counts.Kills},
	}
	inSlices(t, r, func(t *testing.T, seed uint64) *chaosRun {
		server := pgtest.Start(t, pgtest.Options{Durable: pgtest.Durable()})
		owner := server.New(t)
		migrate(t, older, owner)
		c := onServer(t, seed, server, database{Kind: "postgres", Owner: owner, Nodes: asApp(t, owner)}, nil)
		c.sites[0].program, c.sites[1].program = older, older
		c.known = "one id" // of messages, until migration 25
		c.upgrade = func() { migrate(t, program.Path(t), owner) }
		return c
	})
}

// migrate brings a schema to what a program knows.
func migrate(t *testing.T, program, owner string) {
	t.Helper()
	out, err := exec.CommandContext(t.Context(), program, "migrate", "up", "--database", owner).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	t.Logf("migrated: %s", out)
}

// asApp is a database's address for nodes.
func asApp(t *testing.T, owner string) string {
	t.Helper()
	address, err := url.Parse(owner)
	if err != nil {
		t.Fatal(err)
	}
	address.User = url.User(postgres.AppRole)
	return address.String()
}
