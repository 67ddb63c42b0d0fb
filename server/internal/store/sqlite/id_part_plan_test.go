package sqlite

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
	"github.com/recoup-dev/recoup/server/internal/test/queryrecorder"
)

// TestIDPartPlans proves that a part of an id is found by an index: its end by one of the
// ends, its beginning by the key.
func TestIDPartPlans(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	for _, kind := range []recoup.IDKind{
		recoup.ErrorIDs, recoup.DeadLetterIDs, recoup.DeadLetterGroupIDs, recoup.ReplayIDs, recoup.OperationIDs, recoup.IntakeIDs,
		recoup.AlertIDs, recoup.SilenceIDs, recoup.NoticeIDs, recoup.KeyIDs,
	} {
		find := func(v sqlops.Ops) { _, _ = v.FindIDs(t.Context(), kind, "abcdef", 10) }
		if place, ok := gatezero.Places()[kind]; ok {
			find = func(v sqlops.Ops) { _, _ = sqldb.FindIDs(t.Context(), v.SQL(), "abcdef", 10, place) }
		}
		asked := queryrecorder.Of(sqldb.SQLite, find)
		if len(asked) == 0 {
			t.Errorf("%s are not looked for", kind)
		}
		for i, q := range asked {
			want := [2]string{"_id_end_idx (<expr>=?)", "_id>? AND "}[i%2]
			if plan := strings.Join(planOf(t, s, translateSQL(q.SQL)), "\n"); !strings.Contains(plan, want) || strings.Contains(plan, "SCAN") || strings.Contains(plan, "TEMP B-TREE") {
				t.Errorf("%s: %s\n%s", kind, plan, q.SQL)
			}
		}
	}
}
