package sqlite

import (
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
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
		page := sqldb.Page{Cursor: sqldb.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}}}
		return asked(func(v sqlops.Ops) { _, _, _ = v.Events(t.Context(), f, page) })
	}
	daily := func(f store.DailyFilter) string {
		return asked(func(v sqlops.Ops) { _, _ = v.Daily(t.Context(), f, time.Unix(0, 0), time.Unix(86400, 0)) })
	}
	uses := map[string]string{
		"of services": "error_aggregate_daily_service_idx (service=? AND day>? AND day<?)",
		"of codes":    "error_aggregate_daily_code_idx (code=? AND day>? AND day<?)",
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
		"daily":       daily(store.DailyFilter{}),
		"of services": daily(store.DailyFilter{Service: "s", Code: "C"}),
		"of codes":    daily(store.DailyFilter{Code: "C"}),
	} {
		t.Run(name, func(t *testing.T) {
			steps := planOf(t, s, text)
			if plan := strings.Join(steps, "\n"); !strings.Contains(plan, uses[name]) {
				t.Errorf("%s does not use %s", plan, uses[name])
			}
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") && !slices.Contains(eventWalks, step) || strings.Contains(step, "TEMP B-TREE FOR ORDER BY") {
					t.Errorf("%s\n%s", step, text)
				}
			}
		})
	}
}

// eventWalks are the scans that are right: of what was read already, and of nothing.
var eventWalks = []string{"SCAN d", "SCAN error_aggregate_delta", "SCAN CONSTANT ROW"}
