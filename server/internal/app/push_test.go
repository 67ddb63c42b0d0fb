package app_test

import (
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
)

// Receivers come from the file and the environment as channels do; what is secret is
// never shown.
func TestReceiverConfig(t *testing.T) {
	t.Parallel()
	file := configFile(t, `
receivers:
  render: {kind: work, url: https://x.example/hunter2, secret: hunter2hunter2hunter2, lanes: [criticizer/fetch, criticizer/llm], concurrency: 8, timeout: 1m, public_only: true}
`)
	env := map[string]string{
		"RECOUP_RECEIVERS": "verify, render", "RECOUP_RECEIVER_VERIFY_KIND": "gate_zero", "RECOUP_RECEIVER_VERIFY_URL": "https://y.example/hunter2",
		"RECOUP_RECEIVER_VERIFY_SECRET": "hunter2hunter2hunter2", "RECOUP_RECEIVER_VERIFY_BATCH": "b1", "RECOUP_RECEIVER_RENDER_SECRET": "hunter2 from the environment",
	}
	read, options, err := app.ReadConfig(nil, lookup(env), file, slices.Config(slices.All()))
	if err != nil {
		t.Fatal(err)
	}
	want := []push.Config{
		{Name: "render", Kind: "work", Values: map[string]string{
			"url": "https://x.example/hunter2", "secret": "hunter2 from the environment", "lanes": "criticizer/fetch, criticizer/llm", "concurrency": "8", "timeout": "1m", "public-only": "true",
		}},
		{Name: "verify", Kind: "gate_zero", Values: map[string]string{"url": "https://y.example/hunter2", "secret": "hunter2hunter2hunter2", "batch": "b1"}},
	}
	if !reflect.DeepEqual(options.Receivers, want) || len(options.Channels) != 0 {
		t.Errorf("got %+v\nwant %+v", options.Receivers, want)
	}
	shown := map[string]config.Value{}
	for _, v := range read.Masked() {
		if shown[v.Name] = v; strings.Contains(v.Value, "hunter2") {
			t.Errorf("%s is shown as %s", v.Name, v.Value)
		}
	}
	for name, want := range map[string]config.Value{
		"receivers.render.url":    {Value: "***", Source: file},
		"receivers.render.secret": {Value: "***", Source: "RECOUP_RECEIVER_RENDER_SECRET"},
		"receivers.render.lanes":  {Value: "criticizer/fetch, criticizer/llm", Source: file},
		"receivers.verify.batch":  {Value: "b1", Source: "RECOUP_RECEIVER_VERIFY_BATCH"},
	} {
		if got := shown[name]; got.Value != want.Value || got.Source != want.Source {
			t.Errorf("%s is shown as %+v, want %+v", name, got, want)
		}
	}
}

// A receiver of a kind that a part of the program adds is read, and its secrets are not shown.
func TestAddedReceiver(t *testing.T) {
	t.Parallel()
	added := config.Added{Receivers: []config.Kind{{Name: "samples", Fields: []config.Field{{Name: "shelf", Required: true}, {Name: "token", Secret: true}}}}}
	env := map[string]string{
		"RECOUP_RECEIVERS": "lab", "RECOUP_RECEIVER_LAB_KIND": "samples", "RECOUP_RECEIVER_LAB_URL": "https://lab.example/",
		"RECOUP_RECEIVER_LAB_SECRET": "sixteen characters", "RECOUP_RECEIVER_LAB_TOKEN": "hunter2",
	}
	if _, _, err := app.ReadConfig(nil, lookup(env), "", added); err == nil || !strings.Contains(err.Error(), "receiver lab: shelf is missing") {
		t.Errorf("got %v", err)
	}
	env["RECOUP_RECEIVER_LAB_SHELF"] = "7"
	read, options, err := app.ReadConfig(nil, lookup(env), "", added)
	if err != nil || len(options.Receivers) != 1 || options.Receivers[0].Values["shelf"] != "7" {
		t.Errorf("got %+v, %v", options.Receivers, err)
	}
	if shelf, token := read.Masked().Get("receivers.lab.shelf"), read.Masked().Get("receivers.lab.token"); shelf != "7" || token != "***" {
		t.Errorf("shown are %q and %q", shelf, token)
	}
}

// All that is wrong with receivers is reported at once, and none of their secrets; also
// what is wrong only because of the policy.
func TestBadReceivers(t *testing.T) {
	t.Parallel()
	_, _, err := app.ReadConfig(nil, lookup(map[string]string{"RECOUP_RECEIVERS": "later"}), configFile(t, `
channels: {chat: {kind: slack}}
receivers:
  render: {kind: work, url: http://x.example/hunter2, secret: hunter2, token: hunter2}
  verify: hunter2
`), noneAdded)
	if err == nil {
		t.Fatal("it was taken")
	}
	for _, want := range []string{
		"channel chat: url is missing", "receiver render: url must begin with https://", "receiver render: token is nothing that", "receiver render: lanes is missing",
		"receiver render: secret must have 16", `receiver "verify" must be of the form`, "receiver later: kind must be one of",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("nothing is said of %q in %v", want, err)
		}
	}
	if strings.Contains(err.Error(), "hunter2") {
		t.Errorf("a secret leaks: %v", err)
	}
	if _, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + sqlitetest.File(t, t.TempDir()), Listen: "127.0.0.1:0", Receivers: []push.Config{
		{Name: "slow", Kind: push.Work, Values: map[string]string{"url": "https://x.example", "secret": "hunter2hunter2hunter2", "lanes": "a/b", "timeout": "15m"}},
	}}); err == nil || !strings.Contains(err.Error(), "receiver slow: its lease of 15m15s is longer than the policy allows") {
		t.Errorf("a node starts with %v", err)
	}
}

// A node delivers what is submitted to it, reports how it goes, and lets what is on its
// way end when it stops.
func TestNodeDelivers(t *testing.T) {
	t.Parallel()
	arrived, let := make(chan string, 10), make(chan struct{})
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		if err := client.VerifySignature("sixteen characters", r.Header.Get(client.SignatureHeader), body, time.Now(), 0); err != nil {
			t.Error(err)
		}
		arrived <- r.Header.Get("Idempotency-Key")
		<-let
		w.WriteHeader(http.StatusNoContent)
	}))
	t.Cleanup(hook.Close)
	file := "sqlite:" + sqlitetest.File(t, t.TempDir())
	n := live.Start(t, app.Options{Database: file, Receivers: []push.Config{
		{Name: "render", Kind: push.Work, Values: map[string]string{"url": hook.URL, "secret": "sixteen characters", "lanes": "criticizer/fetch", "public-only": "false"}},
	}})
	n.Call("POST", "/v1/work", `{"work":[{"work_id":"00000000-0000-0000-0000-0000000000aa","pipeline":"criticizer","stage":"fetch"}]}`)
	if got := <-arrived; got != "work/00000000-0000-0000-0000-0000000000aa/fetch" {
		t.Errorf("the key is %s", got)
	}
	if text := n.Call("GET", "/v1/receivers", ""); !strings.Contains(text, `"name":"render","kind":"work","lanes":[{"pipeline":"criticizer","stage":"fetch"}]`) ||
		!strings.Contains(text, `"state":"up"`) || !strings.Contains(text, `"in_flight":1`) || strings.Contains(text, hook.URL) {
		t.Errorf("receivers are %s", text)
	}
	metrics := n.Call("GET", "/metrics", "")
	for _, want := range []string{
		`recoup_deliveries_in_flight{receiver="render"} 1`, `recoup_receiver_up{receiver="render"} 1`,
		`recoup_deliveries_total{outcome="succeed",receiver="render"} 0`, `recoup_receiver_backoff_seconds{receiver="render"} 0`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("the metrics lack %s", want)
		}
	}
	n.Cancel()
	close(let)
	n.Stop()
	next := live.Start(t, app.Options{Database: file})
	next.Key = n.Key
	if text := next.Call("POST", "/v1/work/claim", `{"worker":"w","lanes":[{"pipeline":"criticizer","stage":"fetch"}]}`); !strings.HasPrefix(text, `{"work":[],"request_id":`) {
		t.Errorf("left is %s", text)
	}
	if text := next.Call("GET", "/v1/receivers", ""); !strings.Contains(text, `"receivers":[]`) {
		t.Errorf("receivers are %s", text)
	}
}
