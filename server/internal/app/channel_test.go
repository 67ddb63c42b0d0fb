package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/notify"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

func configFile(t *testing.T, text string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "recoup.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// Channels come from the file, and the environment adds to it and replaces; what is
// secret is never shown.
func TestChannelConfig(t *testing.T) {
	t.Parallel()
	file := configFile(t, `
url: https://recoup.example.com/
channels:
  chat: {kind: slack, url: https://hooks.slack.com/services/hunter2}
  team-mail: {kind: email, server: mail:587, from: recoup@example.com, to: [a@example.com, b@example.com], user: recoup, password: hunter2}
  hook: {kind: webhook, url: https://x.example/hunter2, secret: hunter2hunter2hunter2, public_only: true}
`)
	env := map[string]string{
		"RECOUP_CHANNELS": "pager, chat", "RECOUP_CHANNEL_PAGER_KIND": "pagerduty", "RECOUP_CHANNEL_PAGER_KEY": "hunter2pager",
		"RECOUP_CHANNEL_CHAT_URL": "https://hooks.slack.com/services/hunter2new", "RECOUP_CHANNEL_TEAM_MAIL_PASSWORD": "hunter2mail",
	}
	read, options, err := app.ReadConfig(nil, lookup(env), file, noneAdded)
	if err != nil {
		t.Fatal(err)
	}
	want := []notify.Config{
		{Name: "chat", Kind: "slack", Values: map[string]string{"url": "https://hooks.slack.com/services/hunter2new"}},
		{Name: "hook", Kind: "webhook", Values: map[string]string{"url": "https://x.example/hunter2", "secret": "hunter2hunter2hunter2", "public-only": "true"}},
		{Name: "pager", Kind: "pagerduty", Values: map[string]string{"key": "hunter2pager"}},
		{Name: "team-mail", Kind: "email", Values: map[string]string{
			"server": "mail:587", "from": "recoup@example.com", "to": "a@example.com, b@example.com", "user": "recoup", "password": "hunter2mail",
		}},
	}
	if !reflect.DeepEqual(options.Channels, want) || options.URL != "https://recoup.example.com" {
		t.Errorf("got %+v, %s\nwant %+v", options.Channels, options.URL, want)
	}
	shown := map[string]config.Value{}
	for _, v := range read.Masked() {
		if shown[v.Name] = v; strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s is shown as %s", v.Name, v.Value)
		}
	}
	for name, want := range map[string]config.Value{
		"channels.chat.url":         {Value: "***", Source: "RECOUP_CHANNEL_CHAT_URL"},
		"channels.chat.kind":        {Value: "slack", Source: file},
		"channels.pager.key":        {Value: "***", Source: "RECOUP_CHANNEL_PAGER_KEY"},
		"channels.team-mail.to":     {Value: "a@example.com, b@example.com", Source: file},
		"channels.hook.public-only": {Value: "true", Source: file},
	} {
		if got := shown[name]; got.Value != want.Value || got.Source != want.Source {
			t.Errorf("%s is shown as %+v, want %+v", name, got, want)
		}
	}
}

// All that is wrong with channels is reported at once, and none of their secrets.
func TestBadChannels(t *testing.T) {
	t.Parallel()
	_, _, err := app.ReadConfig(map[string]string{"url": "recoup"}, lookup(map[string]string{"RECOUP_CHANNELS": "pager"}), configFile(t, `
channels:
  chat: {kind: slack, url: http://hooks.example.com/hunter2, token: hunter2}
  mail: hunter2
  hook: {kind: webhook, url: https://x, secret: hunter2}
`), noneAdded)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		"channel chat: url must begin with https://", "channel chat: token is nothing that", `channel "mail" must be of the form`,
		"channel hook: secret must have 16", "channel pager: kind must be one of", "url (from --url): must be an address",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret leaks: %v", err)
	}
	if _, _, err := app.ReadConfig(nil, lookup(nil), configFile(t, "channels: [chat]\n"), noneAdded); err == nil || !strings.Contains(err.Error(), "channels must be of the form") {
		t.Errorf("got %v", err)
	}
	if _, err := app.Open(t.Context(), app.Options{
		Database: "sqlite:" + sqlitetest.File(t, t.TempDir()), Listen: "127.0.0.1:0", Channels: []notify.Config{{Name: "chat", Kind: notify.Slack}},
	}); err == nil || !strings.Contains(err.Error(), "channel chat: url is missing") {
		t.Errorf("a node starts with %v", err)
	}
}

// A node notifies of what happens in it, through the channel that its policy names.
func TestNodeNotifies(t *testing.T) {
	t.Parallel()
	got := make(chan string, 100)
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		got <- string(body)
	}))
	t.Cleanup(hook.Close)
	text := strings.Replace(string(policy.DefaultFile()), "version: 1.0.0", "version: 1.0.1", 1)
	text = strings.Replace(text, "  digests:\n", "  teams:\n    platform-team: [{channel: hook, from: PAGE}, {channel: nowhere, from: PAGE}]\n  digests:\n", 1)
	n := live.Start(t, app.Options{
		Policy: configFile(t, text), URL: "https://recoup.example.com", Grace: 5 * time.Second,
		Channels: []notify.Config{{Name: "hook", Kind: notify.Webhook, Values: map[string]string{"url": hook.URL, "secret": "sixteen characters", "public-only": "false"}}},
	})
	said := n.Call(http.MethodPost, "/v1/errors", `{"table":"outreach.dol_errors","entity_id":"CO-1","code":"RUNTIME_BUG","message":"do not tell"}`)
	sent := <-got
	for _, want := range []string{`"kind":"PAGE"`, `"to":"platform-team"`, `"code":"RUNTIME_BUG"`, `"link":"https://recoup.example.com/console/errors/`} {
		if !strings.Contains(sent, want) {
			t.Errorf("the notification does not have %s: %s\nafter %s", want, sent, said)
		}
	}
	if strings.Contains(sent, "do not tell") || strings.Contains(sent, "CO-1") {
		t.Errorf("too much is sent: %s", sent)
	}
	figures := n.Call(http.MethodGet, "/metrics", "")
	for _, want := range []string{`recoup_notifications_total{channel="log",outcome="given_up"} 0`, `recoup_notices{state="given_up"} 0`, `recoup_channel_missing{channel="nowhere"} 1`} {
		if !strings.Contains(figures, want) {
			t.Errorf("no metric %s", want)
		}
	}
	if ready := n.Call(http.MethodGet, "/readyz", ""); !strings.Contains(ready, `"ready"`) {
		t.Errorf("the node is %s", ready)
	}
}
