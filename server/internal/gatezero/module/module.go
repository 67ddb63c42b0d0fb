// Package module registers Gate Zero.
package module

import (
	"context"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/gatezero/cli"
	"github.com/recoup-dev/recoup/server/internal/gatezero/web"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Slice is Gate Zero.
func Slice() slice.Slice {
	return slice.Slice{
		Name: "gatezero", Routes: web.Routes(), Pages: web.Pages(), Commands: cli.Commands, Receivers: []push.Kind{gatezero.Receivers()},
		IDs: gatezero.Places(), FirstDue: gatezero.FirstDue(), SyncPolicy: gatezero.SyncPolicy, CheckPolicy: gatezero.CheckPolicy,
		Jobs: func(db sqldb.DB) []scheduler.Job {
			return gatezero.Jobs(gatezero.NewStore(db), func() policy.GateZero { return policy.Default().Gate })
		},
		Open: open,
	}
}

// open makes the service, which goes by the policy in force.
func open(_ context.Context, core slice.Core) (slice.Running, error) {
	s, rules := gatezero.NewStore(core.DB), func() policy.GateZero { return core.Policy().Gate }
	service, err := gatezero.New(gatezero.Options{Store: s, Audit: core.Audit, Gate: rules, Now: core.Now, IDs: core.IDs})
	if err != nil {
		return slice.Running{}, err
	}
	r := slice.Running{
		Service:    service,
		Jobs:       gatezero.Jobs(s, rules),
		Folds:      []func(context.Context) error{s.FoldBatchCounts},
		Collectors: []prometheus.Collector{gatezero.Collector(s)},
		Sources:    map[string]push.OpenSource{gatezero.ReceiverKind: gatezero.Deliver(service, httpapi.Read)},
		Demo: func(ctx context.Context, past func(func() time.Time) func()) error {
			return gatezero.AddSamples(ctx, gatezero.Options{Store: s, Audit: core.Audit, Gate: rules, Now: core.Now, IDs: core.IDs}, past)
		},
	}
	if s.TakesOver() {
		r.Loops = append(r.Loops, slice.Loop{Name: "rows taken over", Every: time.Second, Run: redactTakenOver(s, core)})
	}
	return r, nil
}

// redactTakenOver redacts the text of rows that were taken over. It begins again after a
// failure, and does nothing once it is through.
func redactTakenOver(s gatezero.Redactor, core slice.Core) func(context.Context) error {
	through := false
	return func(ctx context.Context) error {
		if through {
			return nil
		}
		done, err := gatezero.RedactTakenOver(ctx, s)
		if done.Read > 0 {
			core.Logger.Info("looked for secrets in the Gate Zero rows that were taken over", "rows", done.Read, "redacted", done.Redacted)
		}
		through = err == nil
		return err
	}
}
