package endtoend

import (
	"bufio"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// startGraphileWorker runs a worker of the real package until the test ends, and returns
// once it has made its schema.
func startGraphileWorker(t *testing.T, database string) {
	t.Helper()
	if _, err := os.Stat("graphile/node_modules/graphile-worker"); err != nil {
		t.Fatalf("Graphile Worker is not installed: run make setup (%v)", err)
	}
	cmd, log := nodeCommand("graphile", "worker.mjs"), &text{}
	cmd.Env, cmd.Stderr = append(os.Environ(), "DATABASE_URL="+database), log
	in, out := startPiped(t, cmd)
	works, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			if lines.Text() == "working" {
				close(works)
			}
		}
	}()
	t.Cleanup(func() {
		_ = in.Close() // which ends it
		<-ended
		if err := cmd.Wait(); err != nil {
			t.Errorf("the worker ended with %v\n%s", err, log)
		}
	})
	select {
	case <-works:
	case <-ended:
		t.Fatalf("the worker has ended: %s", log)
	}
}

// letterOf is the dead letter of an entity at a stage.
func (s *site) letterOf(pipeline, stage, entity string) recoup.DeadLetter {
	s.Helper()
	got := s.ask(http.MethodGet, "/v1/dead-letters?pipeline="+pipeline+"&stage="+stage, "")
	var page recoup.DeadLetterPage
	if err := json.Unmarshal([]byte(got.body), &page); err != nil {
		s.Fatalf("%d %s: %v", got.status, got.body, err)
	}
	for _, d := range page.DeadLetters {
		if d.EntityID == entity {
			return d
		}
	}
	s.Fatalf("%s has no dead letter: %s", entity, got.body)
	return recoup.DeadLetter{}
}

// TestGraphileWorkerPreset adopts the table of a Graphile Worker that runs: a job whose
// attempts are used up is an error, which blocks its order; when the policy retries it the
// package's own worker runs the job again, and what becomes of that decides. One whose
// retries are used up is a dead letter, whose replay the package's worker runs too. In the
// end nothing is left in the table.
func TestGraphileWorkerPreset(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	c := &adopter{T: t, url: owner}
	c.exec("create table bank_refuses (order_id text); insert into bank_refuses values ('before'), ('flaky'), ('broken')")
	startGraphileWorker(t, owner)
	s := newSite(t, database{Nodes: nodes})
	s.start()
	soon := policyOf(t, "2.0.0", "retries soon, then dead letters", func(text string) string {
		return strings.NewReplacer("exponential, base: 2s", "exponential, base: 100ms",
			"\n  outreach.dol_errors:\n", "\n  outreach.dol_errors:\n    source: {dead_letters: true}\n").Replace(text)
	})
	if got := s.ask(http.MethodPut, "/v1/policy", soon); got.status != http.StatusOK {
		t.Fatalf("%d %s", got.status, got.body)
	}
	before := pgtest.DumpSchema(t, owner)
	run := func(args ...string) {
		t.Helper()
		if out, err := c.command(args...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v\n%s", args, err, out)
		}
	}
	eventually := func(sql string) {
		t.Helper()
		for try := 0; !c.ask("select coalesce((" + sql + "), false)"); try++ {
			if try == patience || retry.Sleep(t.Context(), 20*time.Millisecond) != nil {
				t.Fatalf("it is still not so: %s\n%s", sql, s.log.String())
			}
		}
	}
	add := func(order, queue string) {
		t.Helper()
		c.exec(fmt.Sprintf("select graphile_worker.add_job('charge', json_build_object('order', '%s'), queue_name => %s, max_attempts => 1)", order, queue))
	}
	gone := func(order string) string {
		return fmt.Sprintf("not exists (select from graphile_worker._private_jobs where payload->>'order' = '%s')", order)
	}
	add("before", "null")
	eventually("select attempts = 1 and last_error is not null and locked_at is null from graphile_worker._private_jobs")
	run("adopt", "graphile_worker._private_jobs", "--preset", "graphile-worker", "--as", "outreach.dol_errors", "--entity", "payload->>'order'", "--code", "NETWORK_TIMEOUT", "--apply", "--yes")
	eventually("select state = 'RETRY_PENDING' and message like 'the bank does not answer%' and message not like '%swordfish%' from recoup.error where entity_id = 'before'")

	// It fails, blocks, is retried by the policy, and the package's worker does it.
	add("flaky", "'bank'")
	eventually("recoup.is_blocked('flaky')")
	c.exec("delete from bank_refuses where order_id = 'flaky'")
	add("broken", "null")
	add("fine", "null")
	eventually(gone("flaky") + " and " + gone("fine"))
	eventually("select state = 'RESOLVED' from recoup.error where entity_id = 'flaky' union all select archive_reason = 'RESOLVED' from recoup.error_archive where entity_id = 'flaky'")
	eventually("not recoup.is_blocked('flaky') and not recoup.is_blocked('fine') and recoup.is_blocked('broken')")
	// Another fails until its attempts are used up, and is a dead letter, which is replayed.
	eventually("exists (select from recoup.dead_letter d join recoup.error e using (error_id) where e.entity_id = 'broken')")
	broken := s.letterOf("graphile_worker._private_jobs", "charge", "broken")
	if broken.Class != "NETWORK_TIMEOUT" || !broken.Exhausted || broken.PayloadRef == "" {
		t.Errorf("the dead letter is %+v", broken)
	}
	c.exec("delete from bank_refuses where order_id = 'broken'")
	letter := "/v1/dead-letters/" + broken.ErrorID.String()
	s.done(letter+"/triage", `{"cause": "TRANSIENT", "stage": "charge", "error_class": "NETWORK_TIMEOUT", "exhausted": true}`)
	s.done(letter+"/remediate", `{"link": "INC-1", "upstream_checked": "the bank answers"}`)
	s.done(letter+"/validate", `{"idempotent": true}`)
	s.done(letter+"/replay", `{"reason": "the bank is back"}`)
	eventually(gone("broken"))
	eventually("select step = 'REPLAYED' from recoup.dead_letter where error_id = '" + broken.ErrorID.String() + "'")
	eventually("recoup.is_blocked('broken')")
	s.done(letter+"/verify", `{"outcome": "DELIVERED", "note": "charged"}`)
	eventually("not recoup.is_blocked('broken')")
	if !c.ask("select not exists (select from recoup.error where entity_id = 'fine')") {
		t.Error("a job that went well is an error")
	}

	run("adopt", "release", "graphile_worker._private_jobs", "--yes")
	if pgtest.DumpSchema(t, owner) != before {
		t.Error("the definition is not what it was")
	}
	add("after", "'bank'")
	eventually(gone("after") + " and not exists (select from recoup.adoption)")
}
