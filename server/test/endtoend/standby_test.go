package endtoend

import (
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/admin"
)

// TestStandby starts a node on a copy of a database, as a branch or a restored dump is one:
// errors whose escalation and TTL are over stay as they are, nobody is notified, and changes
// are refused, while reads are answered. A node without --standby then does all of it.
func TestStandby(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.flags = []string{"--policy", brief(t)}
		s.start()
		c := s.visitor()
		out, err := c.Report(t.Context(), recoup.Report{Table: workTable, EntityID: "CO-1", Code: "DUPLICATE_COMPANY"})
		if err != nil {
			t.Fatal(err)
		}
		s.end()

		s.flags = []string{"--standby"}
		s.start()
		c = s.visitor()
		shown, err := c.Errors.Get(t.Context(), out.Error.ID)
		if err != nil || shown.EntityID != "CO-1" {
			t.Fatalf("read %+v: %v", shown, err)
		}
		_, err = c.Report(t.Context(), recoup.Report{Table: workTable, EntityID: "CO-2", Code: "DUPLICATE_COMPANY"})
		if err == nil || !strings.Contains(err.Error(), "INSUFFICIENT_PERMISSIONS: This node is a standby") {
			t.Errorf("a report is answered with %v", err)
		}
		if out, err := s.recoupAt("http://"+*s.address.Load(), nil, "report", "--table", workTable, "--entity", "CO-2", "--code", "DUPLICATE_COMPANY"); err == nil ||
			!strings.Contains(out, "Send this to a node of the production database") || strings.Contains(out, "way out") {
			t.Errorf("the command says %s: %v", out, err)
		}
		byItself(t, func() string {
			if says(t, s).Before(out.Error.ExpiresAt.Add(2 * time.Second)) {
				return "its TTL is not over"
			}
			return ""
		})
		after, err := c.Errors.Get(t.Context(), out.Error.ID)
		if err != nil || !after.UpdatedAt.Equal(shown.UpdatedAt) || after.State != shown.State {
			t.Errorf("after its TTL on a standby it is %+v, it was %+v: %v", after, shown, err)
		}
		if jobs, err := admin.New(c).Jobs.List(t.Context()); err != nil || jobs.Leader != "" {
			t.Errorf("%q leads: %v", jobs.Leader, err)
		}
		s.end()

		s.flags = nil
		s.start()
		c = s.visitor()
		byItself(t, func() string { return archived(t, c, out.Error.ID, "TTL_EXPIRED", "expire") })
	})
}

// end kills the node, which therefore does not finish anything.
func (s *site) end() {
	s.Helper()
	_ = s.signal(syscall.SIGKILL)
}

// visitor is a client of the node that runs now.
func (s *site) visitor() *client.Client {
	s.Helper()
	c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
	if err != nil {
		s.Fatal(err)
	}
	s.Cleanup(c.Close)
	return c
}

// says checks that a standby tells what it is where a person or a balancer looks, and returns
// the time of its answer.
func says(t *testing.T, s *site) time.Time {
	t.Helper()
	resp, err := http.Get("http://" + *s.address.Load() + "/readyz")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	var ready struct{ Warnings []string }
	if err := json.NewDecoder(resp.Body).Decode(&ready); err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("/readyz answers %s: %v", resp.Status, err)
	}
	if len(ready.Warnings) == 0 || !strings.Contains(ready.Warnings[0], "standby") || resp.Header.Get("Recoup-Standby") != "true" {
		t.Errorf("/readyz warns %q, with the header %q", ready.Warnings, resp.Header.Get("Recoup-Standby"))
	}
	if !strings.Contains(s.log.String(), "this node is a standby") {
		t.Error("the log does not say that the node is a standby")
	}
	at, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		t.Fatal(err)
	}
	return at
}
