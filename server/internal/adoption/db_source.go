package adoption

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
)

const (
	// sourceTimeout is how long a call of a function of an adopted table may take. The server
	// has a limit of its own, which the table's owner can lift.
	sourceTimeout = 45 * time.Second

	// maxSourceBytes is how many bytes a call may return: a batch of rows that are moved has the
	// most (maxMoved). maxSourceMessageBytes is how many one row, or one error, may have.
	maxSourceBytes        = 64 << 20
	maxSourceMessageBytes = 4 << 20
)

// sources are the connections to adopted tables, one for each adoption that is worked at. Each
// adoption has a login role that can call its functions and nothing else: code of the table's
// owner can run in the role's sessions (decision 0105).
type sources struct {
	config *pgx.ConnConfig
	own    *pgx.ConnConfig // with the user and the password of this node
	mu     sync.Mutex
	open   map[int]*session
}

// session is a connection to one adopted table. Its statements consist of one call of a function
// by its full name: the owner's code can change every setting of the session.
type session struct {
	mu   sync.Mutex
	conn *pgx.Conn // nil: closed
	read *bounded  // what conn reads from
}

// newSources makes the connections' settings from how this node connects, or from another address.
func newSources(own *pgx.ConnConfig, o postgres.Options) (*sources, error) {
	config := own.Copy()
	if o.Adoption != "" {
		var err error
		if config, err = postgres.Parse(o.Adoption); err != nil {
			return nil, err
		}
	}
	config.RuntimeParams = map[string]string{
		"application_name":  "recoup adoption",
		"statement_timeout": strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10), "lock_timeout": strconv.FormatInt(o.LockTimeout.Milliseconds(), 10),
		"idle_in_transaction_session_timeout": strconv.FormatInt(o.StatementTimeout.Milliseconds(), 10), "default_transaction_read_only": "off",
	}
	pgsession.Start(config)
	config.RuntimeParams["datestyle"] = "ISO, YMD"
	config.DefaultQueryExecMode, config.StatementCacheCapacity, config.DescriptionCacheCapacity = pgx.QueryExecModeExec, 0, 0
	config.OnNotice, config.OnNotification = nil, nil
	return &sources{config: config, own: own, open: map[int]*session{}}, nil
}

// bounded is a connection that fails once a call has returned too much.
type bounded struct {
	net.Conn
	left atomic.Int64
}

func (b *bounded) Read(p []byte) (int, error) {
	left := b.left.Load()
	if left <= 0 {
		return 0, fmt.Errorf("a call of an adopted table returned more than %d bytes", maxSourceBytes)
	}
	n, err := b.Conn.Read(p[:min(int64(len(p)), left)])
	b.left.Add(-int64(n))
	return n, err
}

// allow lets the connection return as much as one call may.
func (b *bounded) allow() { b.left.Store(maxSourceBytes) }

// connectSource opens a connection to an adopted table, as the role of its adoption.
func (s *DB) connectSource(ctx context.Context, adoption int) (*pgx.Conn, *bounded, error) {
	var dialed atomic.Pointer[bounded] // cancelling and ending a session dial again, at any time
	config := s.sources.config.Copy()
	dial := config.DialFunc
	config.DialFunc = func(ctx context.Context, network, address string) (net.Conn, error) {
		conn, err := dial(ctx, network, address)
		if err != nil {
			return nil, err
		}
		read := &bounded{Conn: conn}
		read.allow()
		dialed.Store(read)
		return read, nil
	}
	ownLogin, err := s.readLogin(ctx, adoption, config)
	if err != nil {
		return nil, nil, err
	}
	conn, err := pgx.ConnectConfig(ctx, config)
	if err != nil {
		return nil, nil, postgres.Failed("connect to an adopted table as "+config.User, err)
	}
	if ownLogin {
		if err := checkSchemaOwner(ctx, conn); err != nil {
			return nil, nil, err
		}
	}
	conn.PgConn().Frontend().SetMaxBodyLen(maxSourceMessageBytes)
	return conn, dialed.Load(), nil
}

// strange selects the tables of adoption a.adoption_id, a source and its partitions, whose owner has not the
// rights that its functions run with. Triggers, casts and policies of such an owner would run with these rights:
// the table was given to another role, or a partition was.
const strange = `select c.oid, c.relowner, p.proowner as runs_as
	from pg_class c join pg_proc p on p.pronamespace = 'recoup'::regnamespace and p.proname = format('adopted_%s_mirror', a.adoption_id)
	where c.oid = any (array(with recursive t (oid) as (select recoup.adopted_source(a.adoption_id)
	    union select i.inhrelid from t join pg_inherits i on i.inhparent = t.oid) select t.oid from t)) -- pg_partition_tree would wait for locks
	  and not pg_has_role(c.relowner, p.proowner, ` + pgsession.Membership + `)`

// foreignCode selects the code of other roles that would run with the rights of the functions of adoption
// a.adoption_id: see [pgsession.ForeignCode].
var foreignCode = "select f.why, f.way from (select p.proowner from pg_proc p where p.pronamespace = 'recoup'::regnamespace and p.proname = format('adopted_%s_mirror', a.adoption_id) limit 1) o" +
	" cross join lateral (" + pgsession.ForeignCode("recoup.adopted_source(a.adoption_id)", "o.proowner", removes) + ") f limit 1"

// removes is whether adoption a.adoption_id has the function that deletes rows.
const removes = "exists (select from pg_catalog.pg_proc d join pg_catalog.pg_namespace n on n.oid = d.pronamespace where n.nspname = 'recoup' and d.proname = pg_catalog.format('adopted_%s_remove', a.adoption_id))"

// readLogin sets the user and the password for an adopted table: those of the adoption's login role,
// or, if it has none, those of this node. It refuses a table whose owner would gain rights.
func (s *DB) readLogin(ctx context.Context, adoption int, config *pgx.ConnConfig) (ownLogin bool, err error) {
	var role *string
	var stranger, foreign string
	err = s.pool.QueryRow(ctx, `select a.role, a.password, coalesce((select format('%s belongs to %s, whose code would run with the rights of %s',
		    x.oid::regclass, pg_get_userbyid(x.relowner), pg_get_userbyid(x.runs_as)) from (`+strange+` order by c.oid limit 1) x), ''),
		  coalesce((select x.why from (`+foreignCode+`) x), '')
		from recoup.adoption_login a where a.adoption_id = $1`, adoption).Scan(&role, &config.Password, &stranger, &foreign)
	switch {
	case errors.Is(err, pgx.ErrNoRows):
		return false, fmt.Errorf("adoption %d has no login", adoption)
	case err != nil:
		return false, postgres.Failed("read the login of an adoption", err)
	case stranger != "":
		return false, fmt.Errorf("%s: give it back, or release it and adopt it again", stranger)
	case foreign != "":
		return false, fmt.Errorf("%s: nodes leave the table alone until that changes, recoup doctor prints the command", foreign)
	case role == nil:
		config.User, config.Password = s.sources.own.User, s.sources.own.Password
		return true, nil
	}
	config.User = *role
	return false, nil
}

// checkSchemaOwner closes a session that is not one of the schema's owner. Code of the adopted table's
// owner can run in it, and would gain the rights of any other user.
func checkSchemaOwner(ctx context.Context, conn *pgx.Conn) error {
	var owner bool
	err := conn.QueryRow(ctx, "select pg_catalog.pg_get_userbyid(n.nspowner) = session_user from pg_catalog.pg_namespace n where n.nspname = 'recoup'").Scan(&owner)
	if err == nil && owner {
		return nil
	}
	_ = conn.Close(context.WithoutCancel(ctx))
	return cmp.Or(postgres.Failed("read the owner of the schema", err), errNoLoginRole)
}

// errNoLoginRole is returned to a node that is not the schema's owner, for a table that was adopted
// where no role could be created.
var errNoLoginRole = errors.New("the adoption has no login role of its own: run recoup doctor --fix as the owner of the schema recoup")

// of returns the entry of an adoption.
func (s *sources) of(adoption int) *session {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.open[adoption] == nil {
		s.open[adoption] = &session{}
	}
	return s.open[adoption]
}

// close closes the connection to an adopted table.
func (s *session) close(ctx context.Context) {
	if s.conn != nil {
		_ = s.conn.Close(context.WithoutCancel(ctx))
	}
	s.conn = nil
}

// closeAll closes all connections to adopted tables.
func (s *sources) closeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, at := range s.open {
		at.mu.Lock()
		at.close(context.Background())
		at.mu.Unlock()
	}
}

// LeaveSource closes the connection to a source, once a node has done its turn at it.
func (s *DB) LeaveSource(ctx context.Context, adoption int) {
	at := s.sources.of(adoption)
	at.mu.Lock()
	defer at.mu.Unlock()
	at.close(ctx)
}

// atSource calls a function of an adopted table in a transaction of its own, and has its rows
// read.
func atSource(ctx context.Context, s *DB, doing string, adoption int, function string, read func(pgx.Rows) error, args ...any) error {
	at := s.sources.of(adoption)
	at.mu.Lock()
	defer at.mu.Unlock()
	ctx, cancel := context.WithTimeout(ctx, sourceTimeout)
	defer cancel()
	if at.conn == nil {
		var err error
		if at.conn, at.read, err = s.connectSource(ctx, adoption); err != nil {
			return err
		}
	}
	at.read.allow()
	places := make([]string, len(args))
	for i := range places {
		places[i] = fmt.Sprintf("$%d", i+1)
	}
	call := fmt.Sprintf("select * from recoup.adopted_%d_%s(%s)", adoption, function, strings.Join(places, ", "))
	conn := at.conn
	err := at.query(ctx, slices.Contains(readers, function), call, read, args...)
	if ctx.Err() != nil {
		pgsession.End(ctx, conn)
	}
	if said, ok := errors.AsType[*pgconn.PgError](err); err != nil && (!ok || said.Code == "42501") {
		at.close(ctx)
	}
	return postgres.Failed(doing, err)
}

// readers are the functions that write nothing. Their transactions are rolled back: at a commit,
// deferred triggers and held cursors of the owner would run as the user of the session.
var readers = []string{"read", "scan", "last", "take"}

// query calls a function and has its rows read.
func (s *session) query(ctx context.Context, discard bool, call string, read func(pgx.Rows) error, args ...any) (err error) {
	if discard {
		if _, err := s.conn.Exec(ctx, "begin"); err != nil {
			return err
		}
		defer func() {
			if _, failed := s.conn.Exec(ctx, "rollback"); failed != nil {
				s.close(ctx)
				if err == nil {
					err = failed
				}
			}
		}()
	}
	rows, err := s.conn.Query(ctx, call, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	if err := read(rows); err != nil {
		return err
	}
	rows.Close()
	return rows.Err()
}

// rowsAtSource calls a function of an adopted table and collects at most so many of its rows.
func rowsAtSource[T any](ctx context.Context, s *DB, doing string, adoption int, function string, most int, row func(pgx.CollectableRow) (T, error), args ...any) (list []T, err error) {
	err = atSource(ctx, s, doing, adoption, function, func(rows pgx.Rows) error {
		for rows.Next() {
			one, err := row(rows)
			if err != nil {
				return err
			}
			if list = append(list, one); len(list) > most {
				return fmt.Errorf("the function %s of adoption %d returned more than %d rows: it was replaced", function, adoption, most)
			}
		}
		return rows.Err()
	}, args...)
	if err != nil {
		return nil, err
	}
	return list, nil
}

// keysAtSource calls a function of an adopted table that returns an array of keys.
func keysAtSource(ctx context.Context, s *DB, doing string, adoption int, function string, args ...any) ([]string, error) {
	found, err := rowsAtSource(ctx, s, doing, adoption, function, 1, pgx.RowTo[[]string], args...)
	if err != nil || len(found) == 0 {
		return nil, err
	}
	return found[0], nil
}
