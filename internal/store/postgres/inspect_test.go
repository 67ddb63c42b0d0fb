package postgres_test

import (
	"testing"

	"recoup/internal/store"
	"recoup/internal/store/postgres"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/golden"
)

// The manifest, by which a schema is known to have drifted, is what the migrations make:
// after a change of theirs it is rewritten with -update.
func TestManifest(t *testing.T) {
	owner, app := pgtest.Migrated(t)
	pgtest.HoldToClock(t, owner)
	for _, url := range []string{owner, app} {
		facts, err := pgtest.OpenURL(t, url).Inspect(t.Context(), store.Inspection{})
		if err != nil {
			t.Fatal(err)
		}
		if len(facts.Unseen) > 0 {
			t.Errorf("not all could be seen: %v", facts.Unseen)
		}
		golden.Equal(t, "schema.manifest", postgres.Manifest(facts.Present))
	}
}
