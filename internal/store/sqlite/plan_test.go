package sqlite

import (
	"context"
	"slices"
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/verb"
)

// Every question is answered from an index that has the answer's order: no plan
// reads a whole table, and none sorts.
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
			for _, step := range steps {
				if slices.Contains(walks[name], step) {
					continue
				}
				if strings.HasPrefix(step, "SCAN") || strings.Contains(step, "TEMP B-TREE") {
					t.Errorf("%s\n%s", step, text)
				}
			}
		})
	}
}

// planOf returns the steps of a statement's plan.
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

// walks are the scans that are right: the first page of all errors walks the
// index from its end, rows to be admitted have an index that holds nothing else,
// a purge looks at the first rows of the history, with retention of one row, and what
// is archived of an entity is sorted by when its gate opened.
var walks = map[string][]string{
	"errors/all":       {"SCAN error USING INDEX error_created_idx"},
	"errors/resolved":  {"SCAN error USING INDEX error_resolved_idx", "USE TEMP B-TREE FOR ORDER BY"},
	"claim/lapsed":     {"SCAN json_each VIRTUAL TABLE INDEX 1:"},
	"unadmitted":       {"SCAN error USING INDEX error_admission_idx"},
	"gate":             {"USE TEMP B-TREE FOR ORDER BY"},
	"purge of history": {"SCAN retention", "SCAN transition", "SCAN (subquery-1)"},
}

// uses are the indexes that a plan must have where another one would do, badly.
var uses = map[string]string{
	"view":               "error_entity_idx",
	"view of an archive": "error_archive_entity_idx",
	"view of a table":    "error_list_idx",
	"errors/tier":        "error_tier_idx (table_name=? AND escalation_level=?)",
	"errors/code":        "error_list_idx (table_name=?)",
}

func plans() map[string]string {
	list := func(f store.Filter, tables ...string) string {
		l := listErrors(f, tables, statesOf(f))
		return l.text(100)
	}
	from := func(l *listing) string {
		l.after(store.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}})
		return l.text(100)
	}
	texts := map[string]string{
		"claim":                selectDue,
		"claim/lapsed":         selectLapsed,
		"errors/all":           list(store.Filter{}),
		"errors/from a cursor": from(listErrors(store.Filter{}, nil, statesOf(store.Filter{}))),
		"errors/table":         list(store.Filter{}, "a"),
		"errors/hub":           list(store.Filter{}, "a", "b", "c"),
		"errors/hub, cursor":   from(listErrors(store.Filter{}, []string{"a", "b"}, statesOf(store.Filter{}))),
		"errors/state":         list(store.Filter{State: recoup.Escalated}, "a", "b", "c"),
		"errors/resolved":      list(store.Filter{State: recoup.Resolved}, "a", "b", "c"),
		"errors/pending":       list(store.Filter{State: recoup.RetryPending}, "a", "b", "c"),
		"errors/parked":        list(store.Filter{Parked: new(true)}, "a", "b", "c"),
		"errors/not parked":    list(store.Filter{Parked: new(false)}, "a", "b", "c"),
		"errors/not blocking":  list(store.Filter{Blocking: new(false)}, "a"),
		"errors/tier":          list(store.Filter{Tier: 3, Parked: new(true)}, "a", "b", "c"),
		"errors/code":          list(store.Filter{Code: "C", State: recoup.Parked}, "a", "b", "c"),
		"errors/entity":        list(store.Filter{Entity: "e", Code: "C", Blocking: new(true)}, "a", "b"),
		"errors/times":         list(store.Filter{Before: time.Unix(2, 0), After: time.Unix(1, 0)}),
		"errors/table, times":  list(store.Filter{Before: time.Unix(2, 0), After: time.Unix(1, 0)}, "a"),
		"park queue":           listParked([]string{"a", "b", "c"}).text(100),
		"park queue, cursor":   from(listParked([]string{"a", "b", "c"})),
		"archived":             listArchived("a").text(100),
		"archived, cursor":     from(listArchived("a")),
		"blocking":             selectBlocking,
		"open key":             selectOpen,
		"one error":            selectAnywhere,
		"history":              selectHistory,
		"unadmitted":           selectUnadmitted,
		"notices":              asked(func(v verb.Verbs) { _, _ = v.PendingNotices(context.Background(), 5) }),
		"gate":                 selectGate,
		"purge of the archive": purgeArchive,
		"purge of history":     purgeHistory,
		"view": `select count(*) from "outreach.dol_errors" where outreach_id = ?
			and disposition in ('RETRY', 'PARKED') and archived_at is null`,
		"view of a table": `select count(*) from "outreach.dol_errors"`,
		"view of an archive": `select * from "outreach.dol_errors_archive"
			where outreach_id = ? order by archived_at`,
	}
	for deadline, text := range selectDeadline {
		texts["due/"+string(deadline)] = text
	}
	return texts
}
