package sqlite

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Every list of events is read from an index that has its order, and counts and
// purges look only at the time they are about.
func TestEventPlans(t *testing.T) {
	t.Parallel()
	s, err := Open(t.Context(), filepath.Join(t.TempDir(), "recoup.db"), Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	list := func(f store.EventFilter) string {
		text, _ := listEvents(f, store.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}}, 100)
		return text
	}
	for name, text := range map[string]string{
		"all":         list(store.EventFilter{}),
		"times":       list(store.EventFilter{From: time.Unix(1, 0), To: time.Unix(2, 0)}),
		"service":     list(store.EventFilter{Service: "s", Code: "C"}),
		"code":        list(store.EventFilter{Code: "C", To: time.Unix(2, 0)}),
		"correlation": list(store.EventFilter{Correlation: recoup.ID{1}, Service: "s"}),
		"drop":        dropEvents,
		"hours":       purgeHours,
		"days":        purgeDays,
	} {
		t.Run(name, func(t *testing.T) {
			rows, err := s.read.Query(`explain query plan `+text, make([]any, 16)...)
			if err != nil {
				t.Fatal(err)
			}
			steps, err := collect(rows, func(step *string) []any { return []any{new(int), new(int), new(int), step} })
			if err != nil || len(steps) == 0 {
				t.Fatal(steps, err)
			}
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE FOR ORDER BY") {
					t.Errorf("%s\n%s", step, text)
				}
			}
		})
	}
}
