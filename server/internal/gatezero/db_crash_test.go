package gatezero_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero/gatezerotest"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// gateCrashURL is the database in which a child is to pass retries until it is
// killed.
const gateCrashURL = "RECOUP_GATE_CRASH_URL"

// The process that passes retries, or the server under it, is killed at a random
// moment, again and again: every pass has all of its five effects or none.
// RECOUP_SOAK=1 makes it two hundred times.
func TestGateCrashPostgres(t *testing.T) {
	if url := os.Getenv(gateCrashURL); url != "" {
		t.Fatal(gatezerotest.Victim(t, pgtest.OpenURL(t, url))) // it runs until somebody dies
	}
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	rounds, passed := 2, 0
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	strikes := []func(*os.Process) error{
		(*os.Process).Kill,
		func(child *os.Process) error { server.Abort(); return errors.Join(server.Restart(), endChild(child)) },
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { passed += gateCrashPostgres(t, server, strikes[i%len(strikes)]) })
	}
	t.Logf("%d rounds, %d passes", rounds, passed)
}

func gateCrashPostgres(t *testing.T, server *pgtest.Server, strike func(*os.Process) error) int {
	t.Helper()
	owner, app := server.Migrated(t)
	journal, err := conformance.Outlive(t, "TestGateCrashPostgres", gateCrashURL+"="+app, conformance.Moment(), strike)
	must(t, err)
	must(t, pgtest.Alone(t.Context(), owner))
	s, err := postgres.Open(t.Context(), app, postgres.Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	return gatezerotest.Survived(t, s, journal)
}

// gateCrashFile names the file in which a child is to pass retries until it is
// killed.
const gateCrashFile = "RECOUP_GATE_CRASH_FILE"

// A process that passes retries is killed at a random moment, again and again:
// every pass has all of its five effects or none. RECOUP_SOAK=1 makes it two
// hundred times.
func TestGateCrashSQLite(t *testing.T) {
	if path := os.Getenv(gateCrashFile); path != "" {
		t.Fatal(gatezerotest.Victim(t, openSQLite(t, path))) // it runs until it is killed
	}
	t.Parallel()
	rounds, passed := 3, 0
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	for range rounds {
		passed += gateCrashSQLite(t)
	}
	t.Logf("%d rounds, %d passes", rounds, passed)
}

func gateCrashSQLite(t *testing.T) int {
	path := filepath.Join(t.TempDir(), "recoup.db")
	journal, err := conformance.Outlive(t, t.Name(), gateCrashFile+"="+path, conformance.Moment(), (*os.Process).Kill)
	if err != nil {
		t.Fatal(err)
	}
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	return gatezerotest.Survived(t, s, journal)
}

// endChild kills a child that may have ended by itself.
func endChild(child *os.Process) error {
	if err := child.Kill(); !errors.Is(err, os.ErrProcessDone) {
		return err
	}
	return nil
}
