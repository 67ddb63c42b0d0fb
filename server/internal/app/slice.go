package app

import (
	"context"
	"fmt"
	"maps"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// openSlice is a slice that a node has opened.
type openSlice struct {
	name   string
	routes httpapi.Set
	slice.Running
}

// sliceCore is what the node offers to its slices, as far as it is put together.
func (n *Node) sliceCore(ids *recoup.IDSource) slice.Core {
	core := slice.Core{
		Engine: n.engine, DeadLetters: n.letters, Ledger: n.ledger, Audit: n.store, Batches: n.batches(),
		Settings: n.o.Settings, IDs: ids, Now: n.o.Now, Jitter: jitter, Node: n.o.Node, Standby: n.o.Standby, Logger: n.o.Logger,
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

// openSlices opens what the node has beside its core. Gate Zero and the archive
// are made by the node itself; what they add is registered as that of the others.
func (n *Node) openSlices(ctx context.Context, ids *recoup.IDSource) error {
	n.slices = []openSlice{
		{name: "gate zero", Running: n.gateZeroSlice()},
		{name: "archive", Running: n.archiveSlice()},
	}
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
		n.slices = append(n.slices, openSlice{s.Name, s.Routes, running})
	}
	return nil
}

// gateZeroSlice is what Gate Zero adds.
func (n *Node) gateZeroSlice() slice.Running {
	r := slice.Running{
		Jobs:       gatezero.Jobs(n.store, n.gateRules),
		Collectors: []prometheus.Collector{gatezero.Collector(n.store)},
		Sources:    map[string]push.OpenSource{gatezero.ReceiverKind: gatezero.Deliver(n.gateZero, httpapi.Read)},
	}
	if s, can := n.store.(store.TakenOverRedactor); can {
		r.Loops = append(r.Loops, slice.Loop{Name: "rows taken over", Every: time.Second, Run: n.redactTakenOver(s)})
	}
	return r
}

// archiveSlice is what filing adds.
func (n *Node) archiveSlice() (r slice.Running) {
	if n.archiver != nil {
		r.Jobs = n.archiver.jobs()
	}
	return r
}

// sliceRoutes are the routes that slices add, each with the service that serves them.
func (n *Node) sliceRoutes() (list []api.Slice) {
	for _, s := range n.slices {
		if len(s.routes.Routes) > 0 {
			list = append(list, api.Slice{Service: s.Service, Set: s.routes})
		}
	}
	return list
}

// sliceJobs are the jobs that slices add.
func (n *Node) sliceJobs() (list []scheduler.Job) {
	for _, s := range n.slices {
		list = append(list, s.Jobs...)
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

// sliceCollectors are the metrics that slices add.
func (n *Node) sliceCollectors() (list []prometheus.Collector) {
	for _, s := range n.slices {
		list = append(list, s.Collectors...)
	}
	return list
}

// sliceChecks are the checks of the doctor that slices add.
func (n *Node) sliceChecks(ctx context.Context) (list []doctor.Check) {
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
func (n *Node) sections() []console.Section {
	list := []console.Section{console.GateZero()}
	for i := range n.o.Slices {
		list = append(list, n.o.Slices[i].Pages)
	}
	return list
}
