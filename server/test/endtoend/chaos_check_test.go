package endtoend

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/chaos"
)

// rounds is how often is looked whether everything has come to rest.
const rounds = 600

// settle lets everything come to rest that happens by itself. What a killed node had
// taken to deliver belongs to it for two minutes, over which the clock jumps, from where it
// may have been before it went back.
func (c *chaosRun) settle() {
	c.Helper()
	c.hook.heal()
	c.stop()
	if c.d.Kind == "postgres" {
		pgtest.ShiftClock(c.T, c.d.Owner, c.peak+3*time.Minute)
	} else if _, err := c.db.ExecContext(c.Context(), "update outbox set due_at = due_at - 180000000 where due_at is not null"); err != nil {
		c.Fatal(err)
	}
	for _, s := range c.sites {
		s.program = "" // the last of an older version are upgraded
	}
	c.start(c.sites...)
	var left map[string]int64
	for range rounds {
		c.workload.Drain(c.Context())
		var err error
		if left, err = c.db.Waiting(c.Context()); err != nil {
			c.Fatal(err)
		}
		if c.bus != nil {
			c.bus.waiting(c.Context(), left)
		}
		if len(left) == 0 {
			return
		}
		if err := retry.Sleep(c.Context(), 100*time.Millisecond); err != nil {
			c.Fatal(err)
		}
	}
	c.Errorf("it does not come to rest: %v\n%s", left, tail(c.sites[0].log.String()))
}

// stop asks all nodes to end.
func (c *chaosRun) stop() {
	c.Helper()
	for _, s := range c.sites {
		c.send(s, syscall.SIGTERM)
	}
	for _, s := range c.sites {
		if err := s.wait(); err != nil {
			c.Errorf("asked to end, it ended with %v\n%s", err, tail(s.log.String()))
		}
	}
}

// check reads what is there, holds it to the history, and says what clients felt.
func (c *chaosRun) check(history *chaos.History) []chaos.Measured {
	c.Helper()
	exposed := c.exposed()
	c.stop()
	final, err := c.db.Read(c.Context())
	if err != nil {
		c.Fatal(err)
	}
	final.Figures = append(final.Figures, exposed(final)...)
	c.hook.mu.Lock()
	final.Messages = c.hook.got
	c.hook.mu.Unlock()
	if c.bus != nil {
		final.Bus = c.bus.left(c.Context())
		c.carried(final.Bus)
	}
	operations := history.Operations()
	c.Logf("%d calls, %d errors, %d transitions, %d promotions, %d events, %d dead letters, %d notices in %d messages, %d terms\n%s",
		len(operations), len(final.Errors), len(final.History), len(final.Promotions), len(final.Events), len(final.Letters), len(final.Notices), len(final.Messages),
		len(final.Terms), chaos.Summary(operations))
	felt := chaos.Measure(operations, final.Terms)
	for i := range felt {
		c.Log(felt[i].String())
	}
	c.judge(chaos.Check(operations, final), operations, final)
	return felt
}

// judge fails the run for what the checker has found.
func (c *chaosRun) judge(found []chaos.Violation, operations []chaos.Operation, final *chaos.Final) {
	c.Helper()
	if c.expected != "" {
		if !slices.ContainsFunc(found, func(v chaos.Violation) bool { return v.Rule == c.expected }) {
			c.Errorf("what was planted is not found: %v", found)
		}
		return
	}
	all := len(found)
	found = slices.DeleteFunc(found, func(v chaos.Violation) bool { return v.Rule == c.known })
	if all > len(found) {
		c.Logf("%d times, which is known of the older version: %s", all-len(found), c.known)
	}
	for i, v := range found {
		if i == 10 {
			c.Errorf("and %d more", len(found)-i)
			break
		}
		c.Errorf("seed %d: %s", c.seed, chaos.Excerpt(v, operations, final))
	}
	if len(found) > 0 || os.Getenv("RECOUP_CHAOS_KEEP") != "" {
		c.keep(final)
	}
}

var errorsMetric = regexp.MustCompile(`(?m)^recoup_errors\{state="(\w+)",table="([\w.]+)"\} (\d+)$`)

// exposed asks every node what its metrics and its API say of errors, and returns how
// that compares with what is read later.
func (c *chaosRun) exposed() func(*chaos.Final) []chaos.Figure {
	c.Helper()
	said := map[string]map[string]int64{}
	for i, s := range c.sites {
		metrics, counts := map[string]int64{}, map[string]int64{}
		for _, m := range errorsMetric.FindAllStringSubmatch(s.metrics(c.key), -1) {
			n, err := strconv.ParseInt(m[3], 10, 64)
			if err != nil {
				c.Fatal(err)
			}
			metrics[m[2]+" "+m[1]] = n
		}
		list, err := c.workload.Nodes[i].Errors.Counts(c.Context())
		if err != nil {
			c.Fatal(err)
		}
		for _, n := range list {
			counts[n.Table+" "+string(n.State)] = n.N
		}
		said[fmt.Sprintf("metrics of node %d", i)], said[fmt.Sprintf("counts of node %d", i)] = metrics, counts
	}
	return func(f *chaos.Final) (list []chaos.Figure) {
		counted := map[string]int64{}
		for _, e := range f.Errors {
			if e.State != recoup.Archived {
				counted[e.Table+" "+string(e.State)]++
			}
		}
		for name, figures := range said {
			keys := maps.Clone(counted)
			maps.Copy(keys, figures)
			for key := range keys {
				list = append(list, chaos.Figure{Name: name, Key: key, Kept: figures[key], Counted: counted[key]})
			}
		}
		return list
	}
}

// keep leaves what was read, and what nodes said, beside the history.
func (c *chaosRun) keep(f *chaos.Final) {
	c.Helper()
	base := strings.TrimSuffix(c.file, ".ndjson")
	out, err := os.Create(base + ".final.json")
	if err == nil {
		err = f.Write(out)
	}
	for i, s := range c.sites {
		err = errors.Join(err, os.WriteFile(fmt.Sprintf("%s.node%d.log", base, i), []byte(s.log.String()), 0o600))
	}
	if err != nil {
		c.Error(err)
	}
	c.Logf("what is there was written to %s.final.json, what nodes said beside it", base)
}
