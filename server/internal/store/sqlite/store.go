// Package sqlite keeps errors in an embedded SQLite file: one writer connection,
// through which every verb of every caller goes, and a pool of readers. It moves
// rows and decides nothing; what becomes of an error is decided by the functions
// that its verbs are handed.
//
// What the rules forbid is refused by the file itself, in constraints and
// triggers, also to somebody who opens it with another program. Whoever owns the
// file can of course take the triggers out: they are there against mistakes.
//
// Several processes may use one file, on one machine. They take turns at writing.
package sqlite

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	_ "modernc.org/sqlite" // the driver that database/sql knows as "sqlite"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlops"
)

// ownDriver is SQLite's name in database/sql.
const ownDriver = "sqlite"

// Options tune a store. The zero value is right for a node.
type Options struct {
	// Busy is how long to wait for another process that is writing. Zero: 5 s.
	Busy time.Duration

	// Readers is how many queries may run at once, beside those of the gate, of readiness and of
	// keys and sessions that were valid. Zero: 5.
	Readers int

	// Driver is the name by which database/sql knows the driver: SQLite's own, or
	// one that passes on to it. Empty: "sqlite".
	Driver string

	// Unsynced leaves it to the operating system when data reaches the disk: a machine
	// that crashes loses what was acknowledged. It is for data that nobody minds losing.
	Unsynced bool
}

func (o Options) withDefaults() Options {
	o.Busy = cmp.Or(o.Busy, 5*time.Second)
	o.Readers = cmp.Or(o.Readers, 5)
	o.Driver = cmp.Or(o.Driver, ownDriver)
	return o
}

func (o Options) validate() error {
	switch {
	case o.Busy < 0:
		return fmt.Errorf("sqlite: a wait of %v for other processes is negative", o.Busy)
	case o.Readers < 0:
		return fmt.Errorf("sqlite: %d readers are too few", o.Readers)
	}
	return nil
}

// Store keeps errors in one file. It is safe for concurrent use.
type Store struct {
	sqlops.Ops
	file   string
	writer *writer
	read   *reader
	vital  *reader // of the gate and of keys, which must not wait behind lists
	memory *store.DecisionCache
}

// Open opens the file at path, makes it if there is none, and brings its schema
// up to date. The folder must exist. A new file is readable by its owner only.
//
// It returns store.ErrSchemaNewer for a file that a newer binary has migrated,
// and store.ErrBusy if the schema is old and another process has the file open.
func Open(ctx context.Context, path string, options Options) (*Store, error) {
	options = options.withDefaults()
	if err := options.validate(); err != nil {
		return nil, err
	}
	path, err := locate(path)
	if err != nil {
		return nil, err
	}
	f := file{path: path, busy: options.Busy, driver: options.Driver, synchronous: "full"}
	if options.Unsynced {
		f.synchronous = "off"
	}
	if err := f.migrate(ctx); err != nil {
		return nil, fmt.Errorf("sqlite: migrating %s: %w", path, translate(err))
	}
	w, err := newWriter(ctx, f)
	if err != nil {
		return nil, fmt.Errorf("sqlite: opening %s: %w", path, translate(err))
	}
	s := &Store{file: path, writer: w, memory: new(store.DecisionCache)}
	if s.read, err = f.reader(options.Readers); err != nil {
		return nil, errors.Join(err, w.close())
	}
	if s.vital, err = f.reader(vitalReaders); err != nil {
		return nil, errors.Join(err, w.close(), s.read.Close())
	}
	s.Ops = sqlops.New(database{s})
	return s, nil
}

// vitalReaders is how many connections are kept for what is vital.
const vitalReaders = 2

// reader returns a pool of at most n connections that read.
func (f file) reader(n int) (*reader, error) {
	pool, err := f.open(n, "query_only(1)", "cache_size(-8192)")
	return &reader{DB: pool, prepared: map[string]*sql.Stmt{}}, err
}

// UseClock lets acts happen by another clock than the machine's as it has gone on
// since the file was opened. It is called before the first act.
func (s *Store) UseClock(clock func() time.Time) { s.writer.clock = clock }

// Close lets the verbs that were accepted finish, and closes the file.
func (s *Store) Close() error {
	return errors.Join(s.writer.close(), s.read.Close(), s.vital.Close())
}

// absolute checks that a path is that of a file, and makes it absolute.
func absolute(path string) (string, error) {
	if path == "" || strings.Contains(path, ":memory:") || strings.HasPrefix(path, "file:") {
		return "", fmt.Errorf("sqlite: %q is not the path of a file: a database in memory is not supported, because readers could not see what the writer writes", path)
	}
	path, err := filepath.Abs(path)
	if err != nil {
		return "", fmt.Errorf("sqlite: %w", err)
	}
	return path, nil
}

// locate checks the path, and makes the file if there is none.
func locate(path string) (string, error) {
	path, err := absolute(path)
	if err != nil {
		return "", err
	}
	folder := filepath.Dir(path)
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return "", fmt.Errorf("sqlite: the folder %s does not exist: create it first", folder)
	}
	switch info, err := os.Stat(path); {
	case errors.Is(err, fs.ErrNotExist):
		return path, create(path)
	case err != nil:
		return "", fmt.Errorf("sqlite: %w", err)
	case info.IsDir():
		return "", fmt.Errorf("sqlite: %s is a folder", path)
	}
	return path, nil
}

// create makes an empty file for its owner alone. It takes its name only once it
// is closed: closing a descriptor of a database would strip the locks that this
// process holds on it.
func create(path string) error {
	empty, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".new*")
	if err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	err = empty.Close()
	if err == nil {
		if err = os.Link(empty.Name(), path); errors.Is(err, fs.ErrExist) {
			err = nil
		}
	}
	if err = errors.Join(err, os.Remove(empty.Name())); err != nil {
		return fmt.Errorf("sqlite: %w", err)
	}
	return nil
}

// file is a database file, how long to wait for its locks, and by which driver it
// is opened.
type file struct {
	path   string
	busy   time.Duration
	driver string

	synchronous string
}

// open returns a pool of at most n connections with these pragmas. The driver
// sets busy_timeout first, so that the others can wait.
func (f file) open(n int, pragmas ...string) (*sql.DB, error) {
	query := url.Values{"mode": {"rw"}, "_pragma": append([]string{
		fmt.Sprintf("busy_timeout(%d)", f.busy.Milliseconds()),
		"temp_store(memory)",
	}, pragmas...)}
	path, err := absolute(f.path)
	if err != nil {
		return nil, err
	}
	if path = filepath.ToSlash(path); !strings.HasPrefix(path, "/") {
		path = "/" + path // a drive letter
	}
	db, err := sql.Open(f.driver, (&url.URL{Scheme: "file", Path: path, RawQuery: query.Encode()}).String())
	if err != nil {
		return nil, fmt.Errorf("sqlite: %w", err)
	}
	db.SetMaxOpenConns(n)
	db.SetMaxIdleConns(n)
	return db, nil
}
