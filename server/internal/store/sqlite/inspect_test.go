package sqlite_test

import (
	"slices"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
)

// What the migrations make in memory is what a migrated file has.
func TestExpectedSchema(t *testing.T) {
	facts, err := sqlitetest.Open(t).Inspect(t.Context(), store.Inspection{})
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(facts.Present, facts.Expected) || len(facts.Expected) < 100 {
		t.Errorf("a migrated file has %d objects, and the migrations make %d", len(facts.Present), len(facts.Expected))
	}
	if len(facts.Unseen) > 0 || len(facts.Breaches) > 0 {
		t.Errorf("unseen %v, breaches %v", facts.Unseen, facts.Breaches)
	}
}
