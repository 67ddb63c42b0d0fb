package endtoend

import (
	"bufio"
	"encoding/json"
	"net/http"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestFailuresAreLoggedWithTheirContext refuses a call and reads what the node has
// logged of it: spec 001's context of request, environment and user.
func TestFailuresAreLoggedWithTheirContext(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.flags = []string{"--log-format", "json"}
		s.start()
		admin, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		reader, err := adminapi.New(admin).Keys.Create(t.Context(), wire.NewKey{Name: "ada", Role: "reader"})
		if err != nil {
			t.Fatal(err)
		}
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+*s.address.Load()+"/v1/errors", strings.NewReader(`{}`))
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range map[string]string{
			"Authorization": "Bearer " + reader.Secret, "Content-Type": "application/json", "User-Agent": "importer/2.1",
			"X-Request-ID": "req_context", "X-Recoup-Service": "ingest-repo", "Traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
		} {
			r.Header.Set(name, value)
		}
		answer, err := http.DefaultClient.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = answer.Body.Close() }()
		if answer.StatusCode != http.StatusForbidden {
			t.Fatalf("it is answered %s", answer.Status)
		}
		if err := s.signal(syscall.SIGTERM); err != nil { // so that all that is logged has been written
			t.Error(err)
		}
		logged := contextOf(t, s.log.String(), "req_context")
		for field, want := range map[string]string{
			"trace_id": "0af7651916cd43dd8448eb211c80319c", "user_agent": "importer/2.1", "api_version": "v1", "endpoint": "POST /v1/errors",
			"account_id": "ada", "request_source": "ingest-repo", "client": "127.0.0.1",
		} {
			if logged[field] != want {
				t.Errorf("%s is %v, want %s: %v", field, logged[field], want, logged)
			}
		}
		if logged["server_id"] == nil || logged["timestamp"] == nil {
			t.Errorf("the environment is missing: %v", logged)
		}
		if id, _ := logged["api_key_id"].(string); id == "" || strings.Contains(s.log.String(), reader.Secret) {
			t.Errorf("the key is logged as %q", id)
		}
	})
}

// contextOf returns the context of the failed request of that id.
func contextOf(t *testing.T, log, id string) map[string]any {
	t.Helper()
	lines := bufio.NewScanner(strings.NewReader(log))
	for lines.Scan() {
		var line struct {
			Level, Msg string
			Context    map[string]any
		}
		if json.Unmarshal(lines.Bytes(), &line) != nil || line.Context["request_id"] != id {
			continue
		}
		if line.Level != "WARN" {
			t.Errorf("it is logged as %s", line.Level)
		}
		return line.Context
	}
	t.Fatalf("nothing is logged of %s:\n%s", id, log)
	return nil
}
