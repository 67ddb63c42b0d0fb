package app_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	testnode "github.com/recoup-dev/recoup/server/internal/test/node"
)

// plantedToken is a secret that is nowhere after a node has run.
const plantedToken = "ghp_Zx81LmQp30RtVw52YbNc74HdKf96SjTa05Eu"

// legacyGate are tables of Gate Zero as somebody has them, with secrets in columns that
// the specification has and in columns of their own.
const legacyGate = `create schema cl;
	create table cl.gate_zero_intake (intake_id uuid primary key default gen_random_uuid(), batch_id text, import_key text, company_name text, domain text,
		linkedin_url text, state varchar(2), status text, notes jsonb, contact varchar(8), tags text[], password text,
		created_at timestamptz default now(), updated_at timestamptz default now());
	create table cl.gate_zero_recovery (recovery_id uuid primary key default gen_random_uuid(), intake_id uuid not null, batch_id text,
		failure_reason text not null, attempt_count integer not null default 1, next_eligible_at timestamptz not null, status text not null default 'ACTIVE',
		created_at timestamptz not null default now(), updated_at timestamptz not null default now(), remark text);
	insert into cl.gate_zero_intake (import_key, company_name, domain, linkedin_url, status, notes, contact, tags, password)
		select case when i <= 3 then '%[1]s' || repeat(' ', i) end, 'Company ' || i || case when i <= 50 then ' %[1]s' else '' end, '%[1]s',
			'https://example.com/?token=%[1]s', (array['PENDING', 'FAILED', 'FAILED'])[i %% 3 + 1], '{"note": "token %[1]s", "n": 7}', 'a@b.io',
			array['fine', '%[1]s'], 'hunter2' from generate_series(1, %[2]d) i;
	insert into cl.gate_zero_recovery (intake_id, failure_reason, attempt_count, next_eligible_at, status, created_at, updated_at, remark)
		select intake_id, 'TIMEOUT', n, at + (array['24 hours', '72 hours', '168 hours'])[n]::interval, case n when 3 then 'EXHAUSTED' else 'ACTIVE' end, at, at, 'see %[1]s'
			from (select *, row_number() over () %% 3 + 1 as n, now() - interval '2 days' as at from cl.gate_zero_intake where status = 'FAILED') i;
	insert into cl.gate_zero_intake (company_name, status) values ('left', 'status %[1]s');
	insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at) values (gen_random_uuid(), '%[1]s', now())`

var redactedRows = regexp.MustCompile(`rows=(\d+) redacted=(\d+)`)

// Secrets in rows of Gate Zero that were there before are redacted by a node, once, also
// if another had begun with it; nothing else of the rows changes.
func TestTakenOverIsRedacted(t *testing.T) {
	t.Parallel()
	const rows = 700 // more than a batch
	owner, appURL := legacyDatabase(t, fmt.Sprintf(legacyGate, plantedToken, rows))
	before := scan[string](t, owner, untouched)

	opened := gatezero.NewStore(pgtest.OpenURL(t, appURL).SQL())
	done, err := gatezero.RedactTakenOver(t.Context(), &stopping{Redactor: opened})
	if !errors.Is(err, errStopped) || done.Read == 0 || done.Read >= rows {
		t.Fatal(done, err)
	}
	log := &testnode.Log{}
	options := healthy(t, appURL)
	options.Logger = slog.New(slog.NewTextHandler(log, nil))
	serveUntilRead(t, owner, options)
	if found := tablesWith(t, owner, plantedToken, "hunter2", "a@b.io"); len(found) > 0 {
		t.Errorf("a secret is still in %v", found)
	}
	if after := scan[string](t, owner, untouched); after != before {
		t.Error("more than the text of rows has changed")
	}
	if n := scan[int](t, owner, `select count(*) from cl.gate_zero_intake where company_name ~ '^Company \d+ \[redacted:' and notes ->> 'n' = '7' and tags[1] = 'fine'`); n != 50 {
		t.Errorf("%d intakes have the rest of their text, want 50", n)
	}
	recoveries := scan[int](t, owner, `select count(*) from cl.gate_zero_recovery`)
	said, logged := log.Take(), 0
	for _, m := range redactedRows.FindAllStringSubmatch(said, -1) { // one line more after each failure
		n, err := strconv.Atoi(m[1])
		if err != nil || m[1] != m[2] {
			t.Errorf("the log says %s", m[0])
		}
		logged += n
	}
	if want := rows + recoveries - done.Read; logged != want {
		t.Errorf("the log says that %d rows were redacted, want %d:\n%s", logged, want, said)
	}

	if n := scan[int](t, owner, `select redacted from cl.gate_zero_taken_over`); n != rows+recoveries {
		t.Errorf("%d rows are said to have been redacted, want %d", n, rows+recoveries)
	}
	first := scan[string](t, owner, everyVersion)
	serveUntilRead(t, owner, options)
	if again, err := gatezero.RedactTakenOver(t.Context(), opened); err != nil || again.Read > 0 {
		t.Errorf("a second time there was %+v, %v", again, err)
	}
	if second := scan[string](t, owner, everyVersion); second != first {
		t.Error("a restart has changed rows once more")
	}
	if said := log.String(); strings.Contains(said, "taken over") {
		t.Errorf("a restart speaks of it again: %s", said)
	}
}

// stopping is a store of a node that is killed after its first transaction.
type stopping struct {
	gatezero.Redactor
	done bool
}

var errStopped = errors.New("killed")

func (s *stopping) RedactRows(ctx context.Context, kind gatezero.TakenOverKind, rows []gatezero.UnreadRow) (int, error) {
	if s.done {
		return 0, errStopped
	}
	s.done = true
	return s.Redactor.RedactRows(ctx, kind, rows)
}

const (
	// untouched is what redaction leaves alone.
	untouched = `select md5((select string_agg(concat_ws(' ', intake_id, batch_id, status, created_at, updated_at), '' order by intake_id) from cl.gate_zero_intake)
		|| (select string_agg(concat_ws(' ', recovery_id, status, failure_reason, attempt_count, next_eligible_at, updated_at), '' order by recovery_id) from cl.gate_zero_recovery)
		|| (select string_agg(a::text, '' order by air_id) from cl.gate_zero_air a) || (select string_agg(c::text, '' order by c::text) from cl.gate_zero_reason c))`
	// everyVersion differs when a row has been written.
	everyVersion = `select md5((select string_agg(xmin::text, '' order by intake_id) from cl.gate_zero_intake) ||
		(select string_agg(xmin::text, '' order by recovery_id) from cl.gate_zero_recovery))`
)

// legacyDatabase is a migrated database in which the statements had been run before.
func legacyDatabase(t *testing.T, statements string) (owner *pgx.Conn, appURL string) {
	t.Helper()
	address := pgtest.New(t)
	owner, err := pgx.Connect(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = owner.Close(context.WithoutCancel(t.Context())) })
	if _, err := owner.Exec(t.Context(), statements, pgx.QueryExecModeSimpleProtocol); err != nil {
		t.Fatal(err)
	}
	if err := postgres.Migrate(t.Context(), address); err != nil {
		t.Fatal(err)
	}
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	u.User = url.User(postgres.AppRole)
	return owner, u.String()
}

// serveUntilRead runs a node until it has nothing more to redact.
func serveUntilRead(t *testing.T, owner *pgx.Conn, o app.Options) {
	t.Helper()
	t.Run("node", func(t *testing.T) {
		live.Start(t, o)
		tick := time.NewTicker(50 * time.Millisecond)
		defer tick.Stop()
		for !scan[bool](t, owner, `select read_at is not null from cl.gate_zero_taken_over`) {
			select {
			case <-tick.C:
			case <-t.Context().Done():
				t.Fatal(t.Context().Err())
			}
		}
	})
}

// tablesWith lists our tables in which a text is anywhere.
func tablesWith(t *testing.T, owner *pgx.Conn, texts ...string) (found []string) {
	t.Helper()
	names := scan[[]string](t, owner, `select array_agg(c.oid::regclass::text) from pg_class c
		where c.relkind = 'r' and c.relnamespace in ('cl'::regnamespace, 'recoup'::regnamespace)`)
	for _, name := range names {
		for _, text := range texts {
			if scan[bool](t, owner, fmt.Sprintf(`select exists (select from %s t where strpos(t::text, $1) > 0)`, name), text) {
				found = append(found, name+": "+text)
			}
		}
	}
	return found
}

func scan[T any](t *testing.T, c *pgx.Conn, sql string, args ...any) (value T) {
	t.Helper()
	if err := c.QueryRow(t.Context(), sql, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return value
}
