package endtoend

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// images is a policy of a pipeline whose stages have three attempts, and hardly wait.
const images = `version: 1
tables:
  images.errors: {entity: image_id}
stages:
  max_attempts: 3
  schedule: {kind: exponential, base: 10ms, multiplier: 2, cap: 50ms, jitter: full}
`

// plainWorker is somebody with nothing but HTTP.
type plainWorker struct {
	*site
	work, token string
}

// sends asks for something, and holds the answer to a status and to what is in it.
func (w *plainWorker) sends(method, path, body string, status int, parts ...string) string {
	w.Helper()
	got := w.ask(method, path, body)
	for _, part := range parts {
		if !strings.Contains(got.body, part) {
			w.Fatalf("%s %s is answered without %s: %s", method, path, part, got.body)
		}
	}
	if got.status != status {
		w.Fatalf("%s %s is answered with %d, want %d: %s", method, path, got.status, status, got.body)
	}
	return got.body
}

// claims waits for work at a stage.
func (w *plainWorker) claims(stage string, parts ...string) {
	w.Helper()
	body := w.sends(http.MethodPost, "/v1/work/claim",
		`{"lanes": [{"pipeline": "thumbnails", "stage": "`+stage+`"}], "worker": "curl", "wait_seconds": 30}`, 200, parts...)
	var claimed struct {
		Work []struct {
			ID    string `json:"work_id"`
			Token string `json:"lease_token"`
		} `json:"work"`
	}
	if err := json.Unmarshal([]byte(body), &claimed); err != nil || len(claimed.Work) != 1 {
		w.Fatalf("claimed %s, %v", body, err)
	}
	w.work, w.token = claimed.Work[0].ID, claimed.Work[0].Token
}

// fails says that a stage failed.
func (w *plainWorker) failsAt(stage, class string, parts ...string) {
	w.Helper()
	w.sends(http.MethodPost, "/v1/work/"+w.work+"/fail", `{"lease_token": "`+w.token+`", "failure": {"stage": "`+stage+`", "error_class": "`+class+`",
		"last_stack": "none", "sanitized_context": {}, "first_failure_at": "2026-02-02T09:00:00Z", "last_failure_at": "2026-02-02T09:00:00Z"}}`, 200, parts...)
}

// With nothing but HTTP: work about an image is retried by the server when a stage fails
// that may be, at that stage; when the attempts of the policy are used up it is a dead
// letter, which keeps the image from being promoted until its replay is verified.
func TestPlainWorker(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		file := filepath.Join(t.TempDir(), "policy.yaml")
		if err := os.WriteFile(file, []byte(images), 0o600); err != nil {
			t.Fatal(err)
		}
		w := &plainWorker{site: newSite(t, d)}
		w.flags = []string{"--policy", file}
		w.start()
		const get, post = http.MethodGet, http.MethodPost
		w.sends(post, "/v1/work", `{"work": [{"pipeline": "thumbnails", "stage": "fetch", "entity_id": "img-1", "payload_ref": "s3://in/1"}]}`, 201, `"entity_id":"img-1"`)
		w.claims("fetch", `"entity_id":"img-1"`)
		w.failsAt("fetch", "network_timeout", `"due_at"`, `"fetch":{"attempts":1,`)
		w.claims("fetch")
		for range 2 { // the next stage has attempts of its own
			w.failsAt("scale", "external_service_timeout", `"due_at"`)
			w.sends(get, "/v1/promotion/img-1", "", 200, `"blocked":false`)
			w.claims("scale")
		}
		w.failsAt("scale", "external_service_timeout", `"dead_letter"`, `"exhausted":true`, `"entity_id":"img-1"`, `"park_reason":"MAX_RETRIES_EXCEEDED"`)

		gate := w.sends(get, "/v1/promotion/img-1", "", 200, `"blocked":true`, `"dead_letter":true`, `"owner":"platform-team"`, `"ends_at"`)
		var g struct {
			Blockers []struct {
				ID string `json:"error_id"`
			} `json:"blockers"`
		}
		if err := json.Unmarshal([]byte(gate), &g); err != nil || len(g.Blockers) != 1 {
			t.Fatalf("the gate is %s, %v", gate, err)
		}
		letter := "/v1/dead-letters/" + g.Blockers[0].ID
		w.sends(post, "/v1/promotions", `{"entity_id": "img-1", "phase": "published"}`, 409, "PROMOTION_BLOCKED", "blocked by a dead letter")
		w.sends(get, letter, "", 200, `"attempts":{"fetch":1,"scale":3}`, `"next_step":"triage"`)

		w.sends(post, letter+"/triage", `{"cause": "TRANSIENT", "stage": "scale", "error_class": "external_service_timeout", "exhausted": true}`, 200)
		w.sends(post, letter+"/remediate", `{"link": "INC-1", "upstream_checked": "it is back"}`, 200)
		w.sends(post, letter+"/validate", `{"idempotent": true}`, 200)
		w.sends(post, letter+"/replay", `{"reason": "the upstream is back"}`, 201)
		w.claims("scale", `"entity_id":"img-1"`)
		w.sends(post, "/v1/work/"+w.work+"/succeed", `{"lease_token": "`+w.token+`"}`, 200)
		w.sends(post, "/v1/promotions", `{"entity_id": "img-1", "phase": "published"}`, 409, "PROMOTION_BLOCKED")
		w.sends(post, letter+"/verify", `{"outcome": "DELIVERED", "note": "seen"}`, 200)
		w.sends(post, "/v1/promotions", `{"entity_id": "img-1", "phase": "published"}`, 201)

		w.sends(post, "/v1/work", `{"work": [{"pipeline": "thumbnails", "stage": "fetch", "entity_id": "img-2"}]}`, 201)
		w.claims("fetch")
		w.failsAt("fetch", "validation_error", `"dead_letter"`) // no retry helps
		w.sends(get, "/v1/promotion/img-2", "", 200, `"blocked":true`)
	})
}
