package app

import (
	"cmp"
	"context"
	"errors"
	"log/slog"

	"github.com/recoup-dev/recoup/server/internal/alert"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/deadletter"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite"
)

// Store is what a node needs of a store: the roles of all its parts.
type Store interface {
	engine.Store
	ledger.Store
	api.Store
	scheduler.Store
	scheduler.Keeper
	deadletter.Store

	store.TableSyncer
	store.CodeRegistry
	store.EventFiler
	store.FirstKeyWriter
	store.SessionKeeper
	store.ChangeReader
	store.PolicyWriter
	store.PlatformKeyReader
	store.PlatformKeyWriter

	notify.Store
	store.OutboxGauge
	store.StagedGauge
	store.HeartbeatWriter
	store.QueueReader
	alert.Store

	store.Inspector
	store.SchemaRepairer

	store.Waker
	store.Clocked

	SQL() sqldb.DB
	Ping(ctx context.Context) error
	Close() error
}

var (
	_ Store = (*postgres.Store)(nil)
	_ Store = (*sqlite.Store)(nil)
)

// OpenStore opens a database and brings its schema up to date. On PostgreSQL the
// user of the address must be allowed to do that, unless it was done before by
// recoup migrate.
func OpenStore(ctx context.Context, address string, logger *slog.Logger) (Store, error) {
	return openStore(ctx, &Options{Database: address}, logger)
}

// openStore is [OpenStore] for options, which may name a direct address beside a
// pooler's: migrations go there.
func openStore(ctx context.Context, o *Options, logger *slog.Logger) (Store, error) {
	kind, rest, err := splitDatabase(o.Database)
	if err != nil {
		return nil, err
	}
	if kind == "sqlite" {
		s, err := sqlite.Open(ctx, rest, sqlite.Options{})
		if err != nil {
			return nil, err
		}
		return s, nil
	}
	options := postgres.Options{Direct: o.Direct, Adoption: o.Adoption, SchemaOwner: o.SchemaOwner}
	s, older := postgres.Open(ctx, rest, options)
	if !errors.Is(older, store.ErrSchemaOlder) {
		return opened(s, older, logger)
	}
	if o.Standby { // it changes nothing
		return nil, older
	}
	logger.Info("migrating the schema")
	var rights *postgres.RightsError
	switch err := postgres.Migrate(ctx, cmp.Or(o.Direct, rest)); {
	case errors.As(err, &rights): // it says what is missing
		return nil, err
	case errors.Is(err, postgres.ErrNotOwner): // the owner has to migrate
		return nil, older
	case err != nil:
		return nil, err
	}
	if taken, err := postgres.ReadTakenOver(ctx, cmp.Or(o.Direct, rest)); err != nil {
		return nil, err
	} else if taken != nil {
		logger.Warn(taken.String())
	}
	admins, err := postgres.RoleAdmins(ctx, cmp.Or(o.Direct, rest))
	if err != nil {
		return nil, err
	}
	for _, a := range admins {
		logger.Warn(a.String(), "fix", a.Revoke)
	}
	owner, err := postgres.ReadSchemaOwner(ctx, cmp.Or(o.Direct, rest))
	if err != nil {
		return nil, err
	}
	if owner.OneRole() {
		logger.Warn("one role: the user of --database may not create roles, so nodes connect as the owner of the schema; 'recoup doctor' lists what is weaker", "owner", owner.Name)
	}
	s, err = postgres.Open(ctx, rest, options)
	return opened(s, err, logger)
}

// opened keeps a nil store from becoming an interface that is not nil.
func opened(s *postgres.Store, err error, logger *slog.Logger) (Store, error) {
	if err != nil {
		return nil, err
	}
	if s.Polls() {
		logger.Info("database behind a pooler: polling for what other nodes commit; with --database-direct this node listens instead")
	}
	return s, nil
}
