package postgres_test

import (
	"slices"
	"strings"
	"testing"

	"recoup/internal/store"
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
		golden.Equal(t, "schema.manifest", manifest(facts.Present))
	}
}

// manifest writes objects as the manifest has them.
func manifest(objects []store.Object) string {
	var text strings.Builder
	for _, o := range slices.SortedFunc(slices.Values(objects), func(a, b store.Object) int {
		return strings.Compare(a.Kind+"\t"+a.Name, b.Kind+"\t"+b.Name)
	}) {
		text.WriteString(o.Kind + "\t" + o.Name + "\t" + o.Definition + "\n")
	}
	return text.String()
}
