package cli

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// settings reads the settings once the flags are parsed.
type settings = func() (config.Values, app.Options, error)

// lookEvery is how often a waiting command looks.
const lookEvery = 250 * time.Millisecond

// wakeful is how many looks an idle node has to wake and lead.
const wakeful = 12

// nodeRuns reports whether a node runs. While all nodes are idle none leads: they are woken first.
func nodeRuns(ctx context.Context, s *command.Session, conn *pgx.Conn) (bool, error) {
	alive, err := define.NodeAlive(ctx, conn)
	if err != nil || alive {
		return alive, err
	}
	if err := define.WakeNodes(ctx, conn); err != nil {
		return false, err
	}
	for range wakeful {
		if err := pause(ctx, s); err != nil {
			return false, err
		}
		if alive, err = define.NodeAlive(ctx, conn); err != nil || alive {
			return alive, err
		}
	}
	return false, nil
}

// await watches nodes read the rows that are there, until all are governed. It can be
// interrupted: nodes go on without it. Without a node it does not wait.
func await(ctx context.Context, s *command.Session, conn *pgx.Conn, oid uint32, detach bool) (*define.Record, error) {
	advance, end := s.ShowProgress("rows")
	defer end()
	for {
		record, err := define.ReadRecord(ctx, conn, oid)
		if err != nil {
			return nil, err
		}
		if record == nil {
			return nil, errors.New("it was released meanwhile")
		}
		advance(int(record.Scanned), int(max(record.Rows, record.Scanned)))
		if record.State != wire.AdoptionBackfilling {
			return record, nil
		}
		if detach {
			return record, define.WakeNodes(ctx, conn)
		}
		alive, err := nodeRuns(ctx, s, conn)
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
