package program

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"syscall"
	"testing"
)

// measured makes a test process run its arguments as a command and report the memory of
// that command.
const measured = "RECOUP_TEST_MEASURE"

// PeakMemory runs the program and returns its largest resident set in bytes, next to the
// error of the command. Linux counts the memory of the process that starts a command as
// that of the command, and tests that run in parallel need much, so another process, which
// needs little, starts it.
func PeakMemory(t testing.TB, stdout, stderr io.Writer, args ...string) (int64, error) {
	t.Helper()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	report, written, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = report.Close() }()
	cmd := exec.CommandContext(t.Context(), self, append([]string{Path(t)}, args...)...)
	cmd.Env = append(os.Environ(), measured+"=1")
	cmd.Stdout, cmd.Stderr, cmd.ExtraFiles = stdout, stderr, []*os.File{written}
	failed := cmd.Run()
	_ = written.Close()
	text, err := io.ReadAll(report)
	if err != nil {
		t.Fatal(err)
	}
	var kilobytes int64
	var status int
	if _, err := fmt.Sscan(string(text), &kilobytes, &status); err != nil {
		t.Fatalf("the memory of %v is unknown: %v, %v", args, err, failed)
	}
	if failed == nil && status != 0 {
		failed = fmt.Errorf("exit status %d", status)
	}
	return kilobytes << 10, failed
}

// measure is the process that [PeakMemory] starts. It reports the memory and the exit status
// of the command.
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	if err := cmd.Run(); cmd.ProcessState == nil {
		panic(err)
	}
	if usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage); ok {
		_, _ = fmt.Fprintln(os.NewFile(3, "report"), usage.Maxrss, cmd.ProcessState.ExitCode())
	}
}
