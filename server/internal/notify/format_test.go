package notify_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestWebhookSignature verifies as a receiver would, which knows the secret and the
// documentation.
func TestWebhookSignature(t *testing.T) {
	t.Parallel()
	r, c := endpoint(t, notify.Webhook)
	sent := sample()
	for range 2 {
		if err := c.Send(t.Context(), sent); err != nil {
			t.Fatal(err)
		}
	}
	for _, got := range r.all() {
		at, sum, _ := strings.Cut(strings.TrimPrefix(got.header.Get("Recoup-Signature"), "t="), ",v1=")
		mac := hmac.New(sha256.New, []byte(webhookSecret))
		mac.Write([]byte(at + "." + string(got.body)))
		if want := hex.EncodeToString(mac.Sum(nil)); at != "1770022800" || sum != want {
			t.Errorf("signed %s with %s, want %s", at, sum, want)
		}
		if id := got.header.Get("Idempotency-Key"); id != sent.ID.String() {
			t.Errorf("its id is %q", id)
		}
		var back notify.Message
		if err := json.Unmarshal(got.body, &back); err != nil || !reflect.DeepEqual(&back, sent) {
			t.Errorf("got %+v, %v\nwant %+v", back, err, sent)
		}
	}
}

// TestPagerDuty wants one incident for what belongs together, and its end.
func TestPagerDuty(t *testing.T) {
	t.Parallel()
	r, c := endpoint(t, notify.PagerDuty)
	m := sample()
	other := m.Items[0]
	other.Key, other.Code = "another", "CONFIGURATION_ERROR"
	m.Items = append(m.Items, m.Items[0], other, m.Items[0])
	if err := c.Send(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	over := sample()
	over.Kind = wire.NoticeAlertResolved
	if err := c.Send(t.Context(), over); err != nil {
		t.Fatal(err)
	}
	events := pagerEvents(t, r)
	if len(events) != 3 {
		t.Fatalf("%d events, want 3", len(events))
	}
	first := events[0]
	if first.Action != "trigger" || !strings.Contains(first.Payload.Summary, "3 × RUNTIME_BUG in outreach.dol_errors") ||
		first.Payload.Severity != "error" || first.Payload.Component != "outreach.dol_errors" || first.Payload.Group != "dol-filings" ||
		first.Payload.Class != "PAGE" || first.Payload.Source != "node-1" || first.Links[0].Href != m.Items[0].Link {
		t.Errorf("the event is %+v, %+v", first, first.Payload)
	}
	if events[1].DedupKey == first.DedupKey || events[2].DedupKey != first.DedupKey || events[2].Action != "resolve" {
		t.Errorf("the events are %+v", events)
	}
}

func pagerEvents(t *testing.T, r *receiver) (events []pagerEvent) {
	t.Helper()
	for _, got := range r.all() {
		var e pagerEvent
		if err := json.Unmarshal(got.body, &e); err != nil {
			t.Fatal(err)
		}
		events = append(events, e)
	}
	return events
}

func TestPagerSeverity(t *testing.T) {
	t.Parallel()
	r, c := endpoint(t, notify.PagerDuty)
	rows := []struct {
		urgency  policy.Urgency
		severity string
		want     string
	}{
		{policy.Page, "CRITICAL", "critical"}, {policy.Page, "HIGH", "error"}, {policy.Warning, "WARNING", "warning"}, {policy.Info, "", "info"},
	}
	for _, row := range rows {
		m := sample()
		m.Urgency, m.Items[0].Severity = row.urgency, row.severity
		if err := c.Send(t.Context(), m); err != nil {
			t.Fatal(err)
		}
	}
	for i, e := range pagerEvents(t, r) {
		if e.Payload.Severity != rows[i].want {
			t.Errorf("%+v is %s", rows[i], e.Payload.Severity)
		}
	}
}

func TestConfig(t *testing.T) {
	t.Parallel()
	const key = "hunter2hunter2hunter2"
	rows := []struct {
		c    notify.Config
		want string // empty: it is fine
	}{
		{config("chat", notify.Slack, "url", "https://hooks.slack.com/services/"+key), ""},
		{config("chat", notify.Slack, "url", "http://127.0.0.1:1/"+key), ""},
		{config("pager", notify.PagerDuty, "key", key), ""},
		{config("hook", notify.Webhook, "url", "https://x.example/", "secret", key, "public-only", "true"), ""},
		{config("mail", notify.Email, "server", "mail:587", "from", "a@b", "to", "c@d"), ""},
		{config("log", notify.Log), ""},
		{config("other-log", notify.Log), ""},
		{config("log", notify.Slack, "url", "https://x/"), "channel log: kind must be log"},
		{config("Chat", notify.Slack, "url", "https://x/"), `"Chat" is no name of a channel`},
		{config("", notify.Log), "is no name of a channel"},
		{config("chat", "telegram", "url", key), "channel chat: kind must be one of [slack pagerduty webhook email log]"},
		{config("chat", notify.Slack), "channel chat: url is missing"},
		{config("chat", notify.Slack, "url", "https://x/", "key", key), "channel chat: key is nothing that a channel of the kind slack has"},
		{config("chat", notify.Slack, "url", "http://hooks.example/"+key), "channel chat: url must begin with https://"},
		{config("chat", notify.Slack, "url", key), "channel chat: url must be an address"},
		{config("chat", notify.Slack, "url", "https://me:"+key+"@x/"), "channel chat: url must have no user"},
		{config("chat", notify.Slack, "url", "https://x/\x7f"+key), "channel chat: url must be an address"},
		{config("hook", notify.Webhook, "url", "https://x/", "secret", "hunter2"), "channel hook: secret must have 16 characters"},
		{config("hook", notify.Webhook, "url", "https://x/", "secret", key, "public-only", "yes"), "channel hook: public-only must be true or false"},
		{config("mail", notify.Email, "server", "mail", "from", "x", "to", "y", "tls", "maybe"), "channel mail: server must be HOST:PORT\nchannel mail: from must be an address such as recoup@example.com\nchannel mail: to must be addresses"},
		{config("mail", notify.Email, "server", "mail:25", "from", "a@b", "to", "c@d", "user", "u", "password", key, "tls", "none"), "channel mail: tls must not be none"},
	}
	for _, row := range rows {
		err := row.c.Check()
		switch {
		case row.want == "" && err != nil:
			t.Errorf("%s: %v", row.c.Name, err)
		case row.want != "" && (err == nil || !strings.Contains(err.Error(), row.want)):
			t.Errorf("%s: got %v, want %s", row.c.Name, err, row.want)
		case err != nil && strings.Contains(err.Error(), "hunter2"):
			t.Errorf("a secret leaks: %v", err)
		}
		if _, made := notify.New(row.c, tools()); (made == nil) != (err == nil) {
			t.Errorf("%s: made %v, checked %v", row.c.Name, made, err)
		}
	}
}
