//go:build linux || darwin || freebsd

package sqlite

import (
	"path/filepath"
	"syscall"
)

// diskSpace is what is free of the file system that a file is on, and its size; -1 if
// nobody knows.
func diskSpace(path string) (free, total int64) {
	var fs syscall.Statfs_t
	if syscall.Statfs(filepath.Dir(path), &fs) != nil {
		return -1, 0
	}
	return int64(fs.Bavail) * int64(fs.Bsize), int64(fs.Blocks) * int64(fs.Bsize) //nolint:unconvert // their types differ between systems
}
