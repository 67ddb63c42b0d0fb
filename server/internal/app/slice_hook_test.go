package app_test

import (
	"context"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// hooked is a slice that keeps the version of the policy, refuses one, and shows samples.
type hooked struct {
	synced, refused atomic.Pointer[string]
	folded, showed  atomic.Int64
}

func (h *hooked) slice() slice.Slice {
	return slice.Slice{
		Name: "hooked",
		SyncPolicy: func(tx sqldb.Tx, p *policy.Policy) error {
			h.synced.Store(&p.Version)
			return tx.Do("select 1")
		},
		CheckPolicy: func(ctx context.Context, db sqldb.Reader, p *policy.Policy) error {
			if _, err := sqldb.Rows(ctx, db, sqldb.NewQuery("look", "select 1"), sqldb.Fields(func(n *int) []any { return []any{n} })...); err != nil {
				return err
			}
			h.refused.Store(&p.Version)
			return fault.New(fault.CodeBusinessRuleViolation, "The samples need the old policy.")
		},
		Open: func(_ context.Context, core slice.Core) (slice.Running, error) {
			return slice.Running{
				Folds: []func(context.Context) error{func(context.Context) error { h.folded.Add(1); return nil }},
				Demo: func(ctx context.Context, past func(func() time.Time) func()) error {
					then := core.Now().Add(-time.Hour)
					defer past(func() time.Time { return then })()
					return core.DB.Act(ctx, "show", time.Time{}, func(tx sqldb.Tx) error {
						if err := tx.Lock(sqldb.NewQuery("", "select 1"), sqldb.Into(new([]int), sqldb.Fields(func(n *int) []any { return []any{n} }))); err != nil {
							return err
						}
						if tx.Now().Equal(then) {
							h.showed.Add(1)
						}
						return nil
					})
				},
			}, nil
		},
	}
}

// TestSliceHooks proves that a slice takes part in the start of a node, in a change of the
// policy, in the sample data of a demo and in the job counts.
func TestSliceHooks(t *testing.T) {
	t.Parallel()
	var h hooked
	o := app.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), Demo: true, Slices: []slice.Slice{h.slice()}}
	n := live.Start(t, o, (*app.Node).AddSamples)
	if v := h.synced.Load(); v == nil || *v != policy.Default().Version {
		t.Error("the policy of the start was not synced")
	}
	if h.showed.Load() != 1 {
		t.Error("the sample data was not added in the past")
	}
	ctx, c := t.Context(), admin.New(n.Client())
	if _, err := c.Jobs.Run(ctx, "counts", wire.JobRunRequest{Reason: "test"}); err != nil || h.folded.Load() == 0 {
		t.Errorf("the counts were folded %d times, %v", h.folded.Load(), err)
	}
	next := strings.Replace(string(policy.DefaultFile()), "version: "+policy.Default().Version, "version: 99", 1)
	if _, err := c.Policy.Apply(ctx, wire.PolicyChange{Text: next}); err == nil || !strings.Contains(err.Error(), "The samples need the old policy.") {
		t.Errorf("the policy is answered with %v", err)
	}
	if v := h.refused.Load(); v == nil || *v != "99" || *h.synced.Load() == "99" {
		t.Error("the refused policy was synced, or was not checked")
	}
}

// TestOffline proves that a command gets what a slice needs of a database without a node.
func TestOffline(t *testing.T) {
	t.Parallel()
	o, err := app.OpenOffline(t.Context(), app.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "new.db")})
	if err != nil {
		t.Fatal(err)
	}
	core := o.Core
	if core.DB == nil || core.Audit == nil || core.Policy().Version != policy.Default().Version || core.IDs == nil || core.Now == nil || core.Logger == nil {
		t.Errorf("the core is incomplete: %+v", core)
	}
	if act := o.Act("import"); act.By != app.CommandLine || act.Reason != "import" {
		t.Errorf("the act is %+v", act)
	}
	if err := o.Close(); err != nil {
		t.Error(err)
	}
}
