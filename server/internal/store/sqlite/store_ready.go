package sqlite

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"sync"

	"github.com/recoup-dev/recoup/fault"
)

// identity is the files that a store has open, as they were when it opened them:
// the database and its write-ahead log. While they are open their inodes are not
// given to others, so that a path which leads to another one, or to none, means
// that what is written goes to a file that nobody will find again.
type identity struct {
	path string

	mu  sync.Mutex
	own map[string]fs.FileInfo // by path
}

// newIdentity notes the files. The log may come with the first transaction.
func newIdentity(path string) (*identity, error) {
	i := &identity{path: path, own: map[string]fs.FileInfo{}}
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	i.own[path] = info
	return i, i.check()
}

// check returns what has become of the files, or nil if each is where it was.
func (i *identity) check() error {
	i.mu.Lock()
	defer i.mu.Unlock()
	for _, path := range []string{i.path, i.path + "-wal"} {
		info, err := os.Stat(path)
		own := i.own[path]
		switch {
		case errors.Is(err, fs.ErrNotExist) && own == nil:
		case errors.Is(err, fs.ErrNotExist):
			return gone("file_removed", path+" was removed or renamed under the running node: put it back, or restart the node")
		case err != nil:
			return unusable(err, "io_error", "The database file cannot be looked at. Nothing was changed.")
		case own == nil:
			i.own[path] = info
		case !os.SameFile(own, info):
			return gone("file_replaced", path+" was replaced by another file under the running node: restart the node to use that one")
		}
	}
	return nil
}

// gone refuses to write. Callers learn what happened, the log also where.
func gone(kind, what string) error {
	return unusable(errors.New(what), kind, "The database file of this node was removed or replaced while it runs. Nothing is written until an operator has seen to it.")
}

// Ping reports why the file cannot be used, if it cannot. After a write that failed
// for want of space it tries one.
func (s *Store) Ping(ctx context.Context) error {
	if err := translate(s.vital.PingContext(ctx)); err != nil {
		return err
	}
	if err := s.writer.identity.check(); err != nil {
		return err
	}
	return s.writer.trouble.Retry(func() error { return s.writer.tryWriting(ctx) })
}

// probeSize is what must find room before a file counts as writable again: about
// what a verb writes.
const probeSize = 64 << 10

// tryWriting writes something and takes it away again, in a transaction each: one
// that is rolled back never reaches the disk.
func (w *writer) tryWriting(ctx context.Context) error {
	err := w.do(ctx, func(t *tx) error {
		return t.exec(`insert into idempotency (scope, key, request_hash, answer, created_at, expires_at)
			select 'probe', 'probe', zeroblob(32), zeroblob(?), 0, 0
			where not exists (select 1 from idempotency where scope = 'probe' and key = 'probe')`, probeSize)
	})
	if err != nil {
		return err
	}
	return w.do(ctx, func(t *tx) error { return t.exec(`delete from idempotency where scope = 'probe' and key = 'probe'`) })
}

// written notes the outcome of a transaction that wrote: a fault of the disk stands
// until a write succeeds.
func (w *writer) written(err error) error {
	err = translate(err)
	if said, ok := errors.AsType[*fault.Error](err); ok && said.Code == fault.CodeStorageFull {
		w.trouble.Note(err)
	}
	return err
}
