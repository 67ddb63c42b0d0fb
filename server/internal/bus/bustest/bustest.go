// Package bustest runs JetStream servers for tests, each a process of its own that can be
// killed: the test's program, started once more. The program asks [Serve] first.
package bustest

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
)

// variable holds the file of the server that a process is to be.
const variable = "RECOUP_TEST_BUS_SERVER"

// Serve is a server until the test ends, if that is what the process was started for, and
// then returns true: nothing else is to be done.
func Serve() bool {
	file := os.Getenv(variable)
	if file == "" {
		return false
	}
	options, err := server.ProcessConfigFile(file)
	if err != nil {
		panic(err)
	}
	options.NoSigs = true
	s, err := server.NewServer(options)
	if err != nil {
		panic(err)
	}
	s.ConfigureLogger()
	s.Start()
	go func() { // the test has ended, however it did
		_, _ = os.Stdin.Read(make([]byte, 1))
		s.Shutdown()
	}()
	s.WaitForShutdown()
	return true
}

// Cluster is servers that know each other.
type Cluster struct {
	Servers []*Server
}

// Server is one of them.
type Server struct {
	URL, Monitor string

	t      testing.TB
	text   string // of the configuration, without settings that change
	config string
	cmd    *exec.Cmd
	log    bytes.Buffer
}

// Start starts n servers that sync always; they end with the test.
func Start(t testing.TB, n int) *Cluster { return StartWith(t, n, "sync_interval: always") }

// StartWith is [Start] with another setting of JetStream.
func StartWith(t testing.TB, n int, setting string) *Cluster { return start(t, n, setting, "") }

// StartSecured is [Start] with settings beside JetStream, such as TLS and users.
func StartSecured(t testing.TB, n int, settings string) *Cluster {
	return start(t, n, "sync_interval: always", settings)
}

func start(t testing.TB, n int, jetstream, settings string) *Cluster {
	t.Helper()
	ports := freePorts(t, 3*n)
	var routes []string
	for i := range n {
		routes = append(routes, "nats://127.0.0.1:"+strconv.Itoa(ports[3*i+1]))
	}
	c := &Cluster{}
	for i := range n {
		dir := t.TempDir()
		text := fmt.Sprintf("server_name: bus%d\nhost: 127.0.0.1\nport: %d\nhttp: 127.0.0.1:%d\njetstream { store_dir: %q, max_file_store: 64GB, max_memory_store: 64MB, %s }\n",
			i+1, ports[3*i], ports[3*i+2], filepath.Join(dir, "data"), jetstream)
		if n > 1 {
			text += fmt.Sprintf("cluster { name: recoup, host: 127.0.0.1, port: %d, no_advertise: true, routes: [%s] }\n", ports[3*i+1], strings.Join(routes, ", "))
		}
		s := &Server{t: t, text: text, config: filepath.Join(dir, "server.conf"), URL: "nats://127.0.0.1:" + strconv.Itoa(ports[3*i]), Monitor: "http://127.0.0.1:" + strconv.Itoa(ports[3*i+2])}
		s.configure(settings)
		c.Servers = append(c.Servers, s)
		s.Start()
		t.Cleanup(s.Kill)
	}
	return c
}

// Secure gives all servers other settings beside JetStream, and starts them again.
func (c *Cluster) Secure(settings string) {
	c.Kill()
	for _, s := range c.Servers {
		s.configure(settings)
	}
	c.Restart()
}

func (s *Server) configure(settings string) {
	s.t.Helper()
	if err := os.WriteFile(s.config, []byte(s.text+settings+"\n"), 0o600); err != nil {
		s.t.Fatal(err)
	}
}

// URL names all servers.
func (c *Cluster) URL() string {
	var list []string
	for _, s := range c.Servers {
		list = append(list, s.URL)
	}
	return strings.Join(list, ",")
}

// Monitors are where all servers are watched.
func (c *Cluster) Monitors() (list []string) {
	for _, s := range c.Servers {
		list = append(list, s.Monitor)
	}
	return list
}

// Kill kills all servers.
func (c *Cluster) Kill() {
	for _, s := range c.Servers {
		s.Kill()
	}
}

// Restart starts all servers again.
func (c *Cluster) Restart() {
	for _, s := range c.Servers {
		s.Start()
	}
}

// Start starts the server, with the data that it had.
func (s *Server) Start() {
	s.t.Helper()
	self, err := os.Executable()
	if err != nil {
		s.t.Fatal(err)
	}
	s.cmd = exec.Command(self)
	s.cmd.Env = append(os.Environ(), variable+"="+s.config)
	s.cmd.Stderr = &s.log
	s.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // an interrupt is the test's
	if _, err := s.cmd.StdinPipe(); err != nil {            // which ends with this process
		s.t.Fatal(err)
	}
	if err := s.cmd.Start(); err != nil {
		s.t.Fatal(err)
	}
}

// Signal sends the server a signal, such as one that has it stop for a while.
func (s *Server) Signal(sig syscall.Signal) {
	s.t.Helper()
	if err := s.cmd.Process.Signal(sig); err != nil {
		s.t.Fatal(err)
	}
}

// Kill kills the server, as a power cut would.
func (s *Server) Kill() {
	if s.cmd == nil {
		return
	}
	_ = s.cmd.Process.Kill()
	_ = s.cmd.Wait()
	s.cmd = nil
}

// Ports for servers are below those that the kernel gives to connections and to listeners
// that ask for any port (from 32768 on Linux): while a server is down, nothing else takes its
// port. Processes begin in different places.
const (
	firstPort = 12000
	lastPort  = 31999
)

var nextPort atomic.Int64

func init() { nextPort.Store(int64(os.Getpid()) * 127) }

// freePorts returns ports without a listener.
func freePorts(t testing.TB, n int) (ports []int) {
	t.Helper()
	for range lastPort - firstPort {
		port := firstPort + int(nextPort.Add(1)%(lastPort-firstPort+1))
		l, err := net.Listen("tcp", "127.0.0.1:"+strconv.Itoa(port))
		if err != nil {
			continue // another process has it
		}
		_ = l.Close()
		if ports = append(ports, port); len(ports) == n {
			return ports
		}
	}
	t.Fatalf("there are no %d free ports from %d to %d", n, firstPort, lastPort)
	return nil
}

// Eventually waits until something holds, for about half a minute.
func Eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	for range 1500 {
		if holds() {
			return
		}
		<-tick.C
	}
	t.Fatalf("waited in vain for %s", what)
}
