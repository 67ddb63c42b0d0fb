package adoption

import (
	"context"
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

// repairPatience is how long a repair of an adopted table tries to get a lock.
const repairPatience = time.Minute

// Repair repairs the login role of an adopted table, or makes its objects anew, on a
// connection of its own.
func Repair(ctx context.Context, s *postgres.Store, fix doctor.Fix, actor string, now func() time.Time) error {
	address, options := s.Address()
	session, err := define.Connect(ctx, address)
	if err != nil {
		return err
	}
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }()
	runner := &define.Runner{
		Conn: session.Conn, Adoption: options.Adoption, Actor: actor, Patience: repairPatience, SchemaOwner: options.SchemaOwner,
		Sleep: retry.Sleep, Random: rand.Float64, Now: now,
	}
	if fix.Act == repairRole {
		return runner.RepairRole(ctx, fix.On)
	}
	return runner.Remake(ctx, fix.On)
}
