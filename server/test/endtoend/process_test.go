package endtoend

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/bus/bustest"
	"github.com/recoup-dev/recoup/server/test/program"
)

func TestMain(m *testing.M) {
	if !bustest.Serve() {
		program.Main(m)
	}
}

// site is a place where a node is run, killed and run again. What is sent to it
// reaches the node that runs there now.
type site struct {
	*testing.T
	database string
	program  string   // of another version; empty: the one that is tested
	flags    []string // beside those of every node
	env      []string
	seen     func(*http.Response) // is shown what the site's clients get
	out, log *text                // of all its nodes
	address  atomic.Pointer[string]
	node     *exec.Cmd
	exited   chan error
	heard    chan string   // gets the node's address
	keyed    chan struct{} // closed once the first node has printed its key
	printed  func()
	keyFile  string // to which the first node writes its key
}

func newSite(t *testing.T, d database) *site {
	t.Helper()
	s := &site{T: t, database: d.Nodes, out: &text{}, log: &text{}, keyed: make(chan struct{}), keyFile: filepath.Join(t.TempDir(), "admin-key")}
	s.printed = sync.OnceFunc(func() { close(s.keyed) })
	nowhere := "127.0.0.1:1"
	s.address.Store(&nowhere)
	t.Cleanup(func() {
		if s.node != nil {
			_ = s.node.Process.Kill()
			<-s.exited
		}
	})
	return s
}

var listens = regexp.MustCompile(`Recoup listens on https?://(\S+)`)

// serve is the command that runs a node.
func (s *site) serve() *exec.Cmd {
	path := s.program
	if path == "" {
		path = program.Path(s.T)
	}
	cmd := exec.Command(path, append([]string{"serve", "--listen", "127.0.0.1:0", "--database", s.database,
		"--example", "spec", "--log-level", "debug", "--rate-per-key", "1000000"}, s.flags...)...)
	cmd.Env = append(append(os.Environ(), "RECOUP_ADMIN_KEY_FILE="+s.keyFile), s.env...)
	return cmd
}

// refuses runs a node that must not start, and returns what it says.
func (s *site) refuses() string {
	s.Helper()
	out, err := s.serve().CombinedOutput()
	if err == nil {
		s.Errorf("it has run, and ended well: %s", out)
	}
	return string(out)
}

// start runs a node and returns once it listens.
func (s *site) start() {
	s.Helper()
	s.launch()
	s.listens()
}

// launch runs a node.
func (s *site) launch() {
	s.Helper()
	s.heard = make(chan string, 1)
	s.node = s.serve()
	s.node.Stdout, s.node.Stderr = &printer{text: s.out, line: s.printed}, &ear{text: s.log, heard: s.heard}
	if err := s.node.Start(); err != nil {
		s.Fatal(err)
	}
	s.exited = make(chan error, 1)
	go func() { s.exited <- s.node.Wait() }()
}

// listens returns once the node does.
func (s *site) listens() {
	s.Helper()
	select {
	case address := <-s.heard:
		s.address.Store(&address)
	case err := <-s.exited:
		s.exited <- err
		s.Fatalf("the node ended: %v\n%s", err, s.log)
	}
}

// ear listens to what a node says of its address.
type ear struct {
	*text
	heard chan<- string
	said  string
}

func (e *ear) Write(p []byte) (int, error) {
	if e.heard != nil {
		e.said += string(p)
		if m := listens.FindStringSubmatch(e.said); m != nil && strings.HasSuffix(e.said, "\n") {
			e.heard <- m[1]
			e.heard = nil
		}
	}
	return e.text.Write(p)
}

// signal sends a signal that ends the node, and waits for its end.
func (s *site) signal(sig syscall.Signal) error {
	s.Helper()
	if err := s.node.Process.Signal(sig); err != nil {
		s.Fatal(err)
	}
	return s.wait()
}

func (s *site) wait() error {
	err := <-s.exited
	s.node = nil
	return err
}

// printer signals when the first line was printed. What a node says of its address
// comes another way, and may be read sooner.
type printer struct {
	*text
	line func()
}

func (p *printer) Write(b []byte) (int, error) {
	n, err := p.text.Write(b)
	if strings.Contains(p.String(), "\n") {
		p.line()
	}
	return n, err
}

// key is the administrator's, which the first node has written.
func (s *site) key() string {
	<-s.keyed
	text, err := os.ReadFile(s.keyFile)
	if err != nil {
		s.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
