package chaos

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
)

// Database is a database as plain SQL sees it, with the rights of its owner.
type Database struct {
	*sql.DB
	Postgres bool // else SQLite
}

// words are what the two databases call differently: id(x) is an id as text,
// us(x) a time in microseconds since 1970, num(x) a boolean as a number.
var words = regexp.MustCompile(`\b(id|us|num)\(([^()]+)\)`)

// in writes a statement as the database wants it.
func (d *Database) in(statement string) string {
	return words.ReplaceAllStringFunc(statement, func(call string) string {
		m := words.FindStringSubmatch(call)
		switch {
		case m[1] == "num":
			return "case when " + m[2] + " then 1 else 0 end"
		case m[1] == "id" && d.Postgres:
			return "coalesce(" + m[2] + "::text, '')"
		case m[1] == "id":
			return "coalesce(lower(hex(" + m[2] + ")), '')"
		case d.Postgres:
			return "coalesce((extract(epoch from " + m[2] + ") * 1000000)::bigint, 0)"
		}
		return "coalesce(" + m[2] + ", 0)"
	})
}

// logTerms lets the database itself note who leads and what leaders write, in the
// order in which it lets that happen: whoever writes holds the term's row.
const (
	postgresTerms = `
		create table public.chaos_term (seq bigint generated always as identity, what text not null, number bigint not null, holder text,
			at timestamptz not null default clock_timestamp());
		create function public.chaos_lead() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
		begin
			insert into public.chaos_term (what, number, holder) values (case when new.holder is null then 'ends' else 'begins' end, new.number, new.holder);
			return null;
		end $$;
		create function public.chaos_write() returns trigger language plpgsql security definer set search_path = pg_catalog as $$
		begin
			insert into public.chaos_term (what, number, holder) values (new.name, new.term, null);
			return null;
		end $$;
		create trigger chaos_lead after insert or update on recoup.leader for each row when (new.number > 0) execute function public.chaos_lead();
		create trigger chaos_write after insert or update on recoup.job for each row execute function public.chaos_write()`
	sqliteTerms = `
		create table chaos_term (seq integer primary key autoincrement, what text not null, number integer not null, holder text,
			at integer not null default (cast(unixepoch('subsec') * 1000000 as integer)));
		create trigger chaos_lead after update on leader when new.number > 0 begin
			insert into chaos_term (what, number, holder) values (case when new.holder is null then 'ends' else 'begins' end, new.number, new.holder); end;
		create trigger chaos_first after insert on leader when new.number > 0 begin
			insert into chaos_term (what, number, holder) values ('begins', new.number, new.holder); end;
		create trigger chaos_write after update on job begin
			insert into chaos_term (what, number, holder) values (new.name, new.term, null); end;
		create trigger chaos_written after insert on job begin
			insert into chaos_term (what, number, holder) values (new.name, new.term, null); end`
)

// LogTerms begins to note terms. Once is enough, before the first node leads.
func (d *Database) LogTerms(ctx context.Context) error {
	statements := sqliteTerms
	if d.Postgres {
		statements = postgresTerms
	}
	_, err := d.ExecContext(ctx, statements)
	return err
}

// Read reads everything in one snapshot.
func (d *Database) Read(ctx context.Context) (*Final, error) {
	tx, err := d.begin(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = tx.Rollback() }()
	f := &Final{}
	r := &reader{ctx: ctx, database: d, tx: tx}
	r.errors(f)
	r.history(f)
	r.letters(f)
	r.notices(f)
	r.ranges(f)
	for _, figure := range d.figures() {
		r.figure(f, figure)
	}
	return f, r.err
}

// begin opens a snapshot that resolves Recoup's names.
func (d *Database) begin(ctx context.Context) (*sql.Tx, error) {
	if !d.Postgres {
		return d.BeginTx(ctx, nil)
	}
	tx, err := d.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true})
	if err != nil {
		return nil, err
	}
	if _, err := tx.ExecContext(ctx, "set local search_path = recoup, public"); err != nil {
		_ = tx.Rollback()
		return nil, err
	}
	return tx, nil
}

// reader reads rows until something fails.
type reader struct {
	ctx      context.Context
	database *Database
	tx       *sql.Tx
	err      error
}

// each calls for every row of a query, with what scans it.
func (r *reader) each(query string, row func(scan func(...any))) {
	if r.err != nil {
		return
	}
	rows, err := r.tx.QueryContext(r.ctx, r.database.in(query))
	if err != nil {
		r.err = fmt.Errorf("%s: %w", query, err)
		return
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		row(func(into ...any) {
			if err := rows.Scan(into...); err != nil && r.err == nil {
				r.err = fmt.Errorf("%s: %w", query, err)
			}
		})
	}
	if err := rows.Err(); err != nil && r.err == nil {
		r.err = err
	}
}

// scanID reads an id, with or without its hyphens; none is the zero id.
type scanID struct{ *recoup.ID }

func (s scanID) Scan(value any) error {
	text, ok := value.(string)
	if raw, bytes := value.([]byte); bytes {
		text, ok = string(raw), true
	}
	switch {
	case !ok:
		return fmt.Errorf("%T is no id", value)
	case text == "":
		return nil
	case !strings.Contains(text, "-"):
		text = text[:8] + "-" + text[8:12] + "-" + text[12:16] + "-" + text[16:20] + "-" + text[20:]
	}
	id, err := recoup.ParseID(text)
	*s.ID = id
	return err
}

// scanTime reads microseconds.
type scanTime struct{ *time.Time }

func (s scanTime) Scan(value any) error {
	us, ok := value.(int64)
	if !ok {
		return fmt.Errorf("%T is no time", value)
	}
	*s.Time = time.UnixMicro(us).UTC()
	return nil
}
