package app

import (
	"context"
	"errors"
	"log/slog"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Offline is a database for a command of a slice that needs no server, such as the import
// of a large file. Nothing of a node runs meanwhile.
type Offline struct {
	// Core has the database, the audit, the files of events, the policy in force, settings, ids, clock and
	// logger. What only a node has is nil.
	Core slice.Core

	keys *Keys
}

// OpenOffline opens the database of the options. A file that does not exist is made.
func OpenOffline(ctx context.Context, o Options) (*Offline, error) {
	o = o.withDefaults()
	logger := slog.New(slog.DiscardHandler)
	s, err := openStore(ctx, &o, logger)
	if err != nil {
		return nil, err
	}
	if err := extend(s, o.Slices); err != nil {
		return nil, errors.Join(err, s.Close())
	}
	keys := &Keys{store: s, ids: recoup.NewIDSource(o.Random), random: o.Random, now: o.clock()}
	p, err := keys.policy(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return &Offline{keys: keys, Core: slice.Core{
		DB: s.SQL(), Audit: s, Files: s, Policy: func() *policy.Policy { return p }, Settings: o.Settings, IDs: keys.ids, Now: keys.now, Logger: logger,
	}}, nil
}

// Act is who acts on a database without a server.
func (o *Offline) Act(reason string) store.Act { return o.keys.act(reason) }

// Close closes the database.
func (o *Offline) Close() error { return o.keys.Close() }
