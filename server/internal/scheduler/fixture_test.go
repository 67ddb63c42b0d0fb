package scheduler_test

import (
	"testing"

	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/node"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	dol    = "outreach.dol_errors"
	people = "people.people_errors"
)

var epoch = node.Epoch

type database = node.Store

// world is a node without its own scheduler: tests make theirs.
type world struct{ *node.Node }

// everywhere runs a test on each store.
func everywhere(t *testing.T, test func(w *world)) {
	t.Helper()
	node.Everywhere(t, func(t *testing.T, db database) { test(&world{node.On(t, db)}) })
}

// jobs are the real ones.
func (w *world) jobs() []scheduler.Job {
	return scheduler.All(scheduler.Parts{Store: w.DB, Engine: w.Engine, Policy: w.Engine.Policies.Current, Jobs: gateZero(w.DB.SQL())})
}

// gateZero are the jobs of Gate Zero.
func gateZero(db sqldb.DB) []scheduler.Job {
	s := gatezero.NewStore(db)
	return gatezero.Jobs(s, func() policy.GateZero { return policy.Default().Gate })
}

// node is the clock of a node.
func (w *world) node(name string, jobs ...scheduler.Job) *scheduler.Clock {
	w.Helper()
	c, err := scheduler.New(scheduler.Options{
		Store: w.DB, Node: name, Now: w.Now, NotifyTo: func() string { return "platform-team" }, Jobs: jobs,
	})
	w.Must(err)
	return c
}

func (w *world) tick(c *scheduler.Clock) {
	w.Helper()
	w.Must(c.Tick(w.Context()))
}

// known returns what the store knows of a job.
func (w *world) known(name string) store.Job {
	w.Helper()
	list, err := w.DB.Jobs(w.Context())
	w.Must(err)
	for _, j := range list {
		if j.Name == name {
			return j
		}
	}
	return store.Job{}
}

// notices returns the kinds of notices that wait, oldest first.
func (w *world) notices() []wire.NoticeKind {
	w.Helper()
	list, err := w.DB.PendingNotices(w.Context(), sqldb.MaxPage)
	w.Must(err)
	kinds := make([]wire.NoticeKind, len(list))
	for i := range list {
		kinds[i] = list[i].Kind
	}
	return kinds
}
