package endtoend

import (
	"context"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/test/program"
)

// demo runs recoup demo until the test ends, and returns where it listens, or what
// it said instead.
func demo(t *testing.T, env []string, flags ...string) (address, said string) {
	t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, program.Path(t), append([]string{"demo", "--listen", "127.0.0.1:0", "--month=false"}, flags...)...)
	cmd.Env = append(os.Environ(), env...)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	heard, log := make(chan string, 1), &text{}
	cmd.Stderr = &ear{text: log, heard: heard}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() { stop(); <-ended })
	select {
	case address = <-heard:
	case <-ended:
	}
	return address, log.String()
}

// A demo asks for no key, so it opens no database but those that a demo has made,
// whatever the environment says.
func TestDemoKeepsToItsOwn(t *testing.T) {
	onEither(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		s.done("/v1/errors", `{"table": "outreach.dol_errors", "entity_id": "REAL", "code": "NETWORK_TIMEOUT"}`)
		if address, said := demo(t, []string{"RECOUP_DATABASE=" + d.Nodes}); address == "" {
			t.Errorf("a demo beside a real database does not run: %s", said)
		} else if _, body := get(t, address, "/v1/errors?entity_id=REAL", ""); strings.Contains(body, "REAL") {
			t.Error("a demo shows what is in RECOUP_DATABASE")
		}
		if address, said := demo(t, nil, "--database", d.Nodes); address != "" || !strings.Contains(said, "was not made by a demo") {
			t.Errorf("a demo opens a real database, and says %s", said)
		}
		if got := s.ask(http.MethodGet, "/v1/errors", ""); strings.Count(got.body, `"entity_id"`) != 1 {
			t.Errorf("a demo has changed a real database: %s", got.body)
		}
	})
}

// A demo's own database is kept and opened again; a file of another program is not.
func TestDemoKeepsItsFile(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	own := "sqlite:" + filepath.Join(folder, "demo.db")
	for range 2 {
		t.Run("", func(t *testing.T) {
			if address, said := demo(t, nil, "--database", own); address == "" {
				t.Errorf("a demo does not open its own database: %s", said)
			}
		})
	}
	if address, said := demo(t, nil, "--database", pgtest.New(t)); address == "" {
		t.Errorf("a demo does not make an empty database its own: %s", said)
	}
	foreign := filepath.Join(folder, "foreign.db")
	if err := os.WriteFile(foreign, []byte("not a database, and somebody's"), 0o600); err != nil {
		t.Fatal(err)
	}
	if address, _ := demo(t, nil, "--database", "sqlite:"+foreign); address != "" {
		t.Error("a demo takes a file of somebody else")
	}
}

// A demo says where its console is, which asks nobody to sign in.
func TestDemoOpensOnTheConsole(t *testing.T) {
	t.Parallel()
	address, said := demo(t, nil)
	if !strings.Contains(said, "Open http://"+address+"/console/ in a browser: nobody has to sign in.\n") {
		t.Errorf("the demo says\n%s", said)
	}
	if status, body := get(t, address, "/console/", ""); status != http.StatusOK || !strings.Contains(body, "What fires") {
		t.Errorf("its console is %d:\n%.300s", status, body)
	}
}

// A name that somebody else has pointed to this machine (DNS rebinding) reaches
// nothing of a demo.
func TestDemoChecksHost(t *testing.T) {
	t.Parallel()
	address, said := demo(t, nil)
	if address == "" {
		t.Fatal(said)
	}
	for _, path := range []string{"/", "/v1/errors", "/healthz", "/readyz", "/metrics", "/openapi.json", "/docs", "/errors/TIMEOUT", "/nothing"} {
		if status, body := get(t, address, path, "evil.example:8080"); status != http.StatusForbidden {
			t.Errorf("%s under another's name: %d %.100s", path, status, body)
		}
	}
	if status, _ := get(t, address, "/docs", ""); status != http.StatusOK {
		t.Errorf("/docs: %d", status)
	}
}

// get asks for a page under a name; empty: its own.
func get(t *testing.T, address, path, host string) (status int, body string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = response.Body.Close() }()
	read, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, string(read)
}
