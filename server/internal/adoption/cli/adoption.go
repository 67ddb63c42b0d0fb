// Package cli has the commands 'recoup adopt', which puts an existing PostgreSQL table under
// the policy, and 'recoup adopt release', which undoes that.
package cli

import (
	"cmp"
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	adopt := adoptCommand(streams)
	adopt.AddCommand(releaseCommand(streams))
	return []*cobra.Command{adopt}
}

// patience is how long a step tries to get its lock.
const patience = 10 * time.Minute

// session is a connection to the database, with the rights of the user that the URL names.
type session struct {
	*define.Session
	owner string // of the schema recoup, if it was stated
}

// connect opens a connection of its own to the database. Where --database is a pooler's, it is the
// one behind it.
func connect(ctx context.Context, options app.Options) (*session, error) {
	s, err := define.Connect(ctx, cmp.Or(options.Direct, options.Database))
	if _, ok := errors.AsType[*pgconn.ParseConfigError](err); ok {
		return nil, command.UsageError{Err: err}
	}
	return &session{s, options.SchemaOwner}, err
}

// runner runs steps and says what happens, for people.
func runner(s *command.Session, conn *session, adoption string) *define.Runner {
	sleep := s.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	return &define.Runner{
		Conn: conn.Conn, Adoption: adoption, Actor: conn.Config().User, Patience: patience, Path: conn.Path, SchemaOwner: conn.owner,
		Sleep: sleep, Random: rand.Float64, Now: s.Clock, Report: reporter(s),
	}
}

// reporter prints a line for each step, and one when a step begins to wait.
func reporter(s *command.Session) func(define.Progress) {
	advance, end := s.ShowProgress("pages")
	waiting := ""
	return func(p define.Progress) {
		switch {
		case p.Of > 0:
			advance(int(p.Rows), int(p.Of))
			if p.Rows >= p.Of {
				end()
			}
		case p.Waits > 0 && waiting != p.Step:
			waiting = p.Step
			if p.Blocker == "" {
				p.Blocker = "somebody"
			}
			s.Notef("%s: waits for a lock held by %s", p.Step, p.Blocker)
		case p.Note != "":
			s.Notef("%s: %s", p.Step, p.Note)
		case p.Done:
			s.Notef("%s: done", p.Step)
		}
	}
}
