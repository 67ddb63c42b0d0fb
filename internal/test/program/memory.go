package program

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"strings"
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
	kilobytes, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64)
	if err != nil {
		t.Fatalf("the memory of %v is unknown: %v, %v", args, err, failed)
	}
	return kilobytes << 10, failed
}

// measure is the process that [PeakMemory] starts. It exits as the command does.
func measure() {
	cmd := exec.Command(os.Args[1], os.Args[2:]...)
	cmd.Stdout, cmd.Stderr = os.Stdout, os.Stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	usage, ok := cmd.ProcessState.SysUsage().(*syscall.Rusage)
	if ok {
		_, _ = fmt.Fprintln(os.NewFile(3, "report"), usage.Maxrss)
	}
	os.Exit(cmd.ProcessState.ExitCode())
}
