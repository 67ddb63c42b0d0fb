package scheduler_test

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"maps"
	"math/rand/v2"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

var errCut = errors.New("the connection was cut")

// ground is what a file's statements run on. It shakes: of so many statements one
// is cut off, before it or, if it is a commit, also after it, and sometimes the
// process that ran it dies of that.
type ground struct {
	mu    sync.Mutex
	r     *rand.Rand
	one   int  // of so many statements one goes wrong; 0: none
	reads bool // those of readers go wrong, too

	dead    bool // nothing goes through any more: to the file, the process is gone
	struck  int
	commits int

	sabotage sabotage
}

// shake sets of how many statements one goes wrong, and returns what it was.
func (g *ground) shake(one int, reads bool) (before int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	before, g.one, g.reads = g.one, one, reads
	return before
}

// state returns what has happened so far.
func (g *ground) state() (struck, commits int, dead bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.struck, g.commits, g.dead
}

func (g *ground) revive() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.dead = false
}

// draw returns a number for those who run beside the test's own goroutine.
func (g *ground) draw(n int) int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.r.IntN(n)
}

// run runs a statement, or what becomes of it. What was begun is always rolled
// back, as it is when a process dies.
func (g *ground) run(text string, reader bool, do func() error) error {
	before, after := g.strike(text, reader)
	if before {
		return errCut
	}
	err := do()
	if err == nil && text == "commit" {
		g.mu.Lock()
		g.commits++
		g.mu.Unlock()
	}
	if err == nil && after {
		return errCut
	}
	return err
}

func (g *ground) strike(text string, reader bool) (before, after bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case text == "rollback":
		return false, false
	case g.dead:
		return true, false
	case g.one == 0 || reader && !g.reads || g.r.IntN(g.one) > 0:
		return false, false
	}
	g.struck++
	g.dead = g.r.IntN(3) == 0
	after = text == "commit" && g.r.IntN(2) == 0
	return !after, after
}

// shakyDriver is the name of SQLite's driver on shaky ground.
const shakyDriver = "sqlite-shaky"

var (
	grounds       sync.Map // by the path of the file
	registerShaky = sync.OnceValue(func() error {
		db, err := sql.Open("sqlite", "")
		if err != nil {
			return err
		}
		sql.Register(shakyDriver, quaking{db.Driver()})
		return db.Close()
	})
)

type quaking struct{ driver.Driver }

// connection is what SQLite's driver offers, all of which is passed on.
type connection interface {
	driver.Conn
	driver.ConnPrepareContext
	driver.ConnBeginTx
	driver.ExecerContext
	driver.QueryerContext
	driver.SessionResetter
	driver.Validator
	driver.Pinger
}

type statement interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
}

func (d quaking) Open(name string) (driver.Conn, error) {
	c, err := d.Driver.Open(name)
	if err != nil {
		return nil, err
	}
	at, err := url.Parse(name)
	if err != nil {
		return nil, err
	}
	g, known := grounds.Load(at.Path)
	if !known {
		return nil, errors.New("nothing is known of " + at.Path)
	}
	return quakingConn{c.(connection), g.(*ground), strings.Contains(at.RawQuery, "query_only")}, nil
}

type quakingConn struct {
	connection
	*ground
	reader bool
}

func (c quakingConn) PrepareContext(ctx context.Context, text string) (driver.Stmt, error) {
	s, err := c.connection.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return quakingStmt{s.(statement), c, text}, nil
}

func (c quakingConn) ExecContext(ctx context.Context, text string, args []driver.NamedValue) (r driver.Result, err error) {
	err = c.run(text, c.reader, func() error { r, err = c.connection.ExecContext(ctx, text, args); return err })
	return r, err
}

func (c quakingConn) QueryContext(ctx context.Context, text string, args []driver.NamedValue) (r driver.Rows, err error) {
	err = c.run(text, c.reader, func() error { r, err = c.connection.QueryContext(ctx, text, args); return err })
	return r, err
}

type quakingStmt struct {
	statement
	conn quakingConn
	text string
}

func (s quakingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (r driver.Result, err error) {
	if s.text == "rollback" && s.conn.sabotage == keepsHalves {
		return s.conn.connection.ExecContext(ctx, "commit", nil)
	}
	err = s.conn.run(s.text, s.conn.reader, func() error { r, err = s.statement.ExecContext(ctx, args); return err })
	return r, err
}

func (s quakingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (r driver.Rows, err error) {
	err = s.conn.run(s.text, s.conn.reader, func() error { r, err = s.statement.QueryContext(ctx, args); return err })
	return r, err
}

// shaky is a store as nodes see it: before some verbs a leader falls asleep while
// others go on, and what was written is noted.
type shaky struct {
	database
	y        *year
	sabotage sabotage
}

// applied runs a verb that writes, and reports whether it was committed, whatever
// its caller was answered.
func (s *shaky) applied(verb func() error) (bool, error) {
	_, before, _ := s.y.ground.state()
	err := verb()
	_, after, _ := s.y.ground.state()
	return err == nil || after > before, err
}

// heard is the events that acts have recorded.
type heard map[eventKey]store.Event

// listen passes on what goes to the ledger, and notes it.
func (s *shaky) listen(eventOf store.EventOf, h heard) store.EventOf {
	if eventOf == nil {
		return nil
	}
	return func(before *recoup.Error, out *store.Outcome) *store.Event {
		event := eventOf(before, out)
		if event != nil {
			h[eventKey{event.ID, event.TS.UnixMicro()}] = *event
		}
		if s.sabotage == losesEvents && s.y.ground.draw(10) == 0 {
			return nil
		}
		return event
	}
}

// recorded runs a verb whose acts record events in the ledger.
func (s *shaky) recorded(h heard, verb func() error) error {
	done, err := s.applied(verb)
	if done {
		s.y.recorded(slices.Collect(maps.Values(h)))
	}
	return err
}

func (s *shaky) ApplySteps(ctx context.Context, now time.Time, steps []store.Step) (out []store.Outcome, err error) {
	s.y.doze()
	s.y.stall()
	steps, h := slices.Clone(steps), heard{}
	for i := range steps {
		steps[i].EventOf = s.listen(steps[i].EventOf, h)
	}
	err = s.recorded(h, func() error { out, err = s.database.ApplySteps(ctx, now, steps); return err })
	return out, err
}

func (s *shaky) Report(ctx context.Context, now time.Time, reports []store.Report) (out []store.Outcome, err error) {
	s.y.stall()
	reports, h := slices.Clone(reports), heard{}
	for i := range reports {
		reports[i].EventOf = s.listen(reports[i].EventOf, h)
	}
	err = s.recorded(h, func() error { out, err = s.database.Report(ctx, now, reports); return err })
	return out, err
}

func (s *shaky) ClaimDue(ctx context.Context, claim store.Claim) (out []recoup.Error, err error) {
	if s.sabotage == goesByNodes {
		claim.Now = s.y.clock().Add(s.y.off[0])
	}
	s.y.stall()
	begun, h := s.y.clock(), heard{}
	claim.EventOf = s.listen(claim.EventOf, h)
	err = s.recorded(h, func() error { out, err = s.database.ClaimDue(ctx, claim); return err })
	for _, e := range out {
		if e.LeasedAt.Before(begun) || e.LeasedAt.After(s.y.clock()) {
			s.y.wrong("%v was leased at %v: between %v and %v by the store's clock", e.ID, e.LeasedAt, begun, s.y.clock())
		}
	}
	return out, err
}

func (s *shaky) Due(ctx context.Context, d store.Deadline, now time.Time, skip, limit int) ([]recoup.ID, error) {
	s.y.doze()
	return s.database.Due(ctx, d, now, skip, limit)
}

func (s *shaky) SaveJob(ctx context.Context, term store.Term, job store.Job) error {
	s.y.doze()
	return s.database.SaveJob(ctx, term, job)
}

func (s *shaky) InsertEvents(ctx context.Context, events []store.Event) (n int, err error) {
	kept := events
	if s.sabotage == losesEvents && s.y.ground.draw(10) == 0 {
		kept = nil
	}
	done, err := s.applied(func() error { n, err = s.database.InsertEvents(ctx, kept); return err })
	if done {
		s.y.recorded(events)
	}
	return n, err
}

// Errors shows, to a test of the tests, an archived error as one that is open.
func (s *shaky) Errors(ctx context.Context, f store.Filter, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
	list, next, err := s.database.Errors(ctx, f, p)
	if s.sabotage == keepsArchived && err == nil && next.IsZero() {
		archived, _, err := s.Archived(ctx, dol, sqldb.Page{Limit: 1})
		return append(list, archived...), next, err
	}
	return list, next, err
}
