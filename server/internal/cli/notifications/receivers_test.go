package notifications_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/clitest"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The receivers are listed with what they get and how it goes.
func TestReceivers(t *testing.T) {
	t.Parallel()
	n := clitest.New(t, false)
	values := map[string]string{"url": "https://render.example/hunter2", "secret": "hunter2hunter2hunter2"}
	n.Serve(false, func(o *app.Options) {
		o.Receivers = []push.Config{{Name: "verify", Kind: gatezero.ReceiverKind, Values: values}}
	})
	var listed wire.Receivers
	clitest.Parse(t, n.Must("receivers", "list", "--json"), &listed)
	table := n.Must("receivers", "list")
	if len(listed.Receivers) != 1 || listed.Receivers[0].Name != "verify" || strings.Contains(table, "hunter2") ||
		!strings.Contains(table, "verify    gate_zero  all batches  0/4        none       up") {
		t.Errorf("%+v, printed\n%s", listed, table)
	}
	if r := clitest.Start(t, false).Run("receivers", "list"); r.Status != command.ExitDone || r.Out != "" || !strings.Contains(r.Err, "pushes no work") {
		t.Errorf("ends with %+v", r)
	}
}

// A receiver that fails says why, and until when it is left alone.
func TestReceiversThatFail(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write([]byte(`{"node":"n1","receivers":[
			{"name":"render","kind":"work","lanes":[{"pipeline":"criticizer","stage":"fetch"},{"pipeline":"criticizer","stage":"llm"}],"concurrency":4,
			 "state":"backing_off","until":"2026-02-05T08:04:00Z","failures":3,"misconfigured":true,"last_error":"answered with status 401",
			 "last_error_at":"2026-02-05T07:59:00Z","in_flight":0,"deliveries":{"succeed":7,"failed":3,"taken":0}},
			{"name":"verify","kind":"gate_zero","batch_id":"b1","concurrency":2,"state":"backing_off","in_flight":1,"deliveries":{}}]}`))
	}))
	defer server.Close()
	n := clitest.At(t, server.URL)
	got := n.Must("receivers", "list")
	for _, want := range []string{
		"criticizer/fetch criticizer/llm", "3 failed, 7 succeed", "backing off, retried in 4m, misconfigured?", "answered with status 401 (1m ago)", "batch b1", "1/2", "none",
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not in\n%s", want, got)
		}
	}
}
