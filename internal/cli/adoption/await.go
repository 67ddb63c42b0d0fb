package adoption

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/adopt"
	"recoup/internal/app"
	"recoup/internal/cli/command"
	"recoup/retry"
)

// settings reads the settings once the flags are parsed.
type settings = func() (app.Config, app.Options, error)

// lookEvery is how often a waiting command looks.
const lookEvery = 250 * time.Millisecond

// await watches nodes read the rows that are there, until all are governed. It can be
// interrupted: nodes go on without it. Without a node it does not wait.
func await(ctx context.Context, s *command.Session, conn *pgx.Conn, oid uint32, detach bool) (*adopt.Record, error) {
	advance, end := s.ShowProgress("rows")
	defer end()
	for {
		record, err := adopt.ReadRecord(ctx, conn, oid)
		if err != nil {
			return nil, err
		}
		if record == nil {
			return nil, errors.New("it was released meanwhile")
		}
		advance(int(record.Scanned), int(max(record.Rows, record.Scanned)))
		if record.State != recoup.AdoptionBackfilling || detach {
			return record, nil
		}
		alive, err := adopt.NodeAlive(ctx, conn)
		if err != nil {
			return nil, err
		}
		if !alive {
			s.Notef("No node is running, or none leads yet: once one does, it reads the rows that are there. Until then every change is noted and waits. recoup serve starts one.")
			return record, nil
		}
		if err := pause(ctx, s); err != nil {
			return nil, err
		}
	}
}

func pause(ctx context.Context, s *command.Session) error {
	sleep := s.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	return sleep(ctx, lookEvery)
}
