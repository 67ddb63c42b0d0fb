package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// Every question is answered from an index that has the answer's order: no plan
// reads a whole table, and none sorts more than a page of each table, what is
// resolved, or what is archived of an entity.
func TestPlans(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	for name, text := range plans() {
		t.Run(name, func(t *testing.T) {
			steps := planOf(t, s, text)
			if plan := strings.Join(steps, "\n"); !strings.Contains(plan, uses[name]) {
				t.Errorf("%s does not use %s", plan, uses[name])
			}
			sorts := 0
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") && !slices.Contains(walks, step) {
					t.Errorf("%s\n%s", step, text)
				}
				if strings.Contains(step, "TEMP B-TREE") {
					sorts++
				}
			}
			if pages := strings.Contains(text, "error_table t ") || name == "errors/groups" || name == "errors/resolved" || name == "gate"; sorts > 1 || sorts > 0 && !pages {
				t.Errorf("sorts %d times\n%s\n%s", sorts, strings.Join(steps, "\n"), text)
			}
		})
	}
}

// planOf returns the nodes of a statement's plan.
func planOf(t *testing.T, s *Store, text string) []string {
	t.Helper()
	rows, err := s.read.Query(`explain query plan `+text, make([]any, 64)...)
	if err != nil {
		t.Fatal(err)
	}
	steps, err := collect(rows, func(step *string) []any { return []any{new(int), new(int), new(int), step} })
	if err != nil || len(steps) == 0 {
		t.Fatal(steps, err)
	}
	return steps
}

// walks are the scans that are right, of any statement: of the tables of the policy, of
// what was asked for, and of a page; rows to be admitted have an index that holds
// nothing else, as has what is resolved; and a purge looks at the first rows of the
// history, with retention of one row.
var walks = []string{
	"SCAN t", "SCAN e", "SCAN json_each VIRTUAL TABLE INDEX 1:", "SCAN e USING INDEX error_admission_idx",
	"SCAN error USING INDEX error_resolved_idx", "SCAN retention", "SCAN transition", "SCAN (subquery-1)",
}

// uses are the indexes that a plan must have where another one would do, badly.
var uses = map[string]string{
	"view":               "error_entity_idx",
	"view of an archive": "error_archive_entity_idx",
	"view of a table":    "error_list_idx",
	"errors/tier":        "error_tier_idx (table_name=? AND escalation_level=?)",
	"errors/groups":      "error_group_idx (group_id=?",
	"errors/code":        "error_code_idx (table_name=? AND code=?)",
}

func plans() map[string]string {
	ctx := context.Background()
	cursor := sqldb.Page{Cursor: sqldb.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}}}
	list := func(f store.Filter, tables ...string) string {
		f.Tables = tables
		return asked(func(v sqlops.Ops) { _, _, _ = v.Errors(ctx, f, sqldb.Page{}) })
	}
	from := func(f store.Filter, tables ...string) string {
		f.Tables = tables
		return asked(func(v sqlops.Ops) { _, _, _ = v.Errors(ctx, f, cursor) })
	}
	parked := func(p sqldb.Page, tables ...string) string {
		return asked(func(v sqlops.Ops) { _, _, _ = v.ParkQueue(ctx, tables, p) })
	}
	texts := map[string]string{
		"claim":                selectDue,
		"unclaimed":            selectUnclaimed,
		"claim/lapsed":         selectLapsed,
		"errors/all":           list(store.Filter{}),
		"errors/from a cursor": from(store.Filter{}),
		"errors/table":         list(store.Filter{}, "a"),
		"errors/hub":           list(store.Filter{}, "a", "b", "c"),
		"errors/hub, cursor":   from(store.Filter{}, "a", "b"),
		"errors/state":         list(store.Filter{State: recoup.Escalated}, "a", "b", "c"),
		"errors/resolved":      list(store.Filter{State: recoup.Resolved}, "a", "b", "c"),
		"errors/pending":       list(store.Filter{State: recoup.RetryPending}, "a", "b", "c"),
		"errors/parked":        list(store.Filter{Parked: new(true)}, "a", "b", "c"),
		"errors/not parked":    list(store.Filter{Parked: new(false)}, "a", "b", "c"),
		"errors/not blocking":  list(store.Filter{Blocking: new(false)}, "a"),
		"errors/tier":          list(store.Filter{Tier: 3, Parked: new(true)}, "a", "b", "c"),
		"errors/code":          list(store.Filter{Code: "C", State: recoup.Parked}, "a", "b", "c"),
		"errors/entity":        list(store.Filter{Entity: "e", Code: "C", Blocking: new(true)}, "a", "b"),
		"errors/groups":        list(store.Filter{Text: "x", Groups: []recoup.ID{{1}, {2}}, State: recoup.Parked}, "a", "b"),
		"errors/times":         list(store.Filter{Before: time.Unix(2, 0), After: time.Unix(1, 0)}),
		"errors/table, times":  list(store.Filter{Before: time.Unix(2, 0), After: time.Unix(1, 0)}, "a"),
		"park queue":           parked(sqldb.Page{}, "a", "b", "c"),
		"park queue, cursor":   parked(cursor),
		"archived":             asked(func(v sqlops.Ops) { _, _, _ = v.Archived(ctx, "a", sqldb.Page{}) }),
		"archived, cursor":     asked(func(v sqlops.Ops) { _, _, _ = v.Archived(ctx, "a", cursor) }),
		"blocking":             asked(func(v sqlops.Ops) { _, _, _ = v.Promote(ctx, store.Promotion{Entity: "e"}) }),
		"open key":             selectOpen,
		"one error":            asked(func(v sqlops.Ops) { _, _ = v.Error(ctx, recoup.ID{1}) }),
		"history":              asked(func(v sqlops.Ops) { _, _ = v.History(ctx, recoup.ID{1}, 5) }),
		"unadmitted":           asked(func(v sqlops.Ops) { _, _ = v.Unadmitted(ctx, 5) }),
		"notices":              asked(func(v sqlops.Ops) { _, _ = v.PendingNotices(ctx, 5) }),
		"gate":                 asked(func(v sqlops.Ops) { _, _ = v.GateLog(ctx, "e", 5) }),
		"entity":               asked(func(v sqlops.Ops) { _, _ = v.KnowsEntity(ctx, "e") }),
		"purge of the archive": purgeArchive,
		"purge of history":     purgeHistory,
		"view": `select count(*) from "outreach.dol_errors" where outreach_id = ?
			and disposition in ('RETRY', 'PARKED') and archived_at is null`,
		"view of a table": `select count(*) from "outreach.dol_errors"`,
		"view of an archive": `select * from "outreach.dol_errors_archive"
			where outreach_id = ? order by archived_at`,
	}
	for _, d := range []store.Deadline{store.DueExpiry, store.DueWindow, store.DueLapse, store.DueEscalation, store.DueReminder, store.DueResolved} {
		texts["due/"+string(d)] = asked(func(v sqlops.Ops) { _, _ = v.Due(ctx, d, time.Unix(1, 0), 0, 5) })
	}
	return texts
}
