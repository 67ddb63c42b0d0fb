package endtoend

import (
	"encoding/json"
	"io"
	"net/http"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/test/program"
)

// A program says what it was built from: on the command line, to whoever asks whether
// it runs, and in its metrics. A supervisor can ask with the program itself.
func TestBuild(t *testing.T) {
	t.Parallel()
	var own app.Version
	out, err := exec.CommandContext(t.Context(), program.Path(t), "version", "--json").Output()
	if err == nil {
		err = json.Unmarshal(out, &own)
	}
	if err != nil || own.Version == "" || strings.Contains(own.Version, "(") {
		t.Fatalf("its version is %q: %v", out, err)
	}
	s := newSite(t, live.SQLite(t))
	s.start()
	var health app.Version
	if err := json.Unmarshal([]byte(asked(t, s, "/healthz")), &health); err != nil || health.Version != own.Version || health.Revision != own.Revision {
		t.Errorf("/healthz says %+v, want %+v: %v", health, own, err)
	}
	if metrics := asked(t, s, "/metrics"); !strings.Contains(metrics, `recoup_build_info{`) || !strings.Contains(metrics, `version="`+own.Version+`"`) {
		t.Error("the metrics do not name the build")
	}
	check := func() error {
		return exec.CommandContext(t.Context(), program.Path(t), "healthcheck", "--listen", *s.address.Load()).Run()
	}
	if err := check(); err != nil {
		t.Errorf("healthcheck of a node that is ready: %v", err)
	}
	if err := s.signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if check() == nil {
		t.Error("healthcheck of a node that has ended succeeds")
	}
}

// asked returns what a site's node answers its administrator.
func asked(t *testing.T, s *site, path string) string {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+*s.address.Load()+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Header.Set("Authorization", "Bearer "+s.key())
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	body, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(body)
}
