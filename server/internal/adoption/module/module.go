// Package module registers adopted tables with the program.
package module

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/cli"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/slice"
)

// Slice governs existing tables where they are. Nodes on an embedded file have none.
func Slice() slice.Slice {
	return slice.Slice{
		Name: "adoptions", Commands: cli.Commands, Secrets: []string{adoption.KeyPurpose},
		Checks: []doctor.Check{adoption.Check()}, Repair: adoption.Repair, Extend: adoption.Extend, FirstDue: adoption.FirstDue(), Open: open,
	}
}

// every is how often a node that is awake looks for changes.
const every = 300 * time.Millisecond

func open(_ context.Context, core slice.Core) (slice.Running, error) {
	if core.Postgres == nil {
		return slice.Running{}, nil
	}
	db, err := adoption.Open(core.Postgres)
	if err != nil {
		return slice.Running{}, err
	}
	service, err := adoption.New(adoption.Options{
		Store: db, Engine: core.Engine, Key: adoption.FirstKey(core.Secrets, core.Random, core.Now), Letters: core.DeadLetters,
		Node: core.Process, Now: core.Now, Logger: core.Logger,
	})
	if err != nil {
		return slice.Running{}, err
	}
	return slice.Running{
		Service:    service,
		Loops:      []slice.Loop{{Name: "adoptions", Every: every, Run: service.Run}},
		PlanPolicy: service.PlanPolicy, ApplyPolicy: service.ApplyPolicy,
		Idle:       service.Run,
		Silent:     service.Silent,
		Collectors: []prometheus.Collector{core.Cached(service.Figures)},
		Close:      service.Close,
	}, nil
}
