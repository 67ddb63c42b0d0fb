package postgres_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// The tables of spec 004 as their owners have them, with columns and references of their own.
const (
	legacyIntake = `create table cl.gate_zero_intake (intake_id uuid primary key default gen_random_uuid(), batch_id text, company_name text, domain text,
		state varchar(2), status text, notes jsonb, score numeric(5,2) not null default 1, created_at timestamptz default now(), updated_at timestamptz default now());`
	legacyRecovery = `create table cl.gate_zero_recovery (recovery_id uuid primary key default gen_random_uuid(), intake_id uuid not null, batch_id text,
		failure_reason text not null, attempt_count integer not null default 1, next_eligible_at timestamptz not null, status text not null default 'ACTIVE',
		created_at timestamptz not null default now(), updated_at timestamptz not null default now(), ticket text);
		create index gate_zero_recovery_claim_idx on cl.gate_zero_recovery (next_eligible_at);`
	legacyOthers = `create view public.waiting as select * from cl.gate_zero_recovery where status = 'ACTIVE';
		create table public.note (intake_id uuid references cl.gate_zero_intake); grant select on cl.gate_zero_recovery to public;`
)

// legacy fills the owner's tables: i of 10 is PENDING, AUTHORIZED, recovered (and its
// recovery left as it was), or failed once, twice, three times or for good.
func legacy(rows int) string {
	return fmt.Sprintf(`create schema cl; %s %s %s
		insert into cl.gate_zero_intake (intake_id, batch_id, company_name, state, status, notes, created_at, updated_at)
		  select ('00000000-0000-4000-8000-' || lpad(i::text, 12, '0'))::uuid, case when i %% 3 > 0 then 'batch-' || i %% 7 end, 'Company ' || i, 'DE',
		      (array['PENDING', 'AUTHORIZED', 'REENTER_SUCCEEDED'])[i %% 10 + 1], jsonb_build_object('i', i), now() - interval '30 days', now() - interval '9 days'
		    from generate_series(1, %d) i;
		update cl.gate_zero_intake set status = 'FAILED' where status is null;
		insert into cl.gate_zero_recovery (intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, status, created_at, updated_at, ticket)
		  select intake_id, batch_id, 'STATE_MISMATCH', n, now() - interval '9 days' + (array[interval '24 hours', '72 hours', '168 hours'])[n],
		      case when i %% 10 = 9 then 'EXHAUSTED' else 'ACTIVE' end, now() - interval '30 days', now() - interval '9 days', 'T-' || i
		    from (select *, (notes ->> 'i')::int as i, case (notes ->> 'i')::int %% 10 when 9 then 3 when 2 then 1 else (notes ->> 'i')::int %% 3 + 1 end as n
		      from cl.gate_zero_intake where status in ('FAILED', 'REENTER_SUCCEEDED')) f;`,
		legacyIntake, legacyRecovery, legacyOthers, rows)
}

// Rows that break a rule are listed, with their pair, and are where they were; all others
// are taken over as they are, with their owner's columns, counts and their part of the AIR.
func TestGateZeroTakenOver(t *testing.T) {
	t.Parallel()
	rows := 2000
	if testing.Short() {
		rows = 200
	}
	address := pgtest.New(t)
	owner := at(t, address)
	owner.run(legacy(rows))
	bad := map[string]string{ // by the company: what is done to it, or to its recovery
		"13": "update cl.gate_zero_recovery set attempt_count = 4 where ticket = 'T-13'",
		"14": "update cl.gate_zero_recovery set status = 'WAITING' where ticket = 'T-14'",
		"15": "update cl.gate_zero_recovery set failure_reason = 'BAD_LUCK' where ticket = 'T-15'",
		"16": "insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at) select intake_id, 'TIMEOUT', now() from cl.gate_zero_recovery where ticket = 'T-16'",
		"17": "update cl.gate_zero_recovery set batch_id = 'another' where ticket = 'T-17'",
		"18": "update cl.gate_zero_recovery set next_eligible_at = now() + interval '1 year' where ticket = 'T-18'",
		"19": "update cl.gate_zero_recovery set updated_at = created_at - interval '1 day' where ticket = 'T-19'",
		"23": "delete from cl.gate_zero_recovery where ticket = 'T-23'",
		"24": "update cl.gate_zero_intake set company_name = ' ' where notes ->> 'i' = '24'",
		"25": "update cl.gate_zero_intake set status = 'AUTHORIZED' where notes ->> 'i' = '25'",
		"26": "update cl.gate_zero_recovery set status = 'SUCCEEDED' where ticket = 'T-26'",
		"30": "update cl.gate_zero_intake set status = 'NEW' where notes ->> 'i' = '30'",
		"33": "update cl.gate_zero_recovery set next_eligible_at = 'infinity' where ticket = 'T-33'",
		"49": "update cl.gate_zero_recovery set attempt_count = 1, batch_id = null where ticket = 'T-49'; update cl.gate_zero_intake set batch_id = null where notes ->> 'i' = '49'",
	}
	for _, sql := range bad {
		owner.run(sql)
	}
	owner.run("insert into cl.gate_zero_recovery (intake_id, failure_reason, next_eligible_at) values (gen_random_uuid(), 'TIMEOUT', now())")
	before := ask[string](owner, fingerprintOf("cl"))
	must(t, postgres.Migrate(t.Context(), address))
	if after := ask[string](owner, fingerprintOf("cl_before")); after != before {
		t.Errorf("what was there has changed: %s, before %s", after, before)
	}
	left := ask[[]string](owner, `select array_agg(distinct i.notes ->> 'i' order by i.notes ->> 'i') from cl.gate_zero_left l
		join cl_before.gate_zero_intake i on i.intake_id::text = l.row_id where l.table_name = 'cl_before.gate_zero_intake'`)
	for _, company := range left {
		if bad[company] == "" {
			t.Errorf("company %s was left", company)
		}
	}
	if len(left) != len(bad) {
		t.Errorf("left are %v, want %d", left, len(bad))
	}
	for what, sql := range map[string]string{
		"rows that are neither": `select count(*) from cl_before.gate_zero_intake i full join cl.gate_zero_intake n using (intake_id)
			where (n.intake_id is null) <> exists (select from cl.gate_zero_left l where l.row_id = intake_id::text)
			  or n.intake_id is not null and (n.company_name, n.status, n.batch_id, n.notes, n.score, n.created_at, n.updated_at, n.state)
			    is distinct from (i.company_name, i.status, i.batch_id, i.notes, i.score, i.created_at, i.updated_at, i.state::text)`,
		"recoveries that are neither": `select count(*) from cl_before.gate_zero_recovery r full join cl.gate_zero_recovery n using (recovery_id)
			where (n.recovery_id is null) <> exists (select from cl.gate_zero_left l where l.row_id = recovery_id::text)
			  or n.recovery_id is not null and (n.intake_id, n.attempt_count, n.next_eligible_at, n.ticket, n.failure_reason) is distinct from (r.intake_id, r.attempt_count, r.next_eligible_at, r.ticket, r.failure_reason)`,
		"recoveries without their intake": `select count(*) from cl.gate_zero_recovery r left join cl.gate_zero_intake i using (intake_id)
			where i.status is distinct from case r.status when 'SUCCEEDED' then 'REENTER_SUCCEEDED' else 'FAILED' end or i.batch_id is distinct from r.batch_id`,
		"wrong counts": `select count(*) from (select batch_id, status, sum(n) from cl.gate_zero_count group by 1, 2 except
			select batch_id, status, count(*) from (select batch_id, status from cl.gate_zero_intake union all select batch_id, status from cl.gate_zero_recovery) m
			where batch_id is not null group by 1, 2) d`,
		"wrong reasons":   `select count(*) from (select status, reason, sum(n) from cl.gate_zero_reason group by 1, 2 except select status, failure_reason, count(*) from cl.gate_zero_recovery group by 1, 2) d`,
		"missing batches": `select count(*) from cl.gate_zero_intake i where batch_id is not null and not exists (select from cl.gate_zero_batch b where b.batch_id = i.batch_id and completed_at is null)`,
		"missing AIR rows": `select count(*) from cl.gate_zero_recovery r where not exists (select from cl.gate_zero_air a where a.recovery_id = r.recovery_id and event = 'FAIL' and a.attempt_count = r.attempt_count)
			or (status = 'EXHAUSTED') <> exists (select from cl.gate_zero_air a where a.recovery_id = r.recovery_id and event = 'EXHAUSTED')`,
	} {
		if n := ask[int](owner, sql); n != 0 {
			t.Errorf("%s: %d", what, n)
		}
	}
	if !ask[bool](owner, "select has_table_privilege('public', 'cl.gate_zero_recovery', 'select')") {
		t.Error("whoever could read recoveries cannot any more")
	}
	taken, err := postgres.ReadTakenOver(t.Context(), address)
	if err != nil || taken == nil {
		t.Fatal(taken, err)
	}
	for _, want := range []string{
		fmt.Sprintf("took over %d intakes", rows-len(bad)), "its attempt_count is 4, not 1 to 3",
		"the view public.waiting is still about cl_before.gate_zero_recovery", "the foreign key note_intake_id_fkey of public.note is still about cl_before.gate_zero_intake",
	} {
		if !strings.Contains(taken.String(), want) {
			t.Errorf("%q is not in %s", want, taken)
		}
	}
}

// fingerprintOf is what the tables of Gate Zero hold in a schema.
func fingerprintOf(schema string) string {
	return fmt.Sprintf(`select md5((select string_agg(i::text, '' order by i::text) from %[1]s.gate_zero_intake i) || (select string_agg(r::text, '' order by r::text) from %[1]s.gate_zero_recovery r))`, schema)
}

// TestHostileTablesAreNotTakenOver refuses tables of Gate Zero with something that runs code of
// their maker. The refusal names it and nothing is changed.
func TestHostileTablesAreNotTakenOver(t *testing.T) {
	t.Parallel()
	const function = "create function public.ran() returns bool immutable language plpgsql as $$ begin raise exception 'planted code ran as %', current_user; end $$;"
	for name, row := range map[string]struct{ makes, undoes, want string }{
		"a type with a cast": {
			`create type public.mood as enum ('fine'); alter table cl.gate_zero_intake add mood public.mood; insert into cl.gate_zero_intake (company_name, status, mood) values ('A', 'PENDING', 'fine');
			 create function public.as_json(public.mood) returns json language plpgsql as $$ begin raise exception 'planted code ran as %', current_user; end $$; create cast (public.mood as json) with function public.as_json(public.mood)`,
			"alter table cl.gate_zero_intake alter column mood type text",
			"its column mood has the type public.mood, which is not built in: alter table cl.gate_zero_intake alter column mood type text",
		},
		"a domain": {
			"create domain public.note as text; alter table cl.gate_zero_recovery add note public.note", "alter table cl.gate_zero_recovery alter column note type text",
			"its column note has the type public.note",
		},
		"a default": {
			"alter table cl.gate_zero_intake add good bool default null; " + function + "alter table cl.gate_zero_intake alter column good set default public.ran()", "alter table cl.gate_zero_intake alter column good drop default",
			"the default of its column good uses the function public.ran()",
		},
		"a constraint": {
			function + "alter table cl.gate_zero_intake add constraint good check (public.ran()) not valid", "alter table cl.gate_zero_intake drop constraint good", "its constraint good uses the function public.ran()",
		},
		"a generated column": {
			"create function public.kept(text) returns text immutable language sql as 'select $1'; alter table cl.gate_zero_intake add other text generated always as (public.kept(domain)) stored",
			"alter table cl.gate_zero_intake drop column other", "uses the function public.kept(text)",
		},
		"a trigger": {
			"create function public.spy() returns trigger language plpgsql as 'begin return new; end'; create trigger spy before insert on cl.gate_zero_intake execute function public.spy()",
			"drop trigger spy on cl.gate_zero_intake", "it has the trigger spy",
		},
		"a rule":       {"create rule quiet as on insert to cl.gate_zero_recovery do also nothing", "drop rule quiet on cl.gate_zero_recovery", "it has the rule quiet"},
		"row security": {"alter table cl.gate_zero_intake enable row level security", "alter table cl.gate_zero_intake disable row level security", "it has row security"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			address := pgtest.New(t)
			owner := at(t, address)
			owner.run("create schema cl; " + legacyIntake + legacyRecovery + row.makes)
			before := pgtest.Dump(t, address)
			if err := postgres.Migrate(t.Context(), address); err == nil || !strings.Contains(err.Error(), row.want) {
				t.Errorf("it said %v", err)
			}
			if after := pgtest.Dump(t, address); withoutNonces(after) != withoutNonces(before) {
				t.Error("the database was changed")
			}
			owner.run(row.undoes)
			must(t, postgres.Migrate(t.Context(), address))
		})
	}
}

// Where there is nothing, nothing is taken over.
func TestNothingTakenOver(t *testing.T) {
	t.Parallel()
	address, _ := pgtest.Migrated(t)
	if taken, err := postgres.ReadTakenOver(t.Context(), address); taken != nil || err != nil {
		t.Errorf("taken over was %v, %v", taken, err)
	}
}
