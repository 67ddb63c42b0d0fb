package app

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// openSlice is a slice that a node has opened.
type openSlice struct {
	name   string
	routes httpapi.Set
	ids    map[recoup.IDKind]sqldb.Place
	slice.Running
}

// sliceCore is what the node offers to its slices, as far as it is put together.
func (n *Node) sliceCore(ids *recoup.IDSource) slice.Core {
	server, _ := n.store.(*postgres.Store)
	core := slice.Core{
		DB: n.store.SQL(), Engine: n.engine, DeadLetters: n.letters, Ledger: n.ledger, Audit: n.store, Batches: n.batches(), Files: n.store, Postgres: server, Cached: n.cached,
		Settings: n.o.Settings, IDs: ids, Now: n.o.Now, Jitter: jitter, Random: n.o.Random, Node: n.o.Node, Process: n.name, Secrets: n.vault, Standby: n.o.Standby, Logger: n.o.Logger,
	}
	if n.engine != nil {
		core.Policy = n.engine.Policies.Current
	}
	return core
}

// batches writes batches of events; nil: the store cannot.
func (n *Node) batches() store.EventBatchWriter {
	s, _ := n.store.(store.EventBatchWriter)
	return s
}

// openTransport opens what carries events to the ledger, if a slice has a transport.
func (n *Node) openTransport(ctx context.Context, ids *recoup.IDSource) error {
	for _, s := range n.o.Slices {
		if s.OpenTransport == nil {
			continue
		}
		opened, err := s.OpenTransport(ctx, n.sliceCore(ids))
		switch {
		case err != nil:
			return err
		case opened == nil:
			continue
		case n.transport != nil:
			opened.Close()
			return fmt.Errorf("%s: events have another transport already", s.Name)
		}
		n.transport = opened
	}
	return nil
}

// openSlices opens what the node has beside its core.
func (n *Node) openSlices(ctx context.Context, ids *recoup.IDSource) error {
	core := n.sliceCore(ids)
	for _, s := range n.o.Slices {
		if s.Open == nil {
			if len(s.Routes.Routes) > 0 {
				return fmt.Errorf("%s: a slice with routes must be opened, because their handlers need its service", s.Name)
			}
			continue
		}
		running, err := s.Open(ctx, core)
		if err != nil {
			return fmt.Errorf("%s: %w", s.Name, err)
		}
		n.slices = append(n.slices, openSlice{s.Name, s.Routes, s.IDs, running})
	}
	return nil
}

// sliceRoutes are the routes that slices add, each with the service that serves them.
func (n *Node) sliceRoutes() (list []api.Slice) {
	for _, s := range n.slices {
		if len(s.routes.Routes)+len(s.ids) > 0 {
			list = append(list, api.Slice{Service: s.Service, Set: s.routes, IDs: n.finders(s.ids)})
		}
	}
	return list
}

// finders find things of a slice by a part of their id.
func (n *Node) finders(places map[recoup.IDKind]sqldb.Place) map[recoup.IDKind]api.FindIDs {
	all := map[recoup.IDKind]api.FindIDs{}
	for kind, place := range places {
		all[kind] = func(ctx context.Context, part recoup.IDPart, limit int) ([]wire.FoundID, error) {
			return sqldb.FindIDs(ctx, n.store.SQL(), part, limit, place)
		}
	}
	return all
}

// sliceJobs are the jobs that slices add.
func (n *Node) sliceJobs() (list []scheduler.Job) {
	for _, s := range n.slices {
		list = append(list, s.Jobs...)
	}
	return list
}

// sliceFolds are the folds that slices add.
func (n *Node) sliceFolds() (list []func(context.Context) error) {
	for _, s := range n.slices {
		list = append(list, s.Folds...)
	}
	return list
}

// sliceLoops are the loops that slices add.
func (n *Node) sliceLoops() (list []slice.Loop) {
	for _, s := range n.slices {
		list = append(list, s.Loops...)
	}
	return list
}

// extend adds to a store what slices have to be a part of it.
func extend(s Store, with []slice.Slice) error {
	server, is := s.(*postgres.Store)
	for i := range with {
		if is && with[i].Extend != nil {
			if err := with[i].Extend(server); err != nil {
				return fmt.Errorf("%s: %w", with[i].Name, err)
			}
		}
	}
	return nil
}

// sliceSilent reports whether work of a slice comes without a notification.
func (n *Node) sliceSilent() bool {
	return slices.ContainsFunc(n.slices, func(s openSlice) bool { return s.Silent != nil && s.Silent() })
}

// sliceIdle does what slices do whenever an idle node looks.
func (n *Node) sliceIdle(ctx context.Context) (err error) {
	for _, s := range n.slices {
		if s.Idle != nil {
			err = errors.Join(err, s.Idle(ctx))
		}
	}
	return err
}

// sliceCollectors are the metrics that slices add.
func (n *Node) sliceCollectors() (list []prometheus.Collector) {
	for _, s := range n.slices {
		list = append(list, s.Collectors...)
	}
	return list
}

// checks are those of the doctor that slices make of what inspections find.
func checks(of []slice.Slice) (list []doctor.Check) {
	for i := range of {
		list = append(list, of[i].Checks...)
	}
	return list
}

// repair has a slice apply its fix.
func repair(ctx context.Context, s Store, with []slice.Slice, fix doctor.Fix, now func() time.Time) error {
	server, is := s.(*postgres.Store)
	i := slices.IndexFunc(with, func(s slice.Slice) bool { return s.Name == fix.Slice && s.Repair != nil })
	if !is || i < 0 {
		return fmt.Errorf("%s: the slice %s cannot fix anything here", fix.On, fix.Slice)
	}
	return with[i].Repair(ctx, server, fix, CommandLine, now)
}

// sliceChecks are the checks of the doctor that slices add.
func (n *Node) sliceChecks(ctx context.Context) (list []doctor.Check) {
	list = checks(n.o.Slices)
	for _, s := range n.slices {
		if s.Checks != nil {
			list = append(list, s.Checks(ctx)...)
		}
	}
	return list
}

// sliceSources are the sources of deliveries that slices add, by the kind of receiver.
func (n *Node) sliceSources() map[string]push.OpenSource {
	all := map[string]push.OpenSource{}
	for _, s := range n.slices {
		maps.Copy(all, s.Sources)
	}
	return all
}

// sections are the pages that slices add.
func (n *Node) sections() (list []console.Section) {
	for i := range n.o.Slices {
		list = append(list, n.o.Slices[i].Pages)
	}
	return list
}

// adopted returns what the API shows of adopted tables; nil: there are none.
func (n *Node) adopted() (list func(context.Context) ([]wire.Adoption, error), sources api.Sources) {
	for _, s := range n.slices {
		if service, has := s.Service.(interface {
			api.Sources
			List(ctx context.Context) ([]wire.Adoption, error)
		}); has {
			return service.List, service
		}
	}
	return nil, nil
}

// firstDue are the statements of slices that ask when something is due.
func (n *Node) firstDue() (list []string) {
	for i := range n.o.Slices {
		list = append(list, n.o.Slices[i].FirstDue...)
	}
	return list
}

// syncPolicies are what slices write of a policy.
func syncPolicies(of []slice.Slice) (list []store.SyncPolicy) {
	for i := range of {
		if of[i].SyncPolicy != nil {
			list = append(list, of[i].SyncPolicy)
		}
	}
	return list
}
