package sqlite

import (
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/internal/store"
)

// Questions about alerts and the outbox are answered from indexes that have the
// answer's order, too. What holds at the moment is little, and may be sorted.
func TestAlertPlans(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	page := store.Page{Cursor: store.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}}}
	alerts := func(f store.AlertFilter) string { text, _ := listAlerts(f, page); return text }
	notices := func(f store.NoticeFilter) string { text, _ := listNotices(f, page); return text }
	waiting := func(kind recoup.NoticeKind, ids ...recoup.ID) string { text, _ := waitingText(kind, ids); return text }
	for name, text := range map[string]string{
		"open":             selectOpenAlerts,
		"alerts":           alerts(store.AlertFilter{}),
		"alerts/rule":      alerts(store.AlertFilter{Rule: "r"}),
		"alerts/scope":     alerts(store.AlertFilter{Scope: "s"}),
		"alerts/firing":    alerts(store.AlertFilter{States: []store.AlertState{store.AlertFiring}, Rule: "r"}),
		"alerts/told":      alerts(store.AlertFilter{States: []store.AlertState{store.AlertResolved}, Rule: "r", Told: true}),
		"notices/page":     waiting(recoup.NoticePage, recoup.ID{1}, recoup.ID{2}),
		"notices/alert":    waiting(recoup.NoticeAlert),
		"alerts/purge":     purgeAlerts,
		"silences":         selectSilences,
		"notices":          notices(store.NoticeFilter{}),
		"notices/waiting":  notices(store.NoticeFilter{State: store.NoticeWaiting}),
		"notices/given up": notices(store.NoticeFilter{State: store.NoticeGivenUp, To: "x"}),
		"outbox":           selectOutboxLevels,
		"events":           recentEvents,
		"activity":         selectActivity,
		"silences/active":  selectActiveSilences,
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
			sorts := name == "events" || name == "activity" || name == "silences/active"
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") && !strings.Contains(step, "(") && !strings.Contains(step, "CONSTANT") &&
					!strings.Contains(step, "json_each") || strings.Contains(step, "TEMP B-TREE") && !sorts {
					t.Errorf("%s\n%s", step, text)
				}
			}
		})
	}
}
