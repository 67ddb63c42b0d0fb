package app

import (
	"cmp"
	"context"
	"math/rand/v2"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/doctor"
)

// repairPatience is how long a repair of an adopted table tries to get a lock.
const repairPatience = time.Minute

// repairAdoption repairs the login role of an adopted table, or makes its objects anew, on a
// connection of its own.
func (d *Doctor) repairAdoption(ctx context.Context, r doctor.Fix) error {
	session, err := define.Connect(ctx, cmp.Or(d.o.Direct, d.o.Database))
	if err != nil {
		return err
	}
	defer func() { _ = session.Close(context.WithoutCancel(ctx)) }()
	runner := &define.Runner{
		Conn: session.Conn, Adoption: d.o.Adoption, Actor: CommandLine, Patience: repairPatience, SchemaOwner: d.o.SchemaOwner,
		Sleep: retry.Sleep, Random: rand.Float64, Now: d.o.clock(),
	}
	if r.Login != "" {
		return runner.RepairRole(ctx, r.Login)
	}
	return runner.Remake(ctx, r.Remake)
}
