// Package s3test runs an S3 server for tests: versitygw, a process that keeps objects in a
// folder, and that scripts/setup builds.
package s3test

import (
	"bytes"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/test/tool"
)

// The key that a server knows, and its region.
const (
	KeyID  = "recoup-test"
	Secret = "a secret for tests alone"
	Region = "eu-test-1"
)

// Server is a running one.
type Server struct {
	URL    string
	Folder string // has a folder for each bucket, with the objects as files

	t       testing.TB
	program string
	address string
	cmd     *exec.Cmd
	ended   chan struct{}
	log     bytes.Buffer
}

// Start starts a server with a bucket, until the test ends.
func Start(t testing.TB, bucket string) *Server {
	t.Helper()
	s := &Server{t: t, Folder: filepath.Join(t.TempDir(), "objects"), program: find(t)}
	if err := os.MkdirAll(filepath.Join(s.Folder, bucket), 0o750); err != nil {
		t.Fatal(err)
	}
	// The port is free now, and stays the server's when it is started again.
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s.address = l.Addr().String()
	s.URL = "http://" + s.address
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Kill)
	s.Restart()
	return s
}

// find returns the server's program.
func find(t testing.TB) string {
	t.Helper()
	path, err := tool.Path("versitygw")
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// Restart starts a server that was killed, on the same address.
func (s *Server) Restart() {
	s.t.Helper()
	metadata, users := filepath.Join(filepath.Dir(s.Folder), "metadata"), filepath.Join(filepath.Dir(s.Folder), "users")
	for _, folder := range []string{metadata, users} {
		if err := os.MkdirAll(folder, 0o750); err != nil {
			s.t.Fatal(err)
		}
	}
	s.log.Reset()
	s.cmd = exec.Command(s.program, "--port", s.address, "--region", Region, "--access", KeyID, "--secret", Secret, "--keep-alive", "--iam-dir", users, "posix", "--sidecar", metadata, s.Folder)
	s.cmd.Stdout, s.cmd.Stderr = &s.log, &s.log
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
	s.ended = make(chan struct{})
	go func() { _ = s.cmd.Wait(); close(s.ended) }()
	for try := 0; ; try++ {
		connection, err := net.Dial("tcp", s.address)
		if err == nil {
			_ = connection.Close()
			return
		}
		select {
		case <-s.ended:
			s.t.Fatalf("the S3 server has ended: %s", &s.log)
		default:
		}
		if try == 1500 || retry.Sleep(s.t.Context(), 20*time.Millisecond) != nil {
			s.Kill()
			s.t.Fatalf("the S3 server does not listen on %s: %v", s.address, err)
		}
	}
}

// Kill ends the server with SIGKILL.
func (s *Server) Kill() {
	if s.cmd != nil && s.cmd.Process != nil {
		_ = s.cmd.Process.Kill()
		<-s.ended
	}
}

// Env is the environment of who may do all with it, as NAME=VALUE.
func (s *Server) Env() []string {
	return []string{
		"AWS_ENDPOINT_URL_S3=" + s.URL, "AWS_REGION=" + Region, "AWS_ACCESS_KEY_ID=" + KeyID, "AWS_SECRET_ACCESS_KEY=" + Secret,
		"AWS_SESSION_TOKEN=", "AWS_SHARED_CREDENTIALS_FILE=" + os.DevNull,
	}
}

// Getenv looks a variable up in that environment, with changes to it as NAME=VALUE.
func (s *Server) Getenv(changes ...string) func(string) string {
	values := map[string]string{}
	for _, pair := range append(s.Env(), changes...) {
		name, value, _ := strings.Cut(pair, "=")
		values[name] = value
	}
	return func(name string) string { return values[name] }
}

// Path is the file in which the server keeps an object.
func (s *Server) Path(bucket, key string) string {
	return filepath.Join(s.Folder, bucket, filepath.FromSlash(key))
}
