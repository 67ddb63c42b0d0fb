package alert_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// slow is the store of an evaluation that another overtakes when it has read what is open.
type slow struct {
	alert.Store
	meanwhile func()
}

func (s *slow) OpenAlerts(ctx context.Context) ([]wire.Alert, error) {
	open, err := s.Store.OpenAlerts(ctx)
	if s.meanwhile != nil {
		meanwhile := s.meanwhile
		s.meanwhile = nil
		meanwhile()
	}
	return open, err
}

// Two evaluations at the same time, the leader's own and one that a person asks for, both
// succeed: the second finds what the first has done.
func TestEvaluationsAtTheSameTime(t *testing.T) {
	node.Everywhere(t, func(t *testing.T, db node.Store) {
		n := node.On(t, db)
		term, _, err := db.Lead(t.Context(), store.Bid{Name: "clockwork", Node: "n1", Now: n.Now(), Tenure: 24 * time.Hour})
		n.Must(err)
		for i := range 101 {
			n.Report(recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprint("CO-", i), Code: "VALIDATION_ERROR"})
		}
		second := *n.Alerts
		late := &slow{Store: db}
		second.Store = late
		for _, phase := range []string{"it begins", "it is repeated"} {
			late.meanwhile = func() {
				if changed, err := n.Alerts.Run(t.Context(), term); err != nil || changed == 0 {
					t.Errorf("%s, the first: %d, %v", phase, changed, err)
				}
			}
			if _, err := second.Run(t.Context(), term); err != nil {
				t.Errorf("%s, the second: %v", phase, err)
			}
			n.Wait(5 * time.Hour)
		}
	})
}
