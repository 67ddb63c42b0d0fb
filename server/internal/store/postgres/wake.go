package postgres

import (
	"context"
	"slices"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// wakeChannel is where the database says that there is something to look at.
	wakeChannel = "recoup"

	// A connection on which nothing is said is asked now and then whether it is
	// still there: one that a network has lost would be silent for ever.
	heartbeat         = 30 * time.Second
	heartbeatPatience = 10 * time.Second

	// The node's own commits are announced to the others at most this often.
	notifyPause = 50 * time.Millisecond

	// A connection that was lost is made again, after a pause that grows.
	firstPause = 100 * time.Millisecond
	lastPause  = 10 * time.Second
)

// wake wakes all who wait for a kind of thing, after the commit.
func (t *tx) wake(kind string) { t.woken = append(t.woken, kind) }

// notify sends NOTIFY to all nodes after this one's commits, until ctx ends. It is not
// part of those commits, which would have to wait for each other. What cannot be
// sent is lost: it is a hint, and whoever waits also polls.
func (s *Store) notify(ctx context.Context, l *store.Subscription) {
	defer l.Close()
	for {
		select {
		case <-l.Ready():
		case <-ctx.Done():
			return
		}
		_, _ = s.pool.Exec(ctx, "select pg_notify($1, kind) from unnest($2::text[]) kind", wakeChannel, l.Take())
		select {
		case <-time.After(notifyPause):
		case <-ctx.Done():
			return
		}
	}
}

// startNotifying starts notify and returns how to stop it.
func (s *Store) startNotifying() (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var done sync.WaitGroup
	l := s.notifier.Subscribe()
	done.Go(func() { s.notify(ctx, l) })
	return func() {
		cancel()
		done.Wait()
	}
}

// Listen calls wake whenever there is something of a kind to be looked at, until
// ctx ends. It has a connection of its own, and makes it again when it is lost;
// what was missed meanwhile is made up for by waking everybody. Behind a pooler
// and without a direct address it hears of this node's own commits alone: callers
// also poll.
func (s *Store) Listen(ctx context.Context, wake func(channel string)) error {
	if s.Polls() {
		return s.notifier.Listen(ctx, wake)
	}
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		heard := s.listen(ctx, wake)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if heard {
			pause = firstPause
		}
		s.rest.wait(ctx)
		select {
		case <-time.After(pause):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// listen listens on one connection until that is lost, and reports whether it
// could begin.
func (s *Store) listen(ctx context.Context, wake func(string)) bool {
	conn, err := pgx.ConnectConfig(ctx, s.hearing)
	if err != nil {
		return false
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	if _, err := conn.Exec(ctx, "listen "+wakeChannel); err != nil {
		return false
	}
	missed := store.Wakes()
	if s.rest.resting.Load() {
		missed = []string{store.WakeMissed}
	}
	for _, kind := range missed {
		wake(kind)
	}
	for {
		kind, err := s.hear(ctx, conn)
		if err != nil {
			return true
		}
		if slices.Contains(store.Wakes(), kind) {
			wake(kind)
		}
	}
}

// hear returns what is said next, or nothing if for a while nothing is. While the node rests
// the connection is not asked whether it is there: the node looks by itself.
func (s *Store) hear(ctx context.Context, conn *pgx.Conn) (string, error) {
	silence, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	said, err := conn.WaitForNotification(silence)
	if err == nil {
		return said.Payload, nil
	}
	if ctx.Err() != nil || silence.Err() == nil {
		return "", err
	}
	if s.rest.resting.Load() {
		return "", nil
	}
	patience, cancel := context.WithTimeout(ctx, heartbeatPatience)
	defer cancel()
	return "", conn.Ping(patience)
}
