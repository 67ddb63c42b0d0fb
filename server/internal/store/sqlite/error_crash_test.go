package sqlite_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// crashFile names the file that a child is to write to until it is killed.
const crashFile = "RECOUP_CRASH_FILE"

// A process that writes is killed at a random moment, again and again. Whatever
// was acknowledged to it is there, and nothing is half done. RECOUP_SOAK=1
// makes it two hundred times.
func TestCrash(t *testing.T) {
	if path := os.Getenv(crashFile); path != "" {
		t.Fatal(conformance.Victim(t, openAt(t, path))) // it runs until it is killed
	}
	t.Parallel()
	rounds := tier.Count(5, 20)
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	total := 0
	for range rounds {
		total += crash(t)
	}
	t.Logf("%d rounds, %d errors", rounds, total)
}

// crash lets a child write to a file, on a disk, until it is killed, and opens
// the file as the next process does.
func crash(t *testing.T) int {
	path := filepath.Join(t.TempDir(), "recoup.db")
	journal, err := conformance.Outlive(t, t.Name(), crashFile+"="+path, conformance.Moment(), (*os.Process).Kill)
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
	errors := conformance.Survived(t, s, journal)
	raw := opened{s, t, path}.raw()
	for _, rule := range crashRules {
		var broken int
		if err := raw.QueryRow(rule).Scan(&broken); err != nil || broken != 0 {
			t.Errorf("%d times broken (%v): %s", broken, err, rule)
		}
	}
	return errors
}

// crashRules count what must never be seen in a file, whenever the power fails,
// and what the store's own verbs do not show.
var crashRules = []string{
	`select count(*) from pragma_integrity_check where integrity_check <> 'ok'`,
	`select count(*) from pragma_foreign_key_check`,
	// In both places.
	`select count(*) from error join error_archive using (error_id)`,
	// History of nothing.
	`select count(*) from error_history h where not exists (select 1 from error e where e.error_id = h.error_id)
		and not exists (select 1 from error_archive a where a.error_id = h.error_id)`,
	// Blocking and not in the gate's log, or the other way round.
	`select count(*) from (select error_id, blocking from error union all select error_id, blocking from error_archive)
		left join (select error_id, blocks, max(seq) from gate_log group by error_id) using (error_id)
		where blocking <> coalesce(blocks, 0)`,
	// A purge that is still open.
	`select count(*) from retention where archive_until is not null or history_until is not null`,
}
