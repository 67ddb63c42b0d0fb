package endtoend

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"recoup/internal/test/program"
)

// TestREADME runs the script that README.md offers, as it stands there, in a
// folder that has nothing but the program.
func TestREADME(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, section, _ := strings.Cut(string(page), "\n## Try it\n")
	_, section, _ = strings.Cut(section, "\n```bash\n")
	script, _, found := strings.Cut(section, "\n```\n")
	if !found {
		t.Fatal("the page has no script under Try it")
	}
	folder := t.TempDir()
	if err := os.Mkdir(filepath.Join(folder, "bin"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(program.Path(t), filepath.Join(folder, "bin", "recoup")); err != nil {
		t.Fatal(err)
	}
	address := freeAddress(t)
	bash := exec.CommandContext(t.Context(), "bash", "-euo", "pipefail", "-c", script)
	bash.Dir = folder
	bash.Env = append(os.Environ(), "RECOUP_LISTEN="+address, "RECOUP_SERVER=http://"+address)
	bash.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	bash.WaitDelay = time.Second // for a node that it left behind
	var said, log text
	bash.Stdout, bash.Stderr = &said, &log
	if err := bash.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = syscall.Kill(-bash.Process.Pid, syscall.SIGKILL) }() // and that node
	if err := bash.Wait(); err != nil {
		t.Fatalf("%v\n%s\n%s", err, &said, &log)
	}
	rest := said.String()
	for _, want := range []string{
		`"status":"ready"`, `"state":"RETRY_PENDING"`, `"blocked":true`, `"error_code":"PROMOTION_BLOCKED"`,
		`"state":"RESOLVED"`, `"blocked":false`, `"promotion_id"`,
	} {
		_, after, found := strings.Cut(rest, want)
		if !found {
			t.Fatalf("%s does not come when it should in\n%s\n%s", want, &said, &log)
		}
		rest = after
	}
}

// ports are below those that the system gives to whoever asks for any, so that nobody
// takes one between its choice and its use.
var ports atomic.Int32

// freeAddress is one that nobody listens on right now.
func freeAddress(t *testing.T) string {
	t.Helper()
	for {
		address := fmt.Sprintf("127.0.0.1:%d", 20000+(int32(os.Getpid())*16+ports.Add(1))%10000)
		listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", address)
		if err != nil {
			continue
		}
		_ = listener.Close()
		return address
	}
}
