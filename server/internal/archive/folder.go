package archive

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"
)

// Folder is the place that is a folder of a file system. What is in it under its name is
// whole and on the disk.
type Folder struct{ path string }

// OpenFolder opens a folder. With create, it is made if it is not there.
func OpenFolder(path string, create bool) (*Folder, error) {
	if create {
		if err := os.MkdirAll(path, 0o750); err != nil {
			return nil, err
		}
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, os.ErrNotExist):
		return nil, fmt.Errorf("there is no folder %s", path)
	case err != nil:
		return nil, err
	case !info.IsDir():
		return nil, fmt.Errorf("%s is not a folder", path)
	}
	whole, err := filepath.Abs(path)
	return &Folder{whole}, err
}

// String is the folder's path.
func (f *Folder) String() string { return f.path }

// Scratch makes a file that is not in the place yet. One that nobody has written to for a
// day was left by a process that died, and is removed.
func (f *Folder) Scratch(now time.Time) (*os.File, error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		if info, err := e.Info(); err == nil && strings.HasPrefix(e.Name(), ".") && strings.HasSuffix(e.Name(), extPart) && now.Sub(info.ModTime()) > 24*time.Hour {
			_ = os.Remove(filepath.Join(f.path, e.Name())) // another may have been faster
		}
	}
	return os.CreateTemp(f.path, "."+prefix+"*"+extPart)
}

// Put moves a scratch file to its name, unless there is one.
func (f *Folder) Put(ctx context.Context, name string, scratch *os.File) error {
	if err := errors.Join(scratch.Chmod(0o640), scratch.Sync()); err != nil {
		return err
	}
	path := filepath.Join(f.path, name)
	err := os.Link(scratch.Name(), path)
	if err != nil && !errors.Is(err, os.ErrExist) {
		err = f.rename(scratch.Name(), path)
	}
	if errors.Is(err, os.ErrExist) {
		sum, size, failed := digest(scratch)
		if failed == nil {
			failed = f.Verify(ctx, name, size, sum)
		}
		if err = failed; errors.Is(err, ErrChecksum) {
			err = fmt.Errorf("%s: %w", path, ErrExists)
		}
	}
	if err != nil {
		return err
	}
	return errors.Join(ignoreMissing(os.Remove(scratch.Name())), f.sync())
}

// rename is for file systems that have no links. Between the look and the move another
// node may give the name away.
func (f *Folder) rename(from, to string) error {
	if _, err := os.Lstat(to); !errors.Is(err, os.ErrNotExist) {
		return errors.Join(os.ErrExist, err)
	}
	return os.Rename(from, to)
}

// Verify reads a file and compares it with a checksum.
func (f *Folder) Verify(ctx context.Context, name string, size int64, sum string) error {
	file, err := f.Open(ctx, name, size)
	if err != nil {
		return err
	}
	return errors.Join(verifySum(file, size, sum), file.Close())
}

// sync has the disk know the names in the folder.
func (f *Folder) sync() error {
	dir, err := os.Open(f.path)
	if err != nil {
		return err
	}
	return errors.Join(dir.Sync(), dir.Close())
}

// List names what is in the folder and begins so, sorted.
func (f *Folder) List(_ context.Context, begin string) ([]string, error) {
	entries, err := os.ReadDir(f.path)
	if err != nil {
		return nil, err
	}
	var names []string
	for _, e := range entries {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), ".") && strings.HasPrefix(e.Name(), begin) {
			names = append(names, e.Name())
		}
	}
	slices.Sort(names)
	return names, nil
}

// Open opens a regular file. Links that lead out of the folder, FIFOs, devices and folders are
// ErrDamaged: opening a FIFO or reading a device may never end.
func (f *Folder) Open(_ context.Context, name string, limit int64) (File, error) {
	root, err := os.OpenRoot(f.path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }()
	name = filepath.Base(name)
	switch info, err := root.Stat(name); {
	case errors.Is(err, os.ErrNotExist):
		return nil, err
	case err != nil:
		return nil, f.refuse(root, name, err)
	case !info.Mode().IsRegular():
		return nil, f.irregular(name, info)
	}
	// O_NONBLOCK: a FIFO that has replaced the file since then must not block the open.
	file, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	info, err := file.Stat()
	switch {
	case err != nil:
	case !info.Mode().IsRegular():
		err = f.irregular(name, info)
	case info.Size() > limit:
		err = fmt.Errorf("%w (%d bytes, not %d)", ErrChecksum, info.Size(), limit)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// refuse explains why a name cannot be looked up.
func (f *Folder) refuse(root *os.Root, name string, err error) error {
	if link, failed := root.Lstat(name); failed == nil && link.Mode()&os.ModeSymlink != 0 {
		return fmt.Errorf("%w: %s is a symbolic link that leads out of the folder: remove it (%w)", ErrDamaged, filepath.Join(f.path, name), err)
	}
	return err
}

// irregular is the error for a name that is not a regular file.
func (f *Folder) irregular(name string, info os.FileInfo) error {
	return fmt.Errorf("%w: %s is not a regular file (mode %s): remove it", ErrDamaged, filepath.Join(f.path, name), info.Mode())
}

// Remove removes a file.
func (f *Folder) Remove(_ context.Context, name string) error {
	return ignoreMissing(os.Remove(filepath.Join(f.path, filepath.Base(name))))
}
