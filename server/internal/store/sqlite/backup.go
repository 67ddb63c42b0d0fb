package sqlite

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	driver "modernc.org/sqlite"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// ErrNoBackup is returned for a file that is not a whole database of Recoup's.
var ErrNoBackup = errors.New("is not a backup")

// Backup writes the database, as it is at one moment, to a new file. Nodes go on reading
// and writing it meanwhile. The copy gets its name after it was checked.
func Backup(ctx context.Context, path, to string) error {
	path, to, err := absolutes(path, to)
	if err != nil {
		return err
	}
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("sqlite: there is no database to back up: %w", err)
	}
	if _, err := os.Lstat(to); !errors.Is(err, fs.ErrNotExist) {
		return fmt.Errorf("sqlite: %s is there already: name a new file", to)
	}
	return copyTo(ctx, path, to, func(part string) error { return os.Link(part, to) }) // never over another
}

// Restore puts a backup in the place of a database. It returns store.ErrBusy while a
// process has the database open. Cut off anywhere, it leaves the one or the other. A path that is
// a symbolic link stays one: the file that it leads to is replaced.
func Restore(ctx context.Context, from, path string) (err error) {
	if from, path, err = absolutes(from, path); err != nil {
		return err
	}
	if path, err = linked(path); err != nil {
		return err
	}
	if err := checkCopy(ctx, from); err != nil {
		return err
	}
	release, err := seize(ctx, path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, release()) }()
	return copyTo(ctx, from, path, func(part string) error {
		if err := removeLogs(path); err != nil {
			return err
		}
		return os.Rename(part, path)
	})
}

func absolutes(one, other string) (string, string, error) {
	one, err := absolute(one)
	if err != nil {
		return "", "", err
	}
	other, err = absolute(other)
	return one, other, err
}

// maxLinks is how many symbolic links are followed, as on Linux.
const maxLinks = 40

// linked follows symbolic links to a file, which need not exist.
func linked(path string) (string, error) {
	for range maxLinks {
		info, err := os.Lstat(path)
		if err != nil || info.Mode()&fs.ModeSymlink == 0 {
			return path, nil //nolint:nilerr // there is no file yet
		}
		to, err := os.Readlink(path)
		if err != nil {
			return "", fmt.Errorf("sqlite: %w", err)
		}
		if !filepath.IsAbs(to) {
			to = filepath.Join(filepath.Dir(path), to)
		}
		path = to
	}
	return "", fmt.Errorf("sqlite: %s is one of more than %d symbolic links", path, maxLinks)
}

// removeLogs removes what a damaged database has left beside it: SQLite would take it for the log
// of the database that replaces it. A database that is not damaged has no log once it is seized.
func removeLogs(path string) error {
	for _, log := range []string{"-wal", "-shm"} {
		if err := os.Remove(path + log); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("sqlite: %w", err)
		}
	}
	return nil
}

// seize keeps every other process from a database until it is released, and writes its log back
// into it. Of a damaged database nothing can be written back: it may be replaced as it is.
func seize(ctx context.Context, path string) (release func() error, err error) {
	if info, err := os.Stat(path); err != nil || info.Size() == 0 {
		return func() error { return nil }, nil //nolint:nilerr // there is none
	}
	db, err := file{path: path, busy: time.Second, driver: ownDriver}.open(1, "locking_mode(exclusive)")
	if err != nil {
		return nil, err
	}
	switch _, err := db.ExecContext(ctx, "begin exclusive; commit; pragma journal_mode = delete"); {
	case err == nil:
		return db.Close, nil
	case busy(err):
		return nil, errors.Join(fmt.Errorf("sqlite: another process has %s open: %w", path, store.ErrBusy), db.Close())
	case damaged(err):
		return db.Close, nil
	default:
		return nil, errors.Join(fmt.Errorf("sqlite: %s cannot be replaced: %w", path, translate(err)), db.Close())
	}
}

// copyTo copies a database to a file beside its place, checks it, and puts it there.
func copyTo(ctx context.Context, from, to string, place func(part string) error) (err error) {
	part := to + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, fs.ErrNotExist) { // of one that was cut off
		return fmt.Errorf("sqlite: %w", err)
	}
	if err := create(part); err != nil {
		return err
	}
	defer func() {
		if removed := os.Remove(part); removed != nil && !errors.Is(removed, fs.ErrNotExist) {
			err = errors.Join(err, removed)
		}
	}()
	if err := copyPages(ctx, from, part); err != nil {
		return fmt.Errorf("sqlite: copying %s: %w", from, translate(err))
	}
	if err := checkCopy(ctx, part); err != nil {
		return err
	}
	if err := syncFile(part); err != nil {
		return err
	}
	return place(part)
}

// copyPages copies a database page by page, all of them in one transaction.
func copyPages(ctx context.Context, from, to string) (err error) {
	db, err := file{path: from, busy: 5 * time.Second, driver: ownDriver}.open(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	conn, err := db.Conn(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, conn.Close()) }()
	return conn.Raw(func(own any) error {
		source, ok := own.(interface {
			NewBackup(to string) (*driver.Backup, error)
		})
		if !ok {
			return errors.New("the driver makes no backups")
		}
		b, err := source.NewBackup(to)
		if err != nil {
			return err
		}
		_, err = b.Step(-1)
		return errors.Join(err, b.Finish())
	})
}

// checkCopy refuses a file that is damaged, or of another program, or of a newer Recoup.
func checkCopy(ctx context.Context, path string) (err error) {
	if _, err := os.Stat(path); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	db, err := file{path: path, busy: time.Second, driver: ownDriver}.open(1)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	var verdict string
	if err := db.QueryRowContext(ctx, "pragma integrity_check(1)").Scan(&verdict); err != nil {
		return fmt.Errorf("sqlite: %s %w: it is damaged, or no database: %w", path, ErrNoBackup, err)
	}
	if verdict != "ok" {
		return fmt.Errorf("sqlite: %s %w: it is damaged: %s", path, ErrNoBackup, verdict)
	}
	list, err := schema.Status(appliedMigrations(ctx, db))
	if err != nil {
		return fmt.Errorf("sqlite: %s: %w", path, err)
	}
	if !slices.ContainsFunc(list, func(m store.Migration) bool { return !m.AppliedAt.IsZero() }) {
		return fmt.Errorf("sqlite: %s %w: it is a database of another program, or empty", path, ErrNoBackup)
	}
	return nil
}

func syncFile(path string) error {
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return errors.Join(f.Sync(), f.Close())
}
