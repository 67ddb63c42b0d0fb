package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/api"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	plantedSecret = "AKIAIOSFODNN7EXAMPLE"
	plantedCard   = "4111 1111 1111 1111"
)

// notStored are the operations whose example changes nothing, so that no reason is stored:
// there is no bus, no notice has failed, and a lease that is extended has no history.
var notStored = []string{"POST /v1/bus/quarantine/retry", "POST /v1/bus/quarantine/drop", "POST /v1/notices/resend", "POST /v1/retries/{id}/extend"}

// An act is not refused because its reason holds a secret: the secret is replaced before
// the reason is stored, audited and answered. The test covers every operation that takes
// a reason, and then reads the whole database.
func TestReasonsAreRedacted(t *testing.T) {
	t.Parallel()
	w := newWorld(t).withPipelines()
	marks := map[string]string{}
	for _, rt := range routeInfos() {
		in, query := takesReason(rt.In)
		if !in && !query || rt.Method == http.MethodGet {
			continue
		}
		mark := fmt.Sprintf("planted-%03d", len(marks))
		marks[rt.Name()] = mark
		path, body := w.effective(rt)
		reason := mark + " with " + plantedSecret + " and card " + plantedCard
		if query {
			path = withReasonAsked(t, path, reason)
		} else {
			body = withReason(t, body, reason)
		}
		if text := w.do("admin", rt.Method, path, body).ok().Body.String(); holdsPlanted(text) {
			t.Errorf("%s answers with the secret: %s", rt.Name(), text)
		}
	}
	if len(marks) < 30 {
		t.Fatalf("only %d operations take a reason", len(marks))
	}
	if holdsPlanted(w.get("/v1/audit?limit=1000").Body.String()) {
		t.Error("the audit answers with the secret")
	}
	stored := w.stored()
	if holdsPlanted(stored) {
		t.Error("the database holds the secret")
	}
	for name, mark := range marks {
		if !strings.Contains(stored, mark) && !slices.Contains(notStored, name) {
			t.Errorf("the reason given to %s is not in the database", name)
		}
	}
}

// effective returns the example of a route, prepared so that the call changes something.
func (w *world) effective(rt api.RouteInfo) (path string, body any) {
	w.Helper()
	path, body = examples()[rt.Name()].make(w, dol)
	bulk, isBulk := body.(recoup.BulkAct)
	switch {
	case isBulk:
		var preview struct{ Token string }
		w.post(path, bulk).ok(&preview)
		body = recoup.BulkAct{Act: bulk.Act, Token: preview.Token}
	case rt.Name() == "PUT /v1/policy":
		body = wire.PolicyChange{Text: pipelinePolicy("1.0.2"), Rebase: true}
	case rt.Name() == "DELETE /cl/gate-zero/kill-switch":
		w.post(path, nil).ok()
	case strings.HasSuffix(rt.Path, "/resume"):
		w.post(strings.TrimSuffix(path, "resume")+"pause", recoup.Act{Reason: "first"}).ok()
	}
	return path, body
}

// takesReason reports whether a request has a reason in its body, also in the input of an
// operation, or in its query.
func takesReason(in reflect.Type) (body, query bool) {
	for _, f := range reflect.VisibleFields(in) {
		query = query || f.Tag.Get("query") == "reason"
	}
	of, ok := in.FieldByName("Body")
	if !ok || of.Type.Kind() != reflect.Struct {
		return false, query
	}
	for _, f := range reflect.VisibleFields(of.Type) {
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		body = body || name == "reason" || name == "input"
	}
	return body, query
}

// withReason returns a body with a reason.
func withReason(t *testing.T, body any, reason string) any {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	m := map[string]any{}
	decodeInto(t, text, &m)
	if input, ok := m["input"].(map[string]any); ok {
		input["reason"] = reason
	} else {
		m["reason"] = reason
	}
	return m
}

// withReasonAsked returns a path with a reason in its query.
func withReasonAsked(t *testing.T, path, reason string) string {
	t.Helper()
	u, err := url.Parse(path)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	q.Set("reason", reason)
	u.RawQuery = q.Encode()
	return u.String()
}

func holdsPlanted(text string) bool {
	return strings.Contains(text, plantedSecret) || strings.Contains(text, plantedCard)
}

// stored returns the bytes of the database.
func (w *world) stored() string {
	w.Helper()
	var all strings.Builder
	for _, file := range []string{w.file, w.file + "-wal"} {
		b, err := os.ReadFile(file)
		if err != nil {
			w.Fatal(err)
		}
		all.Write(b)
	}
	return all.String()
}
