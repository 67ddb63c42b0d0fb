package endtoend

import (
	"syscall"
	"testing"
	"unsafe"
)

// unlimited is no limit.
const unlimited = ^uint64(0)

// limitFiles sets how long the files of a running process may become. Only the
// soft limit moves, so that it can be raised again.
func limitFiles(t *testing.T, pid int, bytes uint64) {
	t.Helper()
	limit := syscall.Rlimit{Cur: bytes, Max: unlimited}
	if _, _, errno := syscall.Syscall6(syscall.SYS_PRLIMIT64, uintptr(pid), syscall.RLIMIT_FSIZE, uintptr(unsafe.Pointer(&limit)), 0, 0, 0); errno != 0 {
		t.Fatal(errno)
	}
}
