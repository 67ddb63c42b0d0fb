package endtoend

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// brief is the default policy with lives of a few seconds: what is parked is escalated
// after one and two, and expires after four.
func brief(t *testing.T) (file string) {
	t.Helper()
	text := strings.NewReplacer("lasts: 30d", "lasts: 4s", "after: 48h, review_within: 8h", "after: 1s, review_within: 1h",
		"after: 7d, review_within: 4h", "after: 2s, review_within: 1h", "expiry_notice: 24h", "expiry_notice: 1s").Replace(string(policy.DefaultFile()))
	file = filepath.Join(t.TempDir(), "brief.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestNodeKeepsItsOwnTime starts a node and asks nothing of its jobs: by itself it
// escalates what is parked and notifies its owners, archives what is resolved or too old,
// and rolls events up (spec 000, 10.1 and 12; spec 003, operations).
func TestNodeKeepsItsOwnTime(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.flags = []string{"--policy", brief(t)}
		s.start()
		c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		report := func(entity string) recoup.ID {
			out, err := c.Report(t.Context(), recoup.Report{Table: workTable, EntityID: entity, Code: "DUPLICATE_COMPANY"})
			if err != nil {
				t.Fatal(err)
			}
			return out.Error.ID
		}
		parked, settled := report("CO-1"), report("CO-2")
		_, err = c.Errors.Resolve(t.Context(), settled, recoup.Act{Reason: "merged"})
		sent, err2 := c.SendEvents(t.Context(), slices.Repeat([]recoup.Event{{Code: "NETWORK_TIMEOUT", Service: "importer"}}, 3))
		if err := errors.Join(err, err2); err != nil {
			t.Fatalf("%+v: %v", sent, err)
		}
		byItself(t, func() string { return archived(t, c, parked, "TTL_EXPIRED", "escalate expire") }) // a busy node may skip a tier
		byItself(t, func() string { return archived(t, c, settled, "RESOLVED", "") })
		byItself(t, func() string { return rolledUp(t, c, "importer", 3) })
		byItself(t, func() string { return notified(t, c, parked, "platform-team") })
		if gate, err := c.CheckPromotion(t.Context(), "CO-1"); err != nil || gate.Blocked {
			t.Errorf("what is archived blocks: %+v, %v", gate, err)
		}
	})
}

// byItself looks again until nothing is missing, for a minute at most.
func byItself(t *testing.T, missing func() string) {
	t.Helper()
	what := missing()
	for try := 0; what != ""; try++ {
		if try == 1200 || retry.Sleep(t.Context(), 50*time.Millisecond) != nil {
			t.Fatal(what)
		}
		what = missing()
	}
}

// archived says what is missing of an error that the system has archived, and has
// before that done these things with.
func archived(t *testing.T, c *client.Client, id recoup.ID, reason, did string) string {
	t.Helper()
	e, err := c.Errors.Get(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	if e.State != recoup.Archived || e.ArchiveReason != recoup.ArchiveReason(reason) || e.ArchivedBy != recoup.System {
		return fmt.Sprintf("it is %s, archived for %q by %q", e.State, e.ArchiveReason, e.ArchivedBy)
	}
	history, err := c.Errors.History(t.Context(), id)
	if err != nil {
		t.Fatal(err)
	}
	var inputs []string
	for _, h := range history {
		if h.Actor == recoup.System && h.Input != "remind" {
			inputs = append(inputs, h.Input)
		}
	}
	if !strings.HasSuffix(strings.Join(inputs, " "), did) {
		return fmt.Sprintf("the system did %v", inputs)
	}
	return ""
}

// rolledUp says what is missing of the day's count of a service's events.
func rolledUp(t *testing.T, c *client.Client, service string, want int64) string {
	t.Helper()
	days, err := c.Events.DailyCounts(t.Context(), recoup.DayFilter{Service: service})
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range days {
		if d.Count == want {
			return ""
		}
	}
	return fmt.Sprintf("the rollup has %+v", days)
}

// notified reports that an owner has not been notified of an error that was escalated to them.
func notified(t *testing.T, c *client.Client, id recoup.ID, owner string) string {
	t.Helper()
	for n, err := range admin.New(c).Notifications.All(t.Context(), wire.NoticeFilter{Kind: wire.NoticeEscalated}) {
		if err != nil {
			t.Fatal(err)
		}
		if n.ErrorID == id && n.To == owner {
			return ""
		}
	}
	return owner + " has not been notified"
}
