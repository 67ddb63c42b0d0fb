package sqlite

import (
	"errors"
	"fmt"

	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// duplicate marks an error of a row that exists as [sqldb.ErrDuplicate].
func duplicate(err error) error {
	var cause *sqlite.Error
	if errors.As(err, &cause) && (cause.Code() == sqlite3.SQLITE_CONSTRAINT_UNIQUE || cause.Code() == sqlite3.SQLITE_CONSTRAINT_PRIMARYKEY) {
		return fmt.Errorf("%w: %w", sqldb.ErrDuplicate, err)
	}
	return err
}

// translate gives an error of the driver the meaning that callers test for. It
// goes by the driver's code, never by its text. What is the matter with the file
// itself gets its code of the contract: a caller's request is as good as it was,
// and may be sent again.
func translate(err error) error {
	var cause *sqlite.Error
	if !errors.As(err, &cause) || named(err) {
		return err
	}
	switch cause.Code() & 0xff {
	case sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED:
		return fmt.Errorf("%w: %w", store.ErrBusy, err)
	case sqlite3.SQLITE_CONSTRAINT:
		return fmt.Errorf("%w: %w", store.ErrRefused, err)
	case sqlite3.SQLITE_FULL:
		return full(err)
	case sqlite3.SQLITE_IOERR:
		if unwritable(cause.Code()) {
			return full(err)
		}
		return unusable(err, "io_error", "The database file cannot be read. Nothing was changed.")
	case sqlite3.SQLITE_READONLY, sqlite3.SQLITE_PERM:
		return unusable(err, "read_only", "The database file is read-only to this node. Nothing was changed.")
	case sqlite3.SQLITE_CANTOPEN:
		return unusable(err, "cannot_open", "The database file, or a file beside it, cannot be opened. Nothing was changed.")
	case sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB:
		return unusable(err, "data_corrupted", "The database file is damaged. Nothing was changed; restore it from a backup.")
	}
	return err
}

// named reports whether an error has its code of the contract already.
func named(err error) bool {
	_, ok := errors.AsType[*fault.Error](err)
	return ok
}

func full(err error) error {
	return fault.Wrap(err, fault.CodeStorageFull, "The disk under the database is full, or cannot be written. Nothing was changed.")
}

func unusable(err error, kind, message string) error {
	return fault.Wrap(err, fault.CodeTemporaryUnavailable, "%s", message).With("error_type", kind)
}

// unwritable reports whether the file, its log or its index could not be written
// or made longer. SQLite says FULL only where the system says ENOSPC, not for a
// quota or a limit on the size of files.
func unwritable(code int) bool {
	switch code {
	case sqlite3.SQLITE_IOERR_WRITE, sqlite3.SQLITE_IOERR_FSYNC, sqlite3.SQLITE_IOERR_DIR_FSYNC,
		sqlite3.SQLITE_IOERR_TRUNCATE, sqlite3.SQLITE_IOERR_SHMSIZE, sqlite3.SQLITE_IOERR_NOMEM:
		return true
	}
	return false
}

// damaged reports whether an error says that the file is no database, or not a whole one.
func damaged(err error) bool {
	var cause *sqlite.Error
	if !errors.As(err, &cause) {
		return false
	}
	code := cause.Code()
	return code&0xff == sqlite3.SQLITE_CORRUPT || code&0xff == sqlite3.SQLITE_NOTADB || code == sqlite3.SQLITE_IOERR_SHORT_READ
}
