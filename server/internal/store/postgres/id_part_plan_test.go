package postgres_test

import (
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// TestIDPartPlans proves that a part of an id is found by an index: its end by one of the
// ends, its beginning by the key.
func TestIDPartPlans(t *testing.T) {
	t.Parallel()
	_, owner, _ := governed(t)
	for _, kind := range []recoup.IDKind{
		recoup.ErrorIDs, recoup.DeadLetterIDs, recoup.DeadLetterGroupIDs, recoup.ReplayIDs, recoup.OperationIDs, recoup.IntakeIDs,
		recoup.AlertIDs, recoup.SilenceIDs, recoup.NoticeIDs, recoup.KeyIDs,
	} {
		asked := postgres.PlannedIDParts(kind)
		if len(asked) == 0 {
			t.Errorf("%s are not looked for", kind)
		}
		for i, p := range asked {
			want := [2]string{"_id_end_idx", "_pkey"}[i%2]
			plan := outline(explain(prompt{t, owner.Conn}, p, "set local enable_seqscan = off"), "")
			if !strings.Contains(plan, want) || strings.Contains(plan, "Seq Scan") {
				t.Errorf("%s\n%s\n%s", kind, plan, p.SQL)
			}
		}
	}
}
