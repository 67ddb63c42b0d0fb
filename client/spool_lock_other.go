//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package client

import "os"

// lockFolder opens the lock, which nothing else respects here: that each emitter
// has a folder of its own is left to the program.
func lockFolder(path string) (*os.File, error) {
	return os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o600)
}

// syncFolder does nothing: folders cannot be synced here.
func syncFolder(string) error { return nil }
