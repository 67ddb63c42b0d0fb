package postgres_test

import (
	"errors"
	"fmt"
	"os"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// gateCrashURL is the database in which a child is to pass retries until it is
// killed.
const gateCrashURL = "RECOUP_GATE_CRASH_URL"

// The process that passes retries, or the server under it, is killed at a random
// moment, again and again: every pass has all of its five effects or none.
// RECOUP_SOAK=1 makes it two hundred times.
func TestGateCrash(t *testing.T) {
	if url := os.Getenv(gateCrashURL); url != "" {
		t.Fatal(conformance.GateVictim(t, open(t, url))) // it runs until somebody dies
	}
	t.Parallel()
	server := pgtest.Start(t, pgtest.Options{Durable: true})
	rounds, passed := 2, 0
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	strikes := []func(*os.Process) error{
		(*os.Process).Kill,
		func(child *os.Process) error { server.Abort(); return errors.Join(server.Restart(), end(child)) },
	}
	for i := range rounds {
		t.Run(fmt.Sprint(i+1), func(t *testing.T) { passed += gateCrash(t, server, strikes[i%len(strikes)]) })
	}
	t.Logf("%d rounds, %d passes", rounds, passed)
}

func gateCrash(t *testing.T, server *pgtest.Server, strike func(*os.Process) error) int {
	t.Helper()
	owner, app := server.Migrated(t)
	journal, err := conformance.Outlive(t, "TestGateCrash", gateCrashURL+"="+app, conformance.Moment(), strike)
	must(t, err)
	must(t, alone(t.Context(), owner))
	s, err := postgres.Open(t.Context(), app, postgres.Options{})
	must(t, err)
	defer func() { must(t, s.Close()) }()
	return conformance.GateSurvived(t, s, journal)
}
