//go:build unix

package benchcli

import (
	"syscall"
	"time"
)

// cpu is the processor time that this program has taken.
func cpu() time.Duration {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
