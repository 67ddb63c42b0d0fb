package sqlite_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	cryptorand "crypto/rand"

	"recoup"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
	"recoup/internal/store/sqlite"
	"recoup/internal/store/storetest"
)

// crashFile names the file that a child is to write to until it is killed.
const crashFile = "RECOUP_CRASH_FILE"

// A process that writes is killed at a random moment, again and again. Whatever
// it had been told was done is there, and nothing is half done. RECOUP_SOAK=1
// makes it two hundred times instead of twenty.
func TestCrash(t *testing.T) {
	if path := os.Getenv(crashFile); path != "" {
		errs := (&vandal{path: path}).run()
		t.Fatal(errs) // it runs until it is killed
	}
	rounds := 20
	if os.Getenv("RECOUP_SOAK") != "" {
		rounds = 200
	}
	path := filepath.Join(t.TempDir(), "recoup.db")
	random := rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64()))
	total := 0
	for range rounds {
		said := untilKilled(t, path, random.IntN(300))
		total += len(said)
		checkFile(t, path, said)
	}
	t.Logf("%d rounds, %d acknowledgements", rounds, total)
}

// untilKilled lets a child write, kills it once it has acknowledged this many
// things, and returns all that it has acknowledged until it was dead.
func untilKilled(t *testing.T, path string, after int) []string {
	t.Helper()
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestCrash$", "-test.v=false")
	child.Env = append(os.Environ(), crashFile+"="+path)
	out, err := child.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := child.Start(); err != nil {
		t.Fatal(err)
	}
	var said []string
	in := bufio.NewReader(out)
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			break // half a line is no acknowledgement
		}
		said = append(said, strings.TrimSpace(line))
		if len(said) == after+1 {
			if err := child.Process.Kill(); err != nil {
				t.Fatal(err)
			}
		}
	}
	var ended *exec.ExitError
	if err := child.Wait(); !errors.As(err, &ended) || ended.ExitCode() != -1 {
		t.Fatalf("the child ended by itself: %v\n%s", err, strings.Join(said, "\n"))
	}
	return said
}

// checkFile opens the file as the next process does and holds it to what was
// acknowledged.
func checkFile(t *testing.T, path string, said []string) {
	t.Helper()
	s, err := sqlite.Open(t.Context(), path, sqlite.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	}()
	raw := opened{s, t, path}.raw()
	for _, line := range said {
		var kind string
		var id, token []byte
		var at int64
		if _, err := fmt.Sscanf(line, "%s %x %x %d", &kind, &id, &token, &at); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		question := `select exists (select 1 from error_history where error_id = ?1 and input = ?3 and at = ?4)
			and (exists (select 1 from error where error_id = ?1) or exists (select 1 from error_archive where error_id = ?1))`
		if kind == "claim" {
			question = `select exists (select 1 from error where error_id = ?1 and (lease_token = ?2 or last_attempt = ?2))
				or exists (select 1 from error_archive where error_id = ?1 and last_attempt = ?2)
				or exists (select 1 from error_history where error_id = ?1 and attempt = ?2)`
		}
		var kept bool
		if err := raw.QueryRow(question, id, token, kind, at).Scan(&kept); err != nil || !kept {
			t.Errorf("acknowledged and lost: %s (%v)", line, err)
		}
	}
	for _, rule := range crashRules {
		var broken int
		if err := raw.QueryRow(rule).Scan(&broken); err != nil || broken != 0 {
			t.Errorf("%d times broken (%v): %s", broken, err, rule)
		}
	}
}

// crashRules count what must never be seen, whenever the power fails.
var crashRules = []string{
	`select count(*) from pragma_integrity_check where integrity_check <> 'ok'`,
	`select count(*) from pragma_foreign_key_check`,
	// In both places.
	`select count(*) from error join error_archive using (error_id)`,
	// In its table or archive without having been reported.
	`select count(*) from (select error_id from error union all select error_id from error_archive) e
		where not exists (select 1 from error_history h where h.error_id = e.error_id and h.input = 'report')`,
	// Reported and in neither place.
	`select count(*) from error_history h where not exists (select 1 from error e where e.error_id = h.error_id)
		and not exists (select 1 from error_archive a where a.error_id = h.error_id)`,
	// Not in the state that its last transition led to.
	`select count(*) from (select error_id, state from error union all select error_id, state from error_archive) e
		where state <> (select after ->> 'state' from error_history h where h.error_id = e.error_id order by seq desc limit 1)`,
	// Counts that are not a count.
	`select count(*) from error_count c
		where n <> (select count(*) from error e where e.table_name = c.table_name and e.state = c.state)`,
	// Blocking and not in the gate's log, or the other way round.
	`select count(*) from (select error_id, blocking from error union all select error_id, blocking from error_archive)
		left join (select error_id, blocks, max(seq) from gate_log group by error_id) using (error_id)
		where blocking <> coalesce(blocks, 0)`,
	// Parked and nobody told.
	`select count(*) from error_history where after ->> 'state' = 'PARKED' and input = 'park'
		and error_id not in (select error_id from outbox where kind = 'PARKED')`,
	// A purge that is still open.
	`select count(*) from retention where archive_until is not null or history_until is not null`,
}

// vandal writes with several hands until somebody stops it, and says on standard
// output what it was told is done.
type vandal struct {
	path   string
	store  *sqlite.Store
	policy *policy.Policy
	ids    *recoup.IDSource
	clock  atomic.Int64
}

func (v *vandal) run() error {
	s, err := sqlite.Open(context.Background(), v.path, sqlite.Options{})
	if err != nil {
		return err
	}
	v.store, v.policy, v.ids = s, policy.Default(), recoup.NewIDSource(cryptorand.Reader)
	if err := s.SyncTables(context.Background(), v.policy); err != nil {
		return err
	}
	last, _, err := s.Errors(context.Background(), store.Filter{}, store.Page{Limit: 1})
	if err != nil {
		return err
	}
	v.clock.Store(storetest.Epoch().UnixMicro())
	if len(last) > 0 {
		v.clock.Store(last[0].CreatedAt.Add(time.Hour).UnixMicro())
	}
	var wg sync.WaitGroup
	errs := make([]error, 4)
	for hand := range errs {
		wg.Go(func() {
			for errs[hand] == nil {
				errs[hand] = v.act(rand.New(rand.NewPCG(rand.Uint64(), rand.Uint64())))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// now returns a time of its own for every call.
func (v *vandal) now() time.Time { return time.UnixMicro(v.clock.Add(100_000)).UTC() }

func (v *vandal) act(random *rand.Rand) error {
	switch random.IntN(5) {
	case 0, 1:
		return v.report(1+random.IntN(3), random)
	case 2:
		return v.claim(random)
	default:
		return v.step(random)
	}
}

func (v *vandal) report(n int, random *rand.Rand) error {
	now := v.now()
	var batch []store.Report
	for range n {
		in := lifecycle.Report{
			ID: v.ids.New(now), Table: dol, EntityID: fmt.Sprint("e", random.IntN(50)),
			Failure: storetest.Failure("NETWORK_TIMEOUT"), Severity: recoup.Medium,
		}
		batch = append(batch, store.Report{Table: dol, Entity: in.EntityID, Code: in.Failure.Code, Decide: v.decide(in, now)})
	}
	outcomes, err := v.store.Report(context.Background(), now, batch)
	return v.say(outcomes, err)
}

func (v *vandal) claim(random *rand.Rand) error {
	now := v.now()
	claimed, err := v.store.ClaimDue(context.Background(), store.Claim{Tables: []string{dol}, Limit: 3, Now: now,
		Decide: func(current *recoup.Error) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(v.policy, current, lifecycle.Claim{Token: v.ids.New(now), Worker: "w"}, now)
		}})
	if err != nil {
		return err
	}
	var said strings.Builder
	var steps []store.Step
	for _, e := range claimed {
		fmt.Fprintf(&said, "claim %x %x 0\n", e.ID[:], e.LeaseToken[:])
		var in lifecycle.Input = lifecycle.Succeed{Token: e.LeaseToken}
		if random.IntN(2) == 0 {
			in = lifecycle.Fail{Token: e.LeaseToken, Failure: storetest.Failure("NETWORK_TIMEOUT")}
		}
		steps = append(steps, store.Step{ID: e.ID, Decide: v.decide(in, now)})
	}
	if _, err := os.Stdout.WriteString(said.String()); err != nil {
		return err
	}
	outcomes, err := v.store.ApplySteps(context.Background(), now, steps)
	return v.say(outcomes, err)
}

func (v *vandal) step(random *rand.Rand) error {
	list, _, err := v.store.Errors(context.Background(), store.Filter{Entity: fmt.Sprint("e", random.IntN(50))}, store.Page{Limit: 3})
	if err != nil {
		return err
	}
	now := v.now()
	var steps []store.Step
	for _, e := range list {
		in := []lifecycle.Input{
			lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}, lifecycle.Escalate{By: "ada"},
			lifecycle.Resolve{By: "ada"}, lifecycle.ArchiveNow{By: "ada"},
		}[random.IntN(5)]
		steps = append(steps, store.Step{ID: e.ID, Decide: v.decide(in, now)})
	}
	outcomes, err := v.store.ApplySteps(context.Background(), now, steps)
	return v.say(outcomes, err)
}

func (v *vandal) decide(in lifecycle.Input, now time.Time) store.Decide {
	return func(current *recoup.Error, _ int) (recoup.Error, lifecycle.Effects, error) {
		return lifecycle.Step(v.policy, current, in, now)
	}
}

// say acknowledges what a verb has done, in one write: whoever reads sees whole
// lines or none.
func (v *vandal) say(outcomes []store.Outcome, err error) error {
	var said strings.Builder
	for _, out := range outcomes {
		if h := out.Effects.History; out.Err == nil && h.Input != "" {
			fmt.Fprintf(&said, "%s %x %x %d\n", h.Input, h.ErrorID[:], h.ErrorID[:], h.At.UnixMicro())
		}
	}
	if err != nil {
		return err
	}
	_, err = os.Stdout.WriteString(said.String())
	return err
}
