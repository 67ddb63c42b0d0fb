package app

import (
	"context"
	"log/slog"
	"slices"
	"sync/atomic"

	"recoup"
	"recoup/internal/policy"
)

// tableNames knows what has the names of the policy's tables in the database. A name
// that is taken stops nothing: it is said, once, and made use of when it becomes free.
type tableNames struct {
	store  Store
	logger *slog.Logger
	known  atomic.Pointer[[]recoup.TableName] // as the last sync left them
}

// sync puts the tables of a policy into the database, and looks what has their names.
func (n *tableNames) sync(ctx context.Context, p *policy.Policy) error {
	if err := n.store.SyncTables(ctx, p); err != nil {
		return err
	}
	now, err := n.store.TableNames(ctx)
	if err != nil {
		return err
	}
	n.report(now)
	n.known.Store(&now)
	return nil
}

// follow syncs the tables again if something else has their names than before: what was
// in the way may be gone, or has come.
func (n *tableNames) follow(ctx context.Context, p *policy.Policy) error {
	now, err := n.store.TableNames(ctx)
	if err != nil || slices.Equal(now, *n.known.Load()) {
		return err
	}
	return n.sync(ctx, p)
}

// NotAdopted lists the names under which errors cannot be seen.
func (n *tableNames) NotAdopted() (list []recoup.TableName) {
	for _, name := range n.all() {
		if !name.Adopted() {
			list = append(list, name)
		}
	}
	return list
}

func (n *tableNames) all() []recoup.TableName {
	if known := n.known.Load(); known != nil {
		return *known
	}
	return nil
}

// report logs what has changed.
func (n *tableNames) report(now []recoup.TableName) {
	before := n.NotAdopted()
	for _, name := range now {
		if !name.Adopted() && !slices.Contains(before, name) {
			n.logger.Warn("table not adopted: "+name.Obstacle()+"; its errors are governed and kept, without a view of that name",
				"name", name.Name, "table", name.Table, "kind", name.Kind, "owner", name.Owner)
		}
	}
	for _, was := range before {
		if slices.ContainsFunc(now, func(is recoup.TableName) bool { return is.Name == was.Name && is.Adopted() }) {
			n.logger.Info("the name of a table is no longer taken", "name", was.Name, "table", was.Table)
		}
	}
}
