package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"recoup/internal/app"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/live"
	"recoup/retry"
)

// charge is a job that fails the first time, or always.
type charge struct {
	Order string `json:"order"`
	Never bool   `json:"never"`
}

func (charge) Kind() string { return "charge" }

type charger struct {
	river.WorkerDefaults[charge]
	mu    sync.Mutex
	tried map[string]bool
}

func (c *charger) Work(_ context.Context, job *river.Job[charge]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if job.Args.Never || !c.tried[job.Args.Order] {
		c.tried[job.Args.Order] = true
		return errors.New("the bank does not answer, password=hunter2-swordfish")
	}
	return nil
}

// TestRiverPreset adopts the table of a River that runs: a job that is discarded is an
// error, which blocks its order; when the policy retries it River's own worker runs the job
// again, and what becomes of that decides. In the end nothing is left in River's table.
func TestRiverPreset(t *testing.T) {
	owner, nodes := pgtest.Migrated(t)
	pool, err := pgxpool.New(t.Context(), owner)
	must(t, err)
	t.Cleanup(pool.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	must(t, err)
	workers := river.NewWorkers()
	river.AddWorker(workers, &charger{tried: map[string]bool{}})
	queue, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		FetchPollInterval: 50 * time.Millisecond, FetchCooldown: 10 * time.Millisecond,
		Workers: workers, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(t, err)
	must(t, queue.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() { _ = queue.Stop(context.Background()) })
	live.Start(t, app.Options{Database: nodes})
	before := pgtest.DumpSchema(t, owner)

	insert := func(job charge) {
		t.Helper()
		_, err := queue.Insert(t.Context(), job, &river.InsertOpts{MaxAttempts: 1})
		must(t, err)
	}
	eventually := func(sql string) {
		t.Helper()
		var is bool
		for try := 0; !is; try++ {
			must(t, pool.QueryRow(t.Context(), "select coalesce(("+sql+"), false)").Scan(&is))
			if !is && (try == 1500 || retry.Sleep(t.Context(), 20*time.Millisecond) != nil) {
				t.Fatalf("it is still not so: %s", sql)
			}
		}
	}
	insert(charge{Order: "before"})
	eventually("select state = 'discarded' from river_job where args ->> 'order' = 'before'")
	binary := filepath.Join(t.TempDir(), "recoup")
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./cmd/recoup")
	build.Dir = ".."
	recoup := func(cmd *exec.Cmd) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	recoup(build)
	recoup(exec.CommandContext(t.Context(), binary, "adopt", "public.river_job", "--preset", "river", "--as", "outreach.dol_errors", "--entity", "args->>'order'",
		"--code", "NETWORK_TIMEOUT", "--apply", "--yes", "--database", owner))
	eventually("select state = 'RETRY_PENDING' and message like 'the bank does not answer%' from recoup.error where entity_id = 'before'")

	// It fails, blocks, is retried by the policy, and River's worker does it.
	insert(charge{Order: "flaky"})
	insert(charge{Order: "broken", Never: true})
	eventually("select recoup.is_blocked('flaky')")
	eventually("select state = 'completed' and attempt = 2 from river_job where args ->> 'order' = 'flaky'")
	eventually("select state = 'RESOLVED' from recoup.error where entity_id = 'flaky' union all select archive_reason = 'RESOLVED' from recoup.error_archive where entity_id = 'flaky'")
	eventually("select not recoup.is_blocked('flaky') and recoup.is_blocked('broken')")
	// Another fails again: the attempt counts, and the policy decides the next.
	eventually("select retry_count >= 2 and last_failure_code = 'NETWORK_TIMEOUT' from recoup.error where entity_id = 'broken'")

	recoup(exec.CommandContext(t.Context(), binary, "release", "public.river_job", "--yes", "--database", owner))
	if pgtest.DumpSchema(t, owner) != before {
		t.Error("the definition is not what it was")
	}
	eventually("select not exists (select from recoup.adoption)")
}
