package api

import (
	"context"
	"errors"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
)

type status struct {
	Status   string   `json:"status" doc:"ready or overloaded"`
	Warnings []string `json:"warnings,omitempty" doc:"what an operator should know, and does not keep the node from serving"`
}

// health is that the process runs, and what it was built from.
type health struct {
	Status   string `json:"status" doc:"ok"`
	Version  string `json:"version" doc:"of the program" example:"v0.1.0"`
	Revision string `json:"revision,omitempty" doc:"the commit that it was built from"`
	Date     string `json:"date,omitempty" doc:"of that commit, as RFC 3339"`
}

func (a *API) healthy(*httpapi.Call, *struct{}) (health, error) {
	return health{"ok", a.Version, a.Revision, a.Date}, nil
}

// How readiness is found out: whoever asks is answered within the patience as long
// as the last answer is young, however busy the database is.
const (
	readyPatience = 50 * time.Millisecond
	readyLife     = 5 * time.Second
	readyTimeout  = 5 * time.Second // of a check
)

// readiness remembers what the last check came to, and shares the one that runs.
type readiness struct {
	check func(context.Context) error
	now   func() time.Time

	mu      sync.Mutex
	running chan struct{} // closed at its end; nil: none runs
	err     error         // of the last one
	at      time.Time
}

// ask returns what a check that ran since then came to, or if that takes too long
// what the last one did.
func (r *readiness) ask(ctx context.Context) error {
	done := r.start()
	timer := time.NewTimer(readyPatience)
	defer timer.Stop()
	select {
	case <-done:
		return r.last()
	case <-timer.C:
	}
	if r.young() {
		return nil
	}
	select {
	case <-done:
		return r.last()
	case <-ctx.Done():
		return ctx.Err()
	}
}

// start begins a check unless one runs.
func (r *readiness) start() <-chan struct{} {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.running != nil {
		return r.running
	}
	done := make(chan struct{})
	r.running = done
	go func() {
		ctx, cancel := context.WithTimeout(context.Background(), readyTimeout)
		defer cancel()
		err := r.check(ctx)
		r.mu.Lock()
		defer r.mu.Unlock()
		r.err, r.at, r.running = err, r.now(), nil
		close(done)
	}()
	return done
}

func (r *readiness) last() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// young reports whether the last check was good and lately.
func (r *readiness) young() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err == nil && !r.at.IsZero() && r.now().Sub(r.at) < readyLife
}

// unreachable names why the database does not answer: who looks at a node that is not
// ready must not have to look into its log for that.
func unreachable(err error) *fault.Error {
	said := fault.Wrap(err, fault.CodeDatabaseConnectionError, "The database does not answer.")
	if why, known := fault.Classify(err).Details["error_type"]; known {
		said = said.With("error_type", why)
	}
	return said
}

type readyIn struct {
	For string `query:"for" enum:"events" doc:"events: answer 200 as long as events can be taken, by the bus if there is one"`
}

// ready says whether the node can serve. One that turns requests away can, and says
// that it does.
func (a *API) ready(c *httpapi.Call, in *readyIn) (status, error) {
	carrier := a.Ledger.Transport()
	carried := in.For == "events" && carrier != nil && carrier.Up()
	if a.Ready != nil && !carried {
		err := a.readiness.ask(c.Context())
		if said, ok := errors.AsType[*fault.Error](err); ok {
			return status{}, httpapi.RetryLater(said)
		}
		if err != nil {
			return status{}, httpapi.RetryLater(unreachable(err))
		}
	}
	out := status{Status: "ready"}
	if a.Overloaded() {
		out.Status = "overloaded"
	}
	if a.Standby {
		out.Warnings = append(out.Warnings, standbyWarning)
	}
	if carrier != nil && !carrier.Up() {
		out.Warnings = append(out.Warnings, "the bus is away: events go to the database directly")
	}
	for _, n := range a.Registrar.NotAdopted() {
		out.Warnings = append(out.Warnings, n.Name+" is not adopted: "+n.Obstacle())
	}
	return out, nil
}

// standbyWarning is what a standby says of itself.
const standbyWarning = "this node is a standby: it answers reads, refuses changes, runs no jobs and sends nothing"
