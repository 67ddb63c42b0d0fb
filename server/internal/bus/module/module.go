// Package module registers the bus.
package module

import (
	"context"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/cli"
	"github.com/recoup-dev/recoup/server/internal/bus/web"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Slice is the bus, which carries events to the ledger if the setting bus is set.
func Slice() slice.Slice {
	return slice.Slice{
		Name: "bus", Routes: web.Routes(), Pages: web.Section(), Commands: cli.Commands,
		Settings: bus.Settings(), CheckSettings: bus.CheckSettings, OpenTransport: connect, Open: open,
	}
}

// connect connects to the bus, if there is one.
func connect(ctx context.Context, core slice.Core) (ledger.Transport, error) {
	if core.Settings.Get("bus") == "" {
		return nil, nil //nolint:nilnil // a node without a bus has no transport
	}
	if core.Standby {
		core.Logger.Warn("a standby ignores --bus: messages are for the nodes of the production database")
		return nil, nil //nolint:nilnil // as above
	}
	if core.Batches == nil {
		return nil, bus.ErrNeedsPostgres
	}
	if err := bus.CheckSettings(core.Settings); err != nil {
		return nil, err
	}
	o, err := bus.ReadOptions(core.Settings)
	if err != nil {
		return nil, err
	}
	o.Name, o.Logger = core.Node, core.Logger
	b, err := bus.Open(ctx, o)
	if err != nil {
		return nil, err // not a transport that is nil
	}
	return b, nil
}

// open makes the service of the bus, also on a node that has none: its routes say so.
func open(_ context.Context, core slice.Core) (slice.Running, error) {
	b, _ := core.Ledger.Transport().(*bus.Conn)
	s := bus.NewService(bus.ServiceOptions{Bus: b, Batches: core.Batches, DB: core.DB, Ledger: core.Ledger, Audit: core.Audit, Now: core.Now, Jitter: core.Jitter, Logger: core.Logger})
	r := slice.Running{
		Service: s,
		Checks:  func(ctx context.Context) []doctor.Check { return []doctor.Check{s.Check(ctx)} },
	}
	if b != nil {
		r.Jobs = s.Jobs()
		r.Background = []func(context.Context){s.Run}
		r.Collectors = []prometheus.Collector{slice.Cached(core.Now, s.Metrics)}
	}
	return r, nil
}
