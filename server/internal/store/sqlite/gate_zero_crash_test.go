package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// gateCrashFile names the file in which a child is to pass retries until it is
// killed.
const gateCrashFile = "RECOUP_GATE_CRASH_FILE"

// A process that passes retries is killed at a random moment, again and again:
// every pass has all of its five effects or none. RECOUP_SOAK=1 makes it two
// hundred times.
func TestGateCrash(t *testing.T) {
	if path := os.Getenv(gateCrashFile); path != "" {
		t.Fatal(conformance.GateVictim(t, openAt(t, path))) // it runs until it is killed
	}
	t.Parallel()
	rounds, passed := 3, 0
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	for range rounds {
		passed += gateCrash(t)
	}
	t.Logf("%d rounds, %d passes", rounds, passed)
}

func gateCrash(t *testing.T) int {
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
	return conformance.GateSurvived(t, s, journal)
}
