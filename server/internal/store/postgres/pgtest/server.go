package pgtest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

const superuser = "postgres"

// patience is how long a server may take to start or to recover.
const patience = time.Minute

// Options of a server.
type Options struct {
	// Durable keeps fsync on and the files on disk, for tests that kill the
	// server. Without it a server is faster, and worthless after a crash.
	Durable bool

	// Settings are those of the server that a test wants otherwise, as NAME=VALUE.
	Settings []string

	// Environment is added to that of the server's programs, as NAME=VALUE.
	Environment []string
}

// Server is a running PostgreSQL.
type Server struct {
	dir        string // files, socket and log
	options    Options
	programs   programs
	as         *syscall.Credential // whom the server runs as; nil: as the test
	postgres   *exec.Cmd
	done       chan struct{} // closed when the process is gone
	undertaker io.Closer     // removes everything when it is closed

	template func() (string, error) // a migrated database, made when it is asked for
}

// Start starts a server for one test, which may stop and kill it. It is removed
// when the test ends.
func Start(t testing.TB, o Options) *Server {
	t.Helper()
	s, err := start(o)
	if err != nil {
		t.Fatal(err)
	}
	s.removeAfter(t)
	return s
}

// removeAfter ends the server and removes its files when the test ends.
func (s *Server) removeAfter(t testing.TB) {
	t.Cleanup(func() {
		if s.postgres != nil {
			s.signal(syscall.SIGQUIT)
		}
		if err := s.undertaker.Close(); err != nil {
			t.Error(err)
		}
	})
}

func start(o Options) (*Server, error) {
	found, err := findPrograms()
	if err != nil {
		return nil, err
	}
	s, err := initialised(found, o)
	if err != nil {
		return nil, err
	}
	return s, s.first()
}

// initialised makes the files of a server that does not run yet.
func initialised(found programs, o Options) (s *Server, err error) {
	s = &Server{options: o, programs: found}
	s.template = sync.OnceValues(s.makeTemplate)
	if s.as, err = credential(); err != nil {
		return nil, err
	}
	return s, s.prepare(s.initialise)
}

// first starts a server for the first time.
func (s *Server) first() error {
	if err := s.Restart(); err != nil {
		return err
	}
	return s.admin(context.Background(), "create role "+owner+" login createdb createrole")
}

// prepare makes the directory, charges someone with removing it, and has it filled.
func (s *Server) prepare(fill func() error) (err error) {
	if s.dir, err = os.MkdirTemp(s.home(), "recoup-pg-"); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := s.hireUndertaker(); err != nil {
		return err
	}
	if s.as != nil {
		if err := os.Chown(s.dir, int(s.as.Uid), int(s.as.Gid)); err != nil {
			return fmt.Errorf("pgtest: %w", err)
		}
	}
	return fill()
}

// initialise makes the files of a new server.
func (s *Server) initialise() error {
	out, err := s.command(s.programs.initdb, "--pgdata", s.data(), "--username", superuser,
		"--auth", "trust", "--encoding", "UTF8", "--no-locale", "--no-sync").CombinedOutput()
	if err != nil {
		return fmt.Errorf("pgtest: initdb: %w\n%s", err, out)
	}
	return nil
}

// home is where the files go: into memory if they need not outlive a crash and
// there is room.
func (s *Server) home() string {
	const memory = "/dev/shm"
	var fs syscall.Statfs_t
	if s.options.Durable || syscall.Statfs(memory, &fs) != nil || fs.Bavail*uint64(fs.Bsize) < 1<<30 {
		return os.TempDir()
	}
	return memory
}

// hireUndertaker starts a shell that waits for the end of a pipe, which this
// process holds and the kernel closes however the process ends, and then kills
// the server and removes its files. (A parent-death signal would follow the
// thread that started the server, and would leave the files.)
func (s *Server) hireUndertaker() error {
	const script = `read -r nothing
ours() { [ -n "$pid" ] && ps -o args= -p "$pid" | grep -qF "$1"; }
for file in "$1"/pooler-*/pid; do
  pid=$(head -n 1 "$file" 2>/dev/null)
  ours "$1" && kill -TERM "$pid"
done
pid=$(head -n 1 "$1/data/postmaster.pid" 2>/dev/null)
ours "$1" && kill -QUIT "$pid"
while ours "$1"; do sleep 0.1; done
rm -rf "$1"`
	cmd := exec.Command("/bin/sh", "-c", script, "sh", s.dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	s.undertaker = closer(func() error { return errors.Join(stdin.Close(), cmd.Wait()) })
	return nil
}

type closer func() error

func (c closer) Close() error { return c() }

// Restart starts a server that was stopped or killed, and returns when it
// answers.
func (s *Server) Restart() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for {
		if err := s.launch(); err != nil {
			return err
		}
		err := s.await(ctx)
		if err == nil {
			return nil
		}
		// Processes of a killed server may hold its memory for a moment.
		if s.running() || ctx.Err() != nil {
			return fmt.Errorf("pgtest: the server does not start: %w\n%s", err, s.log())
		}
	}
}

func (s *Server) launch() error {
	settings := []string{"-D", s.data(), "-k", s.dir, "-c", "listen_addresses=", "-c", "max_connections=200",
		"-c", "shared_buffers=256MB", "-c", "max_wal_size=4GB", "-c", "logging_collector=off"}
	if !s.options.Durable {
		settings = append(settings, "-c", "fsync=off", "-c", "full_page_writes=off")
	}
	for _, setting := range s.options.Settings {
		settings = append(settings, "-c", setting)
	}
	log, err := os.OpenFile(filepath.Join(s.dir, "log"), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { _ = log.Close() }()
	cmd, done := s.command(s.programs.postgres, settings...), make(chan struct{})
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	go func() { _ = cmd.Wait(); close(done) }()
	s.postgres, s.done = cmd, done
	return nil
}

// await returns when the server accepts connections, or is gone.
func (s *Server) await(ctx context.Context) error {
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.url(superuser, "postgres"))
		if err == nil {
			return conn.Close(ctx)
		}
		select {
		case <-s.done:
			return err
		case <-ctx.Done():
			return err
		case <-tick.C:
		}
	}
}

// Stop shuts the server down in order: sessions are ended, nothing is lost.
func (s *Server) Stop() { s.signal(syscall.SIGINT) }

// Abort ends the server and its sessions at once, as pg_ctl stop -m immediate
// does: the next start recovers from the log.
func (s *Server) Abort() { s.signal(syscall.SIGQUIT) }

// Kill ends the server without warning, as a crash of its machine's power
// supply would, but for what the operating system still writes.
func (s *Server) Kill() { s.signal(syscall.SIGKILL) }

// signal sends a signal that ends the server and waits for its end.
func (s *Server) signal(sig syscall.Signal) {
	if s.running() {
		_ = s.postgres.Process.Signal(sig)
		<-s.done
	}
}

func (s *Server) running() bool {
	select {
	case <-s.done:
		return false
	default:
		return true
	}
}

// command runs a program of PostgreSQL in a session of its own, so that an
// interrupt at the terminal reaches the test alone.
func (s *Server) command(name string, args ...string) *exec.Cmd {
	cmd := exec.Command(name, args...)
	cmd.Dir = s.dir
	cmd.Env = s.environment()
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: s.as}
	return cmd
}

func (s *Server) data() string { return filepath.Join(s.dir, "data") }

// Log returns what the server has logged.
func (s *Server) Log(t testing.TB) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// log returns the end of the server's log.
func (s *Server) log() string {
	text, err := os.ReadFile(filepath.Join(s.dir, "log"))
	if err != nil {
		return err.Error()
	}
	lines := strings.Split(string(text), "\n")
	return strings.Join(lines[max(0, len(lines)-20):], "\n")
}
