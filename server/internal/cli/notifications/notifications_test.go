package notifications_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// giveUp puts notices into the node's database of which all are given up, without a
// node that could deliver them.
func giveUp(n *clitest.Node, keys ...string) {
	n.T.Helper()
	s, err := app.OpenStore(n.T.Context(), "sqlite:"+n.File, nil)
	if err != nil {
		n.T.Fatal(err)
	}
	var list []wire.Notice
	for _, key := range keys {
		list = append(list, wire.Notice{Kind: wire.NoticeAlert, To: "platform-team", Key: key})
	}
	_, err = s.AddNotices(n.T.Context(), n.Now(), list)
	if err != nil {
		n.T.Fatal(err)
	}
	claimed, err := s.ClaimNotices(n.T.Context(), n.Now(), time.Minute, 10)
	if err != nil {
		n.T.Fatal(err)
	}
	var done []store.Delivery
	for _, c := range claimed {
		done = append(done, store.Delivery{ID: c.ID, Attempt: c.Attempts, Error: "chat: answered with status 400"})
	}
	if _, err = s.FinishNotices(n.T.Context(), n.Now(), done); err != nil {
		n.T.Fatal(err)
	}
	if err := s.Close(); err != nil {
		n.T.Fatal(err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	giveUp(n, "a", "b")
	n.Serve(false)
	said := n.Must("notifications", "list", "--state", "given_up", "--kind", "alert")
	if strings.Count(said, "GIVEN_UP") != 2 || !strings.Contains(said, "platform-team") || !strings.Contains(said, "chat: answered with status 400") {
		t.Errorf("the list is\n%s", said)
	}
	var page wire.NoticePage
	clitest.Parse(t, n.Must("notifications", "list", "--state", "given_up", "--limit", "1", "--json"), &page)
	if len(page.Notices) != 1 || page.Next == "" {
		t.Fatalf("the page is %+v", page)
	}
	if said := n.Must("notifications", "resend", page.Notices[0].ID.String()); said != "1 notification requeued\n" {
		t.Errorf("resend says %q", said)
	}
	if said := n.Must("notifications", "resend", "--given-up", "--to", "platform-team", "--reason", "it works again"); said != "1 notification requeued\n" {
		t.Errorf("resend says %q", said)
	}
	if said := n.Must("notifications", "resend", "--given-up", "--to", "nobody"); said != "0 notifications requeued\n" {
		t.Errorf("resend says %q", said)
	}
	if r := n.Run("notifications", "list", "--to", "nobody"); r.Err != "No notification matches.\n" || r.Status != command.ExitDone {
		t.Errorf("an empty list is %+v", r)
	}
	for _, bad := range [][]string{{"resend"}, {"resend", "x"}, {"resend", "--given-up", page.Notices[0].ID.String()}, {"resend", page.Notices[0].ID.String(), "--to", "x"}, {"list", "--limit", "0"}} {
		if r := n.Run(append([]string{"notifications"}, bad...)...); r.Status != command.ExitUsage {
			t.Errorf("%v ends with %d: %s", bad, r.Status, r.Err)
		}
	}
	for flag, want := range map[string]string{"--state": "WAITING, DELIVERED, GIVEN_UP", "--kind": "PARKED, NOT_PARKED, ESCALATED"} {
		if r := n.Run("notifications", "list", flag, "lost"); r.Status != command.ExitUsage || !strings.Contains(r.Err, "expected one of "+want) {
			t.Errorf("%s lost: %+v", flag, r)
		}
	}
}

func TestChannelsTest(t *testing.T) {
	t.Parallel()
	n := clitest.Start(t, false)
	if said := n.Must("channels", "test", "log"); !strings.HasPrefix(said, "log accepted a test message") {
		t.Errorf("it says %q", said)
	}
	if r := n.Run("channels", "test", "chat"); r.Status != command.ExitRefused {
		t.Errorf("a channel that there is not: %+v", r)
	}
	broken := clitest.New(t, false)
	broken.Serve(false, func(o *app.Options) {
		o.Channels = []notify.Config{{Name: "chat", Kind: notify.Slack, Values: map[string]string{"url": "http://127.0.0.1:1/"}}}
	})
	if r := broken.Run("channels", "test", "chat"); r.Status != command.ExitRefused || r.Err != "chat did not accept a test message: it refuses connections\n" {
		t.Errorf("a channel that fails: %+v", r)
	}
	var test wire.ChannelTest
	if r := broken.Run("channels", "test", "chat", "--json"); r.Status != command.ExitRefused {
		t.Errorf("a channel that fails: %+v", r)
	} else if clitest.Parse(t, r.Out, &test); test.Accepted || test.Reason == "" {
		t.Errorf("it says %+v", test)
	}
	broken.Run("channels", "test", "chat")
	if said := broken.Must("channels", "list"); !strings.Contains(said, "failing for 0s") || !strings.Contains(said, "it refuses connections") {
		t.Errorf("the list is\n%s", said)
	}
	if r := broken.Run("status"); !strings.Contains(r.Out, "! channels") || !strings.Contains(r.Out, "chat for 0s with 0 undelivered: it refuses connections") {
		t.Errorf("the status is\n%s", r.Out)
	}
}
