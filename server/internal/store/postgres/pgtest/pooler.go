package pgtest

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// sharedSessions is how many sessions a pooler has for all its clients: few, so that
// a client seldom has the same one twice.
const sharedSessions = 4

// Pool starts a PgBouncer in front of the server of this process, until the test
// ends, and returns a function that makes an address of the server one of the
// pooler's. It listens on a socket in the server's folder. The mode is
// session, transaction or statement; more lines may be added to its settings.
func Pool(t testing.TB, mode string, more ...string) (through func(url string) string) {
	t.Helper()
	s, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	program, err := tool.Path("pgbouncer")
	if err != nil {
		t.Fatal(err)
	}
	folder, err := s.preparePooler(mode, more)
	if err != nil {
		t.Fatal(err)
	}
	cmd := s.command(program, "--quiet", filepath.Join(folder, "pgbouncer.ini"))
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() { _ = cmd.Wait(); close(ended) }()
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM) // at once, whoever is connected
		<-ended
	})
	awaitPooler(t, folder, ended)
	return func(address string) string {
		u, err := url.Parse(address)
		if err != nil {
			t.Fatal(err)
		}
		values := u.Query()
		values.Set("host", folder)
		u.RawQuery = values.Encode()
		return u.String()
	}
}

// preparePooler writes the settings of a pooler into a folder of its own.
func (s *Server) preparePooler(mode string, more []string) (folder string, err error) {
	if folder, err = os.MkdirTemp(s.dir, "pooler-"); err != nil {
		return "", fmt.Errorf("pgtest: %w", err)
	}
	settings := fmt.Sprintf(`[databases]
* = host=%s
[pgbouncer]
pool_mode = %s
default_pool_size = %d
max_client_conn = 500
listen_addr =
unix_socket_dir = %s
listen_port = 5432
auth_type = trust
auth_file = %[4]s/users
logfile = %[4]s/log
pidfile = %[4]s/pid
`, s.dir, mode, sharedSessions, folder)
	for _, line := range more {
		settings += line + "\n"
	}
	users := fmt.Sprintf("%q \"\"\n%q \"\"\n", owner, postgres.AppRole)
	for name, text := range map[string]string{"pgbouncer.ini": settings, "users": users} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o644); err != nil { // the pooler's user reads it, and it holds no secret
			return "", fmt.Errorf("pgtest: %w", err)
		}
	}
	if s.as != nil {
		if err := os.Chown(folder, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return "", fmt.Errorf("pgtest: %w", err)
		}
	}
	return folder, nil
}

// awaitPooler returns when a pooler accepts connections.
func awaitPooler(t testing.TB, folder string, ended <-chan struct{}) {
	t.Helper()
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(t.Context(), fmt.Sprintf("postgres://%s@/postgres?host=%s&sslmode=disable", owner, folder))
		if err == nil {
			_ = conn.Close(t.Context())
			return
		}
		select {
		case <-ended:
			log, _ := os.ReadFile(filepath.Join(folder, "log"))
			t.Fatalf("pgtest: the pooler does not start: %v\n%s", err, log)
		case <-tick.C:
		}
	}
}
