package notify_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// epoch is when the tests begin.
func epoch() time.Time { return time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC) }

func tools() notify.Tools {
	return notify.Tools{Now: epoch, Logger: slog.New(slog.DiscardHandler), Source: "node-1"}
}

func channel(t *testing.T, kind notify.Kind, tools notify.Tools, values ...string) notify.Channel {
	t.Helper()
	c, err := notify.New(config(string(kind)+"-1", kind, values...), tools)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// config makes a configuration from name, value, name, value…
func config(name string, kind notify.Kind, values ...string) notify.Config {
	c := notify.Config{Name: name, Kind: kind, Values: map[string]string{}}
	for i := 0; i < len(values); i += 2 {
		c.Values[values[i]] = values[i+1]
	}
	return c
}

// sample is a message about an error.
func sample() *notify.Message {
	return &notify.Message{
		ID: recoup.ID{1}, Kind: wire.NoticePaged, To: "platform-team", Urgency: policy.Page, At: epoch(), Title: "1 error that an operator has to look at now", Count: 1,
		Items: []notify.Item{{
			NoticeID: recoup.ID{1}, Key: "PAGE:platform-team:outreach.dol_errors:RUNTIME_BUG", Link: "https://recoup.example.com/console/errors/x", ErrorID: recoup.ID{2},
			Table: "outreach.dol_errors", Hub: "dol-filings", Code: "RUNTIME_BUG", Severity: "HIGH", Tier: 1, Blocking: true, Deadline: epoch().Add(time.Hour),
		}},
	}
}

type answerRow struct {
	name      string
	answer    http.HandlerFunc
	reason    string // empty: it is accepted
	permanent bool
	after     time.Duration
}

// patience is short only where nothing will come.
func (r *answerRow) patience() time.Duration {
	if r.name == "time-out" {
		return 200 * time.Millisecond
	}
	return time.Minute
}

// TestAnswers sends to an endpoint that misbehaves in every way there is, through
// every channel that speaks HTTP.
func TestAnswers(t *testing.T) {
	t.Parallel()
	rows := []answerRow{
		{name: "accepted", answer: nil},
		{"too many", status(429, "Retry-After", "30"), "status 429", false, 30 * time.Second},
		{"too many, until a date", status(429, "Retry-After", epoch().Add(time.Minute).Format(http.TimeFormat)), "status 429", false, time.Minute},
		{"too many, nonsense", status(429, "Retry-After", "soon"), "status 429", false, 0},
		{"broken", status(500), "status 500", false, 0},
		{"away", status(503, "Retry-After", "5"), "status 503", false, 5 * time.Second},
		{"flood", flood, "status 500", false, 0},
		{"invalid", status(400), "status 400", true, 0},
		{"too large", status(413), "status 413", true, 0},
		{"not allowed", status(403), "status 403", false, 0},
		{"gone", status(404), "status 404", false, 0},
		{"redirect", status(307, "Location", "http://127.0.0.1:1/elsewhere"), "redirects are not followed", false, 0},
		{"moved", status(301, "Location", "/elsewhere"), "redirects are not followed", false, 0},
		{"switched", switched, "status 101", false, 0},
		{"time-out", hang, "no answer in time", false, 0},
		{"closed", drop, "the connection failed", false, 0},
		{"garbage", garbage, "the connection failed", false, 0},
	}
	for _, kind := range []notify.Kind{notify.Slack, notify.PagerDuty, notify.Webhook} {
		for _, row := range rows {
			t.Run(string(kind)+"/"+row.name, func(t *testing.T) {
				t.Parallel()
				r, c := endpoint(t, kind)
				r.now(row.answer)
				ctx, cancel := context.WithTimeout(t.Context(), row.patience())
				defer cancel()
				wantFailure(t, c.Send(ctx, sample()), row.reason, row.permanent, row.after)
				if n := len(r.all()); n > 1 || n == 0 && row.name != "time-out" {
					t.Errorf("%d requests, want 1", n)
				}
			})
		}
	}
}

// secretPath is in the address of every endpoint, as a token is in Slack's.
const secretPath = "/services/T000/B000/hunter2hunter2"

// endpoint starts a receiver for a kind of channel, and makes the channel.
func endpoint(t *testing.T, kind notify.Kind) (*receiver, notify.Channel) {
	t.Helper()
	switch kind {
	case notify.Slack:
		r := newReceiver(t, http.StatusOK, checkSlack)
		return r, channel(t, kind, tools(), "url", r.URL+secretPath)
	case notify.PagerDuty:
		r := newReceiver(t, http.StatusAccepted, checkPager)
		return r, channel(t, kind, tools(), "url", r.URL+secretPath, "key", routingKey)
	}
	r := newReceiver(t, http.StatusNoContent, checkJSON)
	return r, channel(t, kind, tools(), "url", r.URL+secretPath, "secret", webhookSecret, "public-only", "false")
}

const webhookSecret = "correct horse battery staple"

// wantFailure compares a failure, and wants nothing secret in it.
func wantFailure(t *testing.T, err error, reason string, permanent bool, after time.Duration) {
	t.Helper()
	if reason == "" {
		if err != nil {
			t.Errorf("failed: %v", err)
		}
		return
	}
	var f *notify.Failure
	if !errors.As(err, &f) {
		t.Fatalf("got %v, want a failure", err)
	}
	if !strings.Contains(f.Reason, reason) || f.Permanent != permanent || f.RetryAfter != after {
		t.Errorf("got %+v, want %q, permanent %v, after %v", f, reason, permanent, after)
	}
	for _, secret := range []string{"hunter2", "127.0.0.1", routingKey, webhookSecret, "http", "elsewhere"} {
		if strings.Contains(f.Error(), secret) {
			t.Errorf("the failure tells %q: %s", secret, f)
		}
	}
}

// TestUnreachable wants a word about endpoints that are not there, and nothing of
// their addresses.
func TestUnreachable(t *testing.T) {
	t.Parallel()
	closed := httptest.NewServer(nil)
	closed.Close()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	secure.Config.ErrorLog = slog.NewLogLogger(slog.DiscardHandler, slog.LevelError)
	for address, want := range map[string]string{
		closed.URL:                        "it refuses connections",
		secure.URL:                        "its certificate is not trusted",
		"https://nowhere.invalid/hunter2": "its host is not found",
	} {
		c := channel(t, notify.Slack, tools(), "url", address)
		wantFailure(t, c.Send(t.Context(), sample()), want, false, 0)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	wantFailure(t, channel(t, notify.Slack, tools(), "url", closed.URL).Send(ctx, sample()), "stopped while sending", false, 0)
}

func TestTrustedCertificate(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusOK, checkSlack)
	secure := httptest.NewTLSServer(r)
	t.Cleanup(secure.Close)
	trusting := tools()
	trusting.Roots = secure.Client().Transport.(*http.Transport).TLSClientConfig.RootCAs
	if err := channel(t, notify.Slack, trusting, "url", secure.URL).Send(t.Context(), sample()); err != nil {
		t.Error(err)
	}
}

// TestSlackWords wants Slack's own word in a failure, but nothing else of an answer.
func TestSlackWords(t *testing.T) {
	t.Parallel()
	r, c := endpoint(t, notify.Slack)
	for said, want := range map[string]string{
		"invalid_payload":          "status 400: invalid_payload",
		"see https://x/y?token=zz": "status 400",
	} {
		r.now(func(w http.ResponseWriter, _ *http.Request) { http.Error(w, said, http.StatusBadRequest) })
		if err := c.Send(t.Context(), sample()); err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}

// TestLargeMessages wants messages within every receiver's bounds, whatever is in
// them.
func TestLargeMessages(t *testing.T) {
	t.Parallel()
	m := sample()
	m.More = 12_345
	m.Title = strings.Repeat("<!channel> ünïcödé & ", 20)
	m.To = "<@U123>"
	for i := range 100 {
		it := m.Items[0]
		it.Key += strings.Repeat("x", 3*i)
		it.Scope, it.Rule = strings.Repeat("<!here>&", 15), "*bold* `code` <https://evil|x>"
		m.Items = append(m.Items, it)
	}
	for _, kind := range []notify.Kind{notify.Slack, notify.PagerDuty, notify.Webhook} {
		_, c := endpoint(t, kind)
		if err := c.Send(t.Context(), m); err != nil {
			t.Errorf("%s: %v", kind, err)
		}
	}
}

func TestPublicOnly(t *testing.T) {
	t.Parallel()
	r := newReceiver(t, http.StatusOK, checkJSON)
	for _, row := range []struct {
		kind   notify.Kind
		values []string
	}{
		{notify.Webhook, []string{"secret", webhookSecret}},
		{notify.Webhook, []string{"secret", webhookSecret, "public-only", "true"}},
		{notify.Slack, []string{"public-only", "true"}},
	} {
		values := append([]string{"url", r.URL}, row.values...)
		c := channel(t, row.kind, tools(), values...)
		const want = "its address 127.0.0.1 is not public; public_only: false allows private networks"
		var failure *notify.Failure
		if err := c.Send(t.Context(), sample()); !errors.As(err, &failure) || failure.Reason != want || failure.Permanent {
			t.Errorf("%v: %v", values, err)
		}
		if len(r.all()) != 0 {
			t.Error("it was reached")
		}
	}
}

func TestLogChannel(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	logging := tools()
	logging.Logger = slog.New(slog.NewTextHandler(&b, nil))
	c := channel(t, notify.Log, logging)
	if err := c.Send(t.Context(), sample()); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"level=WARN", "kind=PAGE", "to=platform-team", "RUNTIME_BUG in outreach.dol_errors", "tier 1", "link=https://recoup.example.com/console/errors/x"} {
		if !strings.Contains(b.String(), want) {
			t.Errorf("the log has no %s: %s", want, b.String())
		}
	}
}
