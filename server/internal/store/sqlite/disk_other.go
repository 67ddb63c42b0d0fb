//go:build !(linux || darwin || freebsd)

package sqlite

// diskSpace is what is free of the file system that a file is on, and its size; -1 if
// nobody knows.
func diskSpace(string) (free, total int64) { return -1, 0 }
