package sqlite

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
	"github.com/recoup-dev/recoup/server/internal/test/queryrecorder"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Questions about alerts and the outbox are answered from indexes that have the
// answer's order, too. What holds at the moment is little, and may be sorted.
func TestAlertPlans(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	page := sqldb.Page{Cursor: sqldb.Cursor{At: time.Unix(1, 0), ID: recoup.ID{1}}}
	day := store.Span{From: time.Unix(0, 0), To: time.Unix(86400, 0)}
	alerts := func(f store.AlertFilter) string {
		return asked(func(v sqlops.Ops) { _, _, _ = v.Alerts(t.Context(), f, page) })
	}
	notices := func(f wire.NoticeFilter) string {
		return asked(func(v sqlops.Ops) { _, _, _ = v.Notices(t.Context(), f, page) })
	}
	waiting := func(kind wire.NoticeKind, ids ...recoup.ID) string {
		return asked(func(v sqlops.Ops) { _, _ = v.WaitingNotices(t.Context(), kind, ids) })
	}
	silences := func(at time.Time) string {
		return asked(func(v sqlops.Ops) { _, _, _ = v.Silences(t.Context(), at, page) })
	}
	for name, text := range map[string]string{
		"open":             asked(func(v sqlops.Ops) { _, _ = v.OpenAlerts(t.Context()) }),
		"alerts":           alerts(store.AlertFilter{}),
		"alerts/rule":      alerts(store.AlertFilter{Rule: "r"}),
		"alerts/scope":     alerts(store.AlertFilter{Scope: "s"}),
		"alerts/firing":    alerts(store.AlertFilter{States: []wire.AlertState{wire.AlertFiring}, Rule: "r"}),
		"alerts/notified":  alerts(store.AlertFilter{States: []wire.AlertState{wire.AlertResolved}, Rule: "r", Notified: true}),
		"notices/page":     waiting(wire.NoticePaged, recoup.ID{1}, recoup.ID{2}),
		"notices/alert":    waiting(wire.NoticeAlert),
		"alerts/purge":     purgeAlerts,
		"silences":         silences(time.Time{}),
		"notices":          notices(wire.NoticeFilter{}),
		"notices/waiting":  notices(wire.NoticeFilter{State: wire.NoticeWaiting}),
		"notices/given up": notices(wire.NoticeFilter{State: wire.NoticeGivenUp, To: "x"}),
		"outbox":           asked(func(v sqlops.Ops) { _, _ = v.OutboxLevels(t.Context()) }),
		"events":           asked(func(v sqlops.Ops) { _, _ = v.RecentEvents(t.Context(), day, []recoup.Code{"C"}) }),
		"activity":         asked(func(v sqlops.Ops) { _, _ = v.Activity(t.Context(), day) }),
		"activity/hours":   asked(func(v sqlops.Ops) { _, _ = v.ActivityHours(t.Context(), []string{"a", "b"}, day) }),
		"silences/active":  silences(time.Unix(1, 0)),
	} {
		t.Run(name, func(t *testing.T) {
			steps := planOf(t, s, text)
			sorts := name == "events" || name == "activity" || name == "silences/active"
			for _, step := range steps {
				if strings.HasPrefix(step, "SCAN") && !strings.Contains(step, "USING") && !strings.Contains(step, "(") && !strings.Contains(step, "CONSTANT") &&
					!strings.Contains(step, "json_each") && !slices.Contains([]string{"SCAN w", "SCAN g", "SCAN a", "SCAN activity_delta"}, step) || strings.Contains(step, "TEMP B-TREE") && !sorts {
					t.Errorf("%s\n%s", step, text)
				}
			}
		})
	}
}

// asked returns the first question that a verb asks, as it is spelled here.
func asked(do func(sqlops.Ops)) string { return askedAs(0, do) }

// askedAs returns one of the statements of a verb.
func askedAs(n int, do func(sqlops.Ops)) string {
	return translateSQL(queryrecorder.Of(sqldb.SQLite, do)[n].SQL)
}
