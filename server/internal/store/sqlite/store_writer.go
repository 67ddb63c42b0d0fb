package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

const (
	// A commit carries at most maxGroup verbs, and no more of them once their work, as
	// [tx.work] counts it, has reached maxWork: they are all answered after it. A single
	// report is about 10.
	maxGroup = 128
	maxWork  = 2000

	// A checkpoint moves what the write-ahead log holds into the file, so that
	// the log can begin anew. SQLite tries after every commit beyond logPages,
	// but does not wait for readers that still need older pages: where one
	// always overlaps with the next the log would grow for ever. So every
	// checkpointEvery commits the writer looks at it, and if it is longer than
	// logLimit (64 MiB) stands still for readers to let go, a short while.
	logPages        = 1000
	logLimit        = 16 * 1024
	checkpointEvery = 100
	checkpointWait  = 100 * time.Millisecond
)

// errClosed is returned by verbs of a store that was closed.
var errClosed = errors.New("sqlite: the store is closed")

// writer owns the one connection that writes. Verbs queue up for it; those that
// wait together are committed together, each in a savepoint of its own, so that
// one that fails takes nothing from the others. A commit is what costs, and
// under load they share it.
type writer struct {
	db       *sql.DB
	tx       *tx
	busy     time.Duration // how long to wait for other processes
	logLimit int           // pages

	queue *queue
	done  chan struct{}

	clock    func() time.Time
	commits  int
	notifier store.Notifier
	identity *identity
	trouble  store.LastError
}

// task is a verb that waits for its turn.
type task struct {
	party
	run     func(*tx) error
	at      time.Time   // when it happens, if its caller says so; zero: as the clock says
	begun   atomic.Bool // by the writer, or given up by its caller
	outcome chan error
}

func newWriter(ctx context.Context, f file) (*writer, error) {
	db, err := f.open(1, "journal_mode(wal)", "synchronous("+f.synchronous+")", "foreign_keys(1)", "recursive_triggers(1)",
		"secure_delete(1)", "cache_size(-32768)", fmt.Sprintf("wal_autocheckpoint(%d)", logPages), "journal_size_limit(16777216)")
	if err != nil {
		return nil, err
	}
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil, errors.Join(err, db.Close())
	}
	own, err := newIdentity(f.path)
	if err != nil {
		return nil, errors.Join(err, conn.Close(), db.Close())
	}
	w := &writer{
		identity: own, clock: store.Steady(time.Now), db: db, tx: &tx{conn: conn, prepared: map[string]*sql.Stmt{}, rows: map[recoup.ID]int64{}, held: held{errors: map[recoup.ID]holding{}}}, busy: f.busy, logLimit: logLimit,
		queue: newQueue(), done: make(chan struct{}),
	}
	if err := w.tx.held.look(w.tx); err != nil {
		return nil, errors.Join(err, w.tx.close(), db.Close())
	}
	go w.loop()
	return w, nil
}

// do runs a verb in a transaction and returns when that is committed. If ctx
// ends before that transaction begins, the verb never does; once begun it runs to
// its end, whatever becomes of ctx, so that the answer is always true.
func (w *writer) do(ctx context.Context, run func(*tx) error) error {
	return w.doAt(ctx, "", time.Time{}, run)
}

// doAt is [writer.do] for what happens at a time, or, if that is zero, when its
// turn has come. Without a caller in ctx it takes turns by its job's name.
func (w *writer) doAt(ctx context.Context, job string, at time.Time, run func(*tx) error) error {
	if term, led := store.TermOf(ctx); led {
		unfenced := run
		run = func(tx *tx) error {
			if err := holdTerm(tx, term); err != nil {
				return err
			}
			return unfenced(tx)
		}
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	t := &task{party: partyOf(ctx, job), run: run, at: at, outcome: make(chan error, 1)}
	if err := w.queue.put(t); err != nil {
		return err
	}
	select {
	case err := <-t.outcome:
		return err
	case <-ctx.Done():
	}
	if t.begun.CompareAndSwap(false, true) {
		return ctx.Err()
	}
	return <-t.outcome
}

// partyOf returns on whose behalf a verb is done.
func partyOf(ctx context.Context, job string) party {
	if caller, known := turn.CallerOf(ctx); known {
		return party{key: caller}
	}
	return party{job: job}
}

// holdTerm refuses a leader whose term is over. Nobody else writes meanwhile, so that it
// lasts until the commit.
func holdTerm(t *tx, term store.Term) error {
	var held int
	err := t.row(`select count(*) from leader where name = ? and number = ? and holder is not null`, term.Name, term.Number).Scan(&held)
	if err == nil && held == 0 {
		err = store.ErrTermOver
	}
	return err
}

// close runs what was submitted, then closes the connection.
func (w *writer) close() error {
	again := w.queue.close()
	<-w.done
	if again {
		return nil
	}
	return errors.Join(w.tx.close(), w.db.Close())
}

func (w *writer) loop() {
	defer close(w.done)
	for t := w.queue.wait(); t != nil; t = w.queue.wait() {
		w.group(t)
		if w.commits++; w.commits%checkpointEvery == 0 {
			w.checkpoint()
		}
	}
}

// group runs a task and those that wait behind it in one transaction. Nobody is answered before
// the commit, nor if it went to a file that is no longer where the next start will look for it.
func (w *writer) group(first *task) {
	members := []member{{task: first}}
	err := w.identity.check()
	if err == nil {
		members, err = w.transact(members)
	}
	if err == nil {
		err = w.identity.check()
	}
	if err != nil {
		w.abandon()
	} else {
		w.follow()
	}
	for _, m := range members {
		w.queue.leave(m.task)
		if err != nil {
			m.outcome <- w.written(err)
			continue
		}
		m.outcome <- w.written(m.err)
	}
}

// member is a task of a group, and its own outcome.
type member struct {
	*task
	err error
}

// transact runs the first task, then others until there is enough to commit, and returns them all.
// Its error is one that the whole group shares because nothing of it was committed. A task that is
// alone needs no savepoint, and without one SQLite has less to remember.
func (w *writer) transact(group []member) ([]member, error) {
	if err := w.tx.exec(`begin immediate`); err != nil {
		return group, err
	}
	w.tx.work = 0
	if w.queue.empty() {
		if err := w.run(group[0].task); err != nil {
			return group, err
		}
		return group, w.tx.exec(`commit`)
	}
	for i := 0; ; i++ {
		if err := w.inSavepoint(&group[i]); err != nil {
			return group, err
		}
		if len(group) == maxGroup {
			break
		}
		next := w.queue.join(maxWork - w.tx.work)
		if next == nil {
			break
		}
		group = append(group, member{task: next})
	}
	return group, w.tx.exec(`commit`)
}

// inSavepoint runs one task of several. Its error is one that the whole group shares: the
// transaction itself is lost.
func (w *writer) inSavepoint(m *member) error {
	if err := w.tx.exec(`savepoint verb`); err != nil {
		return err
	}
	if m.err = w.run(m.task); m.err != nil {
		w.tx.held.forget()
		if err := w.tx.exec(`rollback to verb`); err != nil {
			return errors.Join(m.err, err)
		}
	}
	return w.tx.exec(`release verb`)
}

// run runs a task at its time. The clock is read here, where nobody else writes:
// a task that waited for its turn does not act on the time before its wait.
func (w *writer) run(t *task) error {
	if w.tx.now = t.at; t.at.IsZero() {
		w.tx.now = w.clock()
	}
	w.tx.begin()
	before := w.tx.work
	defer func() { w.queue.charge(t, w.tx.work-before) }()
	return contain(t.run, w.tx)
}

// contain turns a panic into the error of the verb that panicked.
func contain(run func(*tx) error, tx *tx) (err error) {
	defer func() {
		if p := recover(); p != nil {
			err = fmt.Errorf("sqlite: a verb panicked: %v", p)
		}
	}()
	return run(tx)
}

// abandon ends a transaction that could not be committed. It may have ended by
// itself, and then there is nothing to roll back: the error that led here was
// returned to the callers.
func (w *writer) abandon() {
	w.tx.held.forget()
	_ = w.tx.exec(`rollback`)
}

// follow does what follows from a commit.
func (w *writer) follow() {
	if w.tx.secureDelete {
		w.tx.secureDelete = !w.truncate()
	}
	w.notifier.Notify(w.tx.woken...)
	w.tx.woken = w.tx.woken[:0]
}

// checkpoint keeps the write-ahead log short. One that fails loses nothing: the
// log keeps what could not be moved, and the next one tries again.
func (w *writer) checkpoint() {
	var busy, pages, moved int
	err := w.tx.row(`pragma wal_checkpoint(passive)`).Scan(&busy, &pages, &moved)
	if err != nil || pages <= w.logLimit {
		return
	}
	w.truncate()
}

// truncate empties the write-ahead log, and reports whether it could: a reader
// that does not let go in a short while keeps it from that.
func (w *writer) truncate() bool {
	var busy, pages, moved int
	err := errors.Join(
		w.tx.exec(busyTimeout(checkpointWait)),
		w.tx.row(`pragma wal_checkpoint(truncate)`).Scan(&busy, &pages, &moved),
		w.tx.exec(busyTimeout(w.busy)),
	)
	return err == nil && busy == 0
}

func busyTimeout(d time.Duration) string {
	return fmt.Sprintf("pragma busy_timeout(%d)", d.Milliseconds())
}
