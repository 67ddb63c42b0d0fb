package app

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// tableNames knows what has the names of the policy's tables in the database. A name
// that is taken stops nothing: it is said, once, and made use of when it becomes free.
type tableNames struct {
	store    Store
	also     []store.SyncPolicy // of slices
	logger   *slog.Logger
	known    atomic.Pointer[[]wire.TableName] // as the last sync left them
	deferred bool                             // the last sync did not get its locks
}

// sync puts the tables of a policy into the database, and looks what has their names. If
// another session holds a lock, and the database has the tables already, follow syncs them
// later.
func (n *tableNames) sync(ctx context.Context, p *policy.Policy) error {
	err := n.store.SyncTables(ctx, p, n.also...)
	deferred := errors.Is(err, store.ErrSyncDeferred)
	if err != nil && !deferred {
		return err
	}
	if deferred && !n.deferred {
		n.logger.Warn("tables not synced; this will be retried", "cause", err)
	}
	n.deferred = deferred
	now, err := n.store.TableNames(ctx)
	if err != nil {
		return err
	}
	n.report(now)
	n.known.Store(&now)
	return nil
}

// follow syncs the tables again if something else has their names than before: what was
// in the way may be gone, or has come. It also does so if the last sync met a lock.
func (n *tableNames) follow(ctx context.Context, p *policy.Policy) error {
	now, err := n.store.TableNames(ctx)
	if err != nil || slices.Equal(now, *n.known.Load()) && !n.deferred && !slices.ContainsFunc(now, isLocked) {
		return err
	}
	return n.sync(ctx, p)
}

func isLocked(name wire.TableName) bool { return name.Kind == wire.KindLocked }

// NotAdopted lists the names under which errors cannot be seen.
func (n *tableNames) NotAdopted() (list []wire.TableName) {
	for _, name := range n.all() {
		if !name.Adopted() {
			list = append(list, name)
		}
	}
	return list
}

func (n *tableNames) all() []wire.TableName {
	if known := n.known.Load(); known != nil {
		return *known
	}
	return nil
}

// report logs what has changed.
func (n *tableNames) report(now []wire.TableName) {
	n.reportLocked(now)
	before := n.NotAdopted()
	for _, name := range now {
		if isLocked(name) {
			continue
		}
		if !name.Adopted() && !slices.Contains(before, name) {
			n.logger.Warn("table not adopted: "+name.Obstacle()+"; its errors are governed and kept, without a view of that name",
				"name", name.Name, "table", name.Table, "kind", name.Kind, "owner", name.Owner)
		}
	}
	for _, was := range before {
		if slices.ContainsFunc(now, func(is wire.TableName) bool { return is.Name == was.Name && is.Adopted() }) {
			n.logger.Info("the name of a table is no longer taken", "name", was.Name, "table", was.Table)
		}
	}
}

// reportLocked logs which views are locked that were not before, and which are renewed.
func (n *tableNames) reportLocked(now []wire.TableName) {
	before := n.all()
	for _, name := range now {
		was := slices.ContainsFunc(before, func(b wire.TableName) bool { return b.Name == name.Name && isLocked(b) })
		switch {
		case isLocked(name) && !was:
			n.logger.Warn("view not renewed: another session holds a lock; this will be retried", "name", name.Name, "table", name.Table)
		case was && name.Adopted() && !isLocked(name):
			n.logger.Info("view renewed", "name", name.Name, "table", name.Table)
		}
	}
}
