package define_test

import (
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// shape is a table that people might have.
type shape struct {
	name    string
	source  string // default: shop.failures
	ddl     string
	mapping wire.Mapping
	rows    string // all that its functions return, after what is written below
	write   string // by its writers
	changed string // what the triggers noted of that
}

var shapes = []shape{
	{
		name: "bigint key",
		ddl: `create table shop.failures (id bigint generated always as identity primary key, order_id text not null, code text, message text, created_at timestamptz default '2026-01-01Z');
			insert into shop.failures (order_id, code) values ('a', 'TIMEOUT'), ('b', 'not found')`,
		write:   "insert into shop.failures (order_id) values ('c'); delete from shop.failures where id = 1",
		changed: "{3} {c}; {1} -",
		rows:    "2 b not found - 2026-01-01; 3 c INTERNAL_ERROR - 2026-01-01",
	},
	{
		name: "uuid key, odd types of code, time and disposition",
		ddl: `create type shop.level as enum ('fatal', 'meh');
			create table shop.failures (id uuid primary key, company_id int, code smallint, error jsonb, severity shop.level, created_at bigint, disposition int default 7, archived_at date);
			insert into shop.failures values ('00000000-0000-0000-0000-000000000001', 4, 42, '"plain"', 'fatal', 1767225600), ('00000000-0000-0000-0000-000000000002', null, null, '{"a": 1}', 'meh', 1767225600000)`,
		write:   "update shop.failures set code = 43 where company_id = 4; update shop.failures set disposition = 8",
		changed: "{00000000-0000-0000-0000-000000000001} {4}",
		rows:    `00000000-0000-0000-0000-000000000001 4 43 CRITICAL 2026-01-01; 00000000-0000-0000-0000-000000000002 - INTERNAL_ERROR - 2026-01-01`,
	},
	{
		name: "composite key, time as text",
		ddl: `create table shop.failures (region text, at date, n int, entity_id text, kind varchar(20), created_at text, primary key (region, at, n));
			insert into shop.failures values ('eu', '2026-01-02', 1, 'x', 'a', '2026-01-01T00:00:00Z'), ('eu "1"', '2026-01-02', 2, 'y', 'b', 'yesterday-ish'), ('us', '2026-01-01', 1, 'z', 'b', '2026-02-31')`,
		write:   "update shop.failures set n = 7 where n = 2",
		changed: `{"[\"eu \\\"1\\\"\", \"2026-01-02\", \"7\"]","[\"eu \\\"1\\\"\", \"2026-01-02\", \"2\"]"} {y}`,
		rows:    `["eu", "2026-01-02", "1"] x a - 2026-01-01; ["eu \"1\"", "2026-01-02", "7"] y b - -; ["us", "2026-01-01", "1"] z b - -`,
	},
	{
		name: "no key",
		ddl: `create table shop.failures (order_id text, code text, created_at timestamp);
			insert into shop.failures select 'o' || n, 'X', '2026-01-01' from generate_series(1, 3) n`,
		write: "insert into shop.failures values ('o4', 'X', 'infinity')",
		rows:  "* o1 X - 2026-01-01; * o2 X - 2026-01-01; * o3 X - 2026-01-01; * o4 X - -",
	},
	{
		name: "generated columns, and a key that is a unique index",
		ddl: `create table shop.failures (a int not null, b int generated always as (a * 2) stored, order_id text generated always as ('o' || a::text) stored, code text);
			create unique index on shop.failures (a);
			insert into shop.failures values (1, default, default, 'x')`,
		write:   "update shop.failures set a = 5",
		changed: "{5,1} {o5}",
		rows:    "5 o5 x - -",
	},
	{
		name: "partitioned parent",
		ddl: `create table shop.failures (id bigint, day date, order_id text, code text, primary key (id, day)) partition by range (day);
			create table shop.failures_1 partition of shop.failures for values from ('2026-01-01') to ('2026-02-01');
			create table shop.failures_2 partition of shop.failures for values from ('2026-02-01') to ('2026-03-01') partition by list (id);
			create table shop.failures_2a partition of shop.failures_2 default;
			insert into shop.failures values (1, '2026-01-01', 'a', 'x'), (2, '2026-02-01', 'b', 'y')`,
		write:   "insert into shop.failures values (3, '2026-01-02', 'c', 'x'), (4, '2026-02-02', 'd', 'x'); insert into shop.failures_1 values (5, '2026-01-02', 'e', 'x'); truncate shop.failures_2a",
		changed: `{"[\"3\", \"2026-01-02\"]","[\"4\", \"2026-02-02\"]"} {c,d}; {"[\"5\", \"2026-01-02\"]"} {e}; - -`,
		rows:    `["1", "2026-01-01"] a x - -; ["3", "2026-01-02"] c x - -; ["5", "2026-01-02"] e x - -`,
	},
	{
		name: "a partition whose columns are in another order",
		ddl: `create table shop.failures (id bigint primary key, gone int, order_id text, code text) partition by range (id); alter table shop.failures drop gone;
			create table shop.failures_1 partition of shop.failures for values from (0) to (10);
			create table shop.failures_2 (code text, order_id text, id bigint not null); alter table shop.failures attach partition shop.failures_2 for values from (10) to (20);
			insert into shop.failures values (1, 'a', 'x'), (11, 'b', 'y')`,
		write: `insert into shop.failures_1 (id, order_id, code) values (2, 'c', 'x'); insert into shop.failures_2 (id, order_id, code) values (12, 'd', 'x'); update shop.failures_2 set code = 'z' where id = 12;
			alter table shop.failures rename code to kind; update shop.failures_2 set kind = 'q' where id = 12; delete from shop.failures_2 where id = 12; insert into shop.failures values (13, 'e', 'x'); alter table shop.failures rename kind to code`,
		changed: "{2} {c}; {12} {d}; {12} {d}; {12} {d}; {12} -; {13} {e}",
		rows:    "1 a x - -; 11 b y - -; 13 e x - -; 2 c x - -",
	},
	{
		name: "foreign keys to it, and its own triggers",
		ddl: `create table shop.failures (id int primary key, order_id text, code text, touched int default 0);
			create table shop.attempts (failure int references shop.failures on delete cascade);
			create function shop.touch() returns trigger language plpgsql as 'begin new.touched := old.touched + 1; return new; end';
			create trigger touch before update on shop.failures for each row execute function shop.touch();
			insert into shop.failures values (1, 'a', 'x'), (2, 'b', 'x'); insert into shop.attempts values (1)`,
		write:   "delete from shop.failures where id = 1",
		changed: "{1} -",
		rows:    "2 b x - -",
	},
	{
		name: "row security, forced, with a policy for its owner",
		ddl: `create table shop.failures (id int primary key, order_id text, code text);
			alter table shop.failures enable row level security; alter table shop.failures force row level security;
			create policy everything on shop.failures to current_user using (true);
			insert into shop.failures values (1, 'a', 'x')`,
		write:   "insert into shop.failures values (2, 'b', 'x')",
		changed: "{2} {b}",
		rows:    "1 a x - -; 2 b x - -",
	},
	{
		name: "a queue of jobs, of which few have failed",
		ddl: `create table shop.failures (id int primary key, order_id text, code text, state text not null);
			insert into shop.failures values (1, 'a', 'x', 'discarded'), (2, 'b', 'x', 'done')`,
		mapping: wire.Mapping{GovernedWhen: "state = 'discarded'"},
		write:   "insert into shop.failures values (3, 'c', 'x', 'done'); do 'begin if exists (select from shop.failures where disposition is not null) then raise exception $$too early$$; end if; end'; update shop.failures set state = 'discarded' where id = 3",
		changed: "{3} {c}; {3} {c}",
		rows:    "1 a x - -; 2 b x - - over; 3 c x - -",
	},
	{
		name: "mixed case, quotes and reserved words", source: `shop."Order ""Failures"""`,
		ddl: `create table shop."Order ""Failures""" ("Id" int, "order" text, "select" text, "Mess'age" text, "when" timestamptz, keys text, s text, "k" text, primary key ("Id", "order"));
			insert into shop."Order ""Failures""" values (1, 'a', 'x', 'm', '2026-01-01Z')`,
		mapping: wire.Mapping{Entity: "order", Code: "select", Message: "Mess'age", CreatedAt: "when", ResolvedWhen: `keys = 'done' or "k" = 'it''s'`},
		write:   `insert into shop."Order ""Failures""" values (2, 'b', 'x', 'm', '2026-01-01Z', 'done'); update shop."Order ""Failures""" set "k" = 'it''s' where "Id" = 1; update shop."Order ""Failures""" set s = 'x'`,
		changed: `{"[\"2\", \"b\"]"} {b}; {"[\"1\", \"a\"]"} {a}`,
		rows:    `["1", "a"] a x - 2026-01-01 over; ["2", "b"] b x - 2026-01-01 over`,
	},
	{
		name: "names that end quotations",
		ddl: `create table shop.failures ("$recoup$" int primary key, order_id text, "$recoup1$; a'b""c\d" text, "two
lines" text); insert into shop.failures values (1, 'a', 'x', 'y')`,
		mapping: wire.Mapping{Code: `$recoup1$; a'b"c\d`, Message: "two\nlines", ResolvedWhen: `order_id = '$recoup$'`},
		write: `insert into shop.failures values (2, 'b', 'x'); alter table shop.failures rename "$recoup$" to "a%Ib'"; insert into shop.failures values (3, 'c', 'x');
			update shop.failures set order_id = '1' where "a%Ib'" = 3; delete from shop.failures where "a%Ib'" = 3; alter table shop.failures rename "a%Ib'" to "$recoup$"`,
		changed: "{2} {b}; {3} {c}; {3} {1}; {3} -",
		rows:    "1 a x - -; 2 b x - -",
	},
}

// The keys that a change has, and its entities, which the shapes' tables name.
const (
	notedKeys     = "coalesce(keys, numbers::text[], uuids::text[])"
	notedEntities = `(select array_agg(distinct e) from (select chr(n) from generate_series(97, 122) n union all select n::text from generate_series(0, 9) n union all select 'o' || n from generate_series(0, 9) n) l (e)
		where hashtextextended(e, 0) = any (entities))`
)

// TestShapesAreAdoptedAndReleased adopts every shape, writes to it as its writers do,
// compares what nodes would see, and expects the definition to be the same, byte by byte,
// once it is released.
func TestShapesAreAdoptedAndReleased(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			if s.source == "" {
				s.source = "shop.failures"
			}
			w := newWorld(t, s.ddl)
			before := w.dump()
			w.adopt(s.source, s.mapping)
			w.as(s.write)
			const noted = "select string_agg(coalesce(" + notedKeys + "::text, '-') || ' ' || coalesce(" + notedEntities + "::text, '-'), '; ' order by change_id) from recoup.adopted_change"
			if got := one(t, w, noted); s.changed != "" && got != s.changed {
				t.Errorf("noted:\n%s\nwant:\n%s", got, s.changed)
			}
			const row = `string_agg(concat_ws(' ', case when key ~ '^\w{8}-' and key !~ '^00000000-' then '*' else key end, coalesce(entity_id, '-'), code, coalesce(severity, '-'),
				coalesce((created_at at time zone 'UTC')::date::text, '-'), case when not governed then 'over' end), '; ' order by `
			if got := one(t, w, "select "+row+"entity_id, key) from recoup.adopted_1_read(array(select recoup.adopted_1_scan(null, recoup.adopted_1_last(), 100)))"); sorted(got) != sorted(s.rows) {
				t.Errorf("rows:\n%s\nwant:\n%s", got, s.rows)
			}
			paged := one(t, w, `with recursive pages as (select 1 as n, recoup.adopted_1_scan(null, recoup.adopted_1_last(), 1) as key union all select n + 1, recoup.adopted_1_scan(key, recoup.adopted_1_last(), 1) from pages where n < 100)
				select count(distinct key)::text from pages`)
			if all := one(t, w, "select count(*)::text from recoup.adopted_1_scan(null, recoup.adopted_1_last(), 100)"); paged != all {
				t.Errorf("page by page %s rows, at once %s", paged, all)
			}
			one(t, w, `select recoup.adopted_1_mirror(array_agg(key), array_agg('PARKED'::text), array_agg(null::timestamptz))::text from recoup.adopted_1_scan(null, recoup.adopted_1_last(), 100) key`)
			if again := one(t, w, noted); s.changed != "" && again != s.changed {
				t.Errorf("mirroring was noted: %s", again)
			}
			if forgotten, err := w.runner().Release(t.Context(), s.source); err != nil || !forgotten {
				t.Fatal(forgotten, err)
			}
			if after := w.dump(); after != before {
				t.Errorf("after the release:\n%s", difference(before, after))
			}
		})
	}
}

func sorted(rows string) string {
	list := strings.Split(rows, "; ")
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// calls are those of functions that nodes call.
var calls = regexp.MustCompile(`recoup\.adopted_1_(read|scan|last|mirror|retry|take|remove)\(`)

// one asks as a node does at an adopted table.
func one(t testing.TB, w *world, sql string) string {
	t.Helper()
	conn := w.app
	if calls.MatchString(sql) {
		conn = w.node()
	}
	var text *string
	if err := conn.QueryRow(t.Context(), sql).Scan(&text); err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if text == nil {
		return ""
	}
	return *text
}
