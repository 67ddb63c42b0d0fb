package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// charge is a job that fails the first time, or until the bank is back.
type charge struct {
	Order string `json:"order"`
	Wait  bool   `json:"wait"`
}

func (charge) Kind() string { return "charge" }

type charger struct {
	river.WorkerDefaults[charge]
	mu    sync.Mutex
	tried map[string]bool
	back  bool // the bank
}

func (c *charger) Work(_ context.Context, job *river.Job[charge]) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if job.Args.Wait && !c.back || !c.tried[job.Args.Order] {
		c.tried[job.Args.Order] = true
		return errors.New("the bank does not answer, password=hunter2-swordfish")
	}
	return nil
}

// TestRiverPreset adopts the table of a River that runs: a job that is discarded is an
// error, which blocks its order; when the policy retries it River's own worker runs the job
// again, and what becomes of that decides. One whose attempts are used up is a dead letter,
// which goes through its five steps, and River's worker does it. In the end nothing is left
// in River's table.
func TestRiverPreset(t *testing.T) {
	tier.Only(t, tier.Adoption)
	owner, nodes := pgtest.Migrated(t)
	pool, err := pgxpool.New(t.Context(), owner)
	must(t, err)
	t.Cleanup(pool.Close)
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(t, err)
	_, err = migrator.Migrate(t.Context(), rivermigrate.DirectionUp, nil)
	must(t, err)
	workers := river.NewWorkers()
	bank := &charger{tried: map[string]bool{}}
	river.AddWorker(workers, bank)
	queue, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		FetchPollInterval: 50 * time.Millisecond, FetchCooldown: 10 * time.Millisecond,
		Workers: workers, Logger: slog.New(slog.NewTextHandler(io.Discard, nil)),
	})
	must(t, err)
	must(t, queue.Start(context.WithoutCancel(t.Context())))
	t.Cleanup(func() { _ = queue.Stop(context.Background()) })
	c := live.Start(t, app.Options{Database: nodes}).Client()
	_, err = admin.New(c).Policy.Apply(t.Context(), wire.PolicyChange{Reason: "retries soon, then dead letters", Text: strings.NewReplacer(
		"version: 1.0.0", "version: 2.0.0", "exponential, base: 2s", "exponential, base: 100ms",
		"\n  outreach.dol_errors:\n", "\n  outreach.dol_errors:\n    source: {dead_letters: true}\n").Replace(string(policy.DefaultFile()))})
	must(t, err)
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
	build := exec.CommandContext(t.Context(), "go", "build", "-o", binary, "./server/cmd/recoup")
	build.Dir = "../../.."
	run := func(cmd *exec.Cmd) {
		t.Helper()
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", cmd.Args, err, out)
		}
	}
	run(build)
	run(exec.CommandContext(t.Context(), binary, "adopt", "public.river_job", "--preset", "river", "--as", "outreach.dol_errors", "--entity", "args->>'order'",
		"--code", "NETWORK_TIMEOUT", "--apply", "--yes", "--database", owner))
	eventually("select state = 'RETRY_PENDING' and message like 'the bank does not answer%' from recoup.error where entity_id = 'before'")

	// It fails, blocks, is retried by the policy, and River's worker does it.
	insert(charge{Order: "flaky"})
	insert(charge{Order: "broken", Wait: true})
	eventually("select recoup.is_blocked('flaky')")
	eventually("select state = 'completed' and attempt = 2 from river_job where args ->> 'order' = 'flaky'")
	eventually("select state = 'RESOLVED' from recoup.error where entity_id = 'flaky' union all select archive_reason = 'RESOLVED' from recoup.error_archive where entity_id = 'flaky'")
	eventually("select not recoup.is_blocked('flaky') and recoup.is_blocked('broken')")

	// Another fails until its attempts are used up, and is a dead letter.
	eventually("select count(*) = 1 from recoup.dead_letter")
	page, err := c.DeadLetters.List(t.Context(), recoup.DeadLetterFilter{Pipeline: "public.river_job:default", Stage: "charge"}, client.Page{})
	must(t, err)
	if len(page.DeadLetters) != 1 {
		t.Fatalf("the dead letters are %+v", page)
	}
	d := page.DeadLetters[0]
	if d.Class != "NETWORK_TIMEOUT" || !d.Exhausted || d.EntityID != "broken" || !strings.HasPrefix(d.PayloadRef, "public.river_job/") {
		t.Errorf("the dead letter is %+v", d)
	}
	eventually("select state = 'RESOLVED' and resolution_reason = 'dead letter " + d.ErrorID.String() + "' and retry_count = 5 from recoup.error where entity_id = 'broken' and table_name = 'outreach.dol_errors' union all select true from recoup.error_archive where entity_id = 'broken' and retry_count = 5")
	eventually("select recoup.is_blocked('broken')")
	bank.mu.Lock()
	bank.back = true
	bank.mu.Unlock()
	_, err = c.DeadLetters.Triage(t.Context(), d.ErrorID, recoup.Triage{Cause: recoup.CauseTransient, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted})
	must(t, err)
	_, err = c.DeadLetters.Remediate(t.Context(), d.ErrorID, recoup.Remediation{Link: "INC-1", UpstreamChecked: "the bank answers"})
	must(t, err)
	_, err = c.DeadLetters.Validate(t.Context(), d.ErrorID, recoup.Validation{Idempotent: true})
	must(t, err)
	_, err = c.DeadLetters.Replay(t.Context(), d.ErrorID, recoup.SingleReplay{Reason: "the bank is back"})
	must(t, err)
	eventually("select state = 'completed' and attempt = 7 from river_job where args ->> 'order' = 'broken'")
	eventually("select step = 'REPLAYED' from recoup.dead_letter")
	_, err = c.DeadLetters.Verify(t.Context(), d.ErrorID, recoup.Verification{Outcome: recoup.Delivered, Note: "charged"})
	must(t, err)
	eventually("select not recoup.is_blocked('broken')")

	run(exec.CommandContext(t.Context(), binary, "adopt", "release", "public.river_job", "--yes", "--database", owner))
	if pgtest.DumpSchema(t, owner) != before {
		t.Error("the definition is not what it was")
	}
	eventually("select not exists (select from recoup.adoption)")
}
