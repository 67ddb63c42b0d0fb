package gatezerotest

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Filler leaves no table of Gate Zero empty.
func Filler() conformance.Filler {
	return conformance.Filler{
		Fill: func(t conformance.TB, s conformance.Whole) {
			for _, try := range []func(*gateDriver){gateKill, gateTurns} {
				try(newGateDriver(t, s))
			}
		},
		Snapshot: func(ctx context.Context, db conformance.Whole, put func(of string, got any, err error)) {
			s := gatezero.NewStore(db.SQL())
			batches, _, err := s.Batches(ctx, gatezero.BatchCursor{}, 100)
			put("batches", batches, err)
			intakes, _, err := s.Intakes(ctx, recoup.IntakeFilter{}, sqldb.Page{Limit: sqldb.MaxPage})
			put("intakes", intakes, err)
			for i := range intakes {
				air, err := s.Timeline(ctx, intakes[i].ID, 100)
				put("timeline", air, err)
			}
			figures, err := s.GateFigures(ctx)
			put("gate figures", figures, err)
		},
	}
}
