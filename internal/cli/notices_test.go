package cli

import (
	"strings"
	"testing"
	"time"

	"recoup"
	"recoup/client"
	"recoup/internal/app"
	"recoup/internal/notify"
	"recoup/internal/store"
)

// giveUp puts notices into the node's database of which all are given up, without a
// node that could deliver them.
func (n *testNode) giveUp(keys ...string) {
	n.t.Helper()
	s, err := app.OpenStore(n.t.Context(), "sqlite:"+n.file, nil)
	if err != nil {
		n.t.Fatal(err)
	}
	var list []store.Notice
	for _, key := range keys {
		list = append(list, store.Notice{Notice: recoup.Notice{Kind: recoup.NoticeAlert, To: "platform-team"}, Key: key})
	}
	_, err = s.AddNotices(n.t.Context(), n.now(), list)
	if err != nil {
		n.t.Fatal(err)
	}
	claimed, err := s.ClaimNotices(n.t.Context(), n.now(), time.Minute, 10)
	if err != nil {
		n.t.Fatal(err)
	}
	var done []store.Delivery
	for _, c := range claimed {
		done = append(done, store.Delivery{ID: c.ID, Attempt: c.Attempts, Error: "chat: answered with status 400"})
	}
	if _, err = s.FinishNotices(n.t.Context(), n.now(), done); err != nil {
		n.t.Fatal(err)
	}
	if err := s.Close(); err != nil {
		n.t.Fatal(err)
	}
}

func TestNotices(t *testing.T) {
	t.Parallel()
	n := newNode(t, false)
	n.giveUp("a", "b")
	n.serve(false)
	said := n.must("notices", "list", "--state", "given_up", "--kind", "alert")
	if strings.Count(said, "GIVEN_UP") != 2 || !strings.Contains(said, "platform-team") || !strings.Contains(said, "chat: answered with status 400") {
		t.Errorf("the list is\n%s", said)
	}
	var page client.NoticePage
	parse(t, n.must("notices", "list", "--state", "given_up", "--limit", "1", "--json"), &page)
	if len(page.Notices) != 1 || page.Next == "" {
		t.Fatalf("the page is %+v", page)
	}
	if said := n.must("notices", "resend", page.Notices[0].ID.String()); said != "1 notice put in again\n" {
		t.Errorf("resend says %q", said)
	}
	if said := n.must("notices", "resend", "--given-up", "--to", "platform-team", "--reason", "it works again"); said != "1 notice put in again\n" {
		t.Errorf("resend says %q", said)
	}
	if said := n.must("notices", "resend", "--given-up", "--to", "nobody"); said != "0 notices put in again\n" {
		t.Errorf("resend says %q", said)
	}
	if r := n.run("notices", "list", "--to", "nobody"); r.err != "There is no such notice.\n" || r.status != ExitDone {
		t.Errorf("an empty list is %+v", r)
	}
	for _, bad := range [][]string{{"resend"}, {"resend", "x"}, {"resend", "--given-up", page.Notices[0].ID.String()}, {"resend", page.Notices[0].ID.String(), "--to", "x"}, {"list", "--limit", "0"}} {
		if r := n.run(append([]string{"notices"}, bad...)...); r.status != ExitUsage {
			t.Errorf("%v ends with %d: %s", bad, r.status, r.err)
		}
	}
	for flag, want := range map[string]string{"--state": "WAITING, DELIVERED, GIVEN_UP", "--kind": "PARKED, NOT_PARKED, ESCALATED"} {
		if r := n.run("notices", "list", flag, "lost"); r.status != ExitUsage || !strings.Contains(r.err, "expected one of "+want) {
			t.Errorf("%s lost: %+v", flag, r)
		}
	}
}

func TestChannelsTest(t *testing.T) {
	t.Parallel()
	n := startNode(t, false)
	if said := n.must("channels", "test", "log"); !strings.HasPrefix(said, "log has accepted a message") {
		t.Errorf("it says %q", said)
	}
	if r := n.run("channels", "test", "chat"); r.status != ExitRefused {
		t.Errorf("a channel that there is not: %+v", r)
	}
	broken := newNode(t, false)
	broken.serve(false, func(o *app.Options) {
		o.Channels = []notify.Config{{Name: "chat", Kind: notify.Slack, Values: map[string]string{"url": "http://127.0.0.1:1/"}}}
	})
	if r := broken.run("channels", "test", "chat"); r.status != ExitRefused || r.err != "chat has not accepted a message: it refuses connections\n" {
		t.Errorf("a channel that fails: %+v", r)
	}
	var test client.ChannelTest
	if r := broken.run("channels", "test", "chat", "--json"); r.status != ExitRefused {
		t.Errorf("a channel that fails: %+v", r)
	} else if parse(t, r.out, &test); test.Accepted || test.Reason == "" {
		t.Errorf("it says %+v", test)
	}
}
