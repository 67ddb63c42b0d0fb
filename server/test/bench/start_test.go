package bench

import (
	"bufio"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/test/program"
)

// BenchmarkColdStart starts recoup serve on a file that exists, until it listens, beside a
// Go program that does nothing. It prints how large the program is, and its memory while it
// has nothing to do.
func BenchmarkColdStart(b *testing.B) {
	binary := program.Path(b)
	nothing := emptyProgram(b)
	database := "sqlite:" + filepath.Join(b.TempDir(), "recoup.db")
	startServer(b, binary, database, 0) // which makes the file
	var ours, theirs time.Duration
	var resident float64
	for b.Loop() {
		began := time.Now()
		must(b, exec.CommandContext(b.Context(), nothing).Run())
		theirs += time.Since(began)
		took, memory := startServer(b, binary, database, time.Second)
		ours, resident = ours+took, memory
	}
	info, err := os.Stat(binary)
	must(b, err)
	n := time.Duration(b.N)
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(float64((ours / n).Milliseconds()), "ms/start")
	b.ReportMetric(float64((theirs/n).Microseconds())/1000, "ms/empty-program")
	b.ReportMetric(float64(ours)/float64(theirs), "times-an-empty-program")
	b.ReportMetric(resident, "idle-MiB")
	b.ReportMetric(float64(info.Size())/1e6, "binary-MB")
}

// emptyProgram builds a Go program that ends at once.
func emptyProgram(b *testing.B) string {
	b.Helper()
	folder := b.TempDir()
	source, binary := filepath.Join(folder, "main.go"), filepath.Join(folder, "nothing")
	must(b, os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o600))
	must(b, exec.CommandContext(b.Context(), "go", "build", "-o", binary, source).Run())
	return binary
}

// startServer runs a server until it listens, and for a while, and returns how long that
// took and how many MiB it has then.
func startServer(b *testing.B, binary, database string, idle time.Duration) (took time.Duration, resident float64) {
	b.Helper()
	cmd := exec.CommandContext(b.Context(), binary, "serve", "--database", database, "--listen", "127.0.0.1:0", "--admin-key-file", "off")
	said, err := cmd.StderrPipe()
	must(b, err)
	began := time.Now()
	must(b, cmd.Start())
	lines := bufio.NewScanner(said)
	for lines.Scan() {
		if strings.Contains(lines.Text(), "listens on") {
			took = time.Since(began)
			break
		}
	}
	if took == 0 {
		b.Fatal("the server does not listen")
	}
	go func() {
		for lines.Scan() { // what it says must go somewhere
		}
	}()
	time.Sleep(idle)
	resident = residentMiB(b, cmd.Process.Pid)
	must(b, cmd.Process.Signal(syscall.SIGTERM))
	must(b, cmd.Wait())
	return took, resident
}

// residentMiB is the memory of a process that is not its files'.
func residentMiB(b *testing.B, pid int) float64 {
	b.Helper()
	status, err := os.ReadFile("/proc/" + strconv.Itoa(pid) + "/status")
	must(b, err)
	for line := range strings.Lines(string(status)) {
		if text, ok := strings.CutPrefix(line, "RssAnon:"); ok {
			kib, err := strconv.Atoi(strings.Fields(text)[0])
			must(b, err)
			return float64(kib) / 1024
		}
	}
	b.Fatal("the system does not say how much memory the server has")
	return 0
}
