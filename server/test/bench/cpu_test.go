package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// pace is units per second, by the clock and of processor time.
type pace struct{ clock, cpu float64 }

// stopwatch takes the processor time of this process and of all that it has started:
// the database server with its sessions, living and ended. Looking for them takes its
// time, which does not count.
func stopwatch(tb testing.TB) (stop func() time.Duration) {
	tb.Helper()
	before := startedTime()
	before += ownTime(tb)
	return func() time.Duration {
		own := ownTime(tb)
		return own + startedTime() - before
	}
}

// startedTime is the processor time of all that this process has started.
func startedTime() (total time.Duration) {
	for _, pid := range children(os.Getpid()) {
		total += familyTime(pid)
	}
	return total
}

// ownTime is the processor time that this process has used.
func ownTime(tb testing.TB) time.Duration {
	tb.Helper()
	var usage syscall.Rusage
	must(tb, syscall.Getrusage(syscall.RUSAGE_SELF, &usage))
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}

// familyTime is the processor time of a process, of its children that have ended,
// and of those that live. One that ends meanwhile is in its parent's.
func familyTime(pid int) time.Duration {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0
	}
	// The name of the program, in parentheses, may have spaces; the times are the
	// twelfth to fifteenth field behind it, in hundredths of a second.
	fields := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
	total, exact := scheduled(pid)
	times := fields[11:15] // its own, and those of its children that have ended
	if exact {
		times = times[2:]
	}
	for _, field := range times {
		ticks, _ := strconv.ParseInt(field, 10, 64)
		total += time.Duration(ticks) * 10 * time.Millisecond
	}
	for _, child := range children(pid) {
		total += familyTime(child)
	}
	return total
}

// scheduled is the processor time of a process to the nanosecond, where the system
// keeps it.
func scheduled(pid int) (time.Duration, bool) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/schedstat", pid))
	var ran int64
	if _, scanned := fmt.Sscan(string(text), &ran); err != nil || scanned != nil {
		return 0, false
	}
	return time.Duration(ran), true
}

// children are the processes that a process has started and that live.
func children(pid int) (list []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, file := range files {
		text, _ := os.ReadFile(file) // gone with its thread, if at all
		for _, field := range strings.Fields(string(text)) {
			if child, err := strconv.Atoi(field); err == nil {
				list = append(list, child)
			}
		}
	}
	return list
}
