-- +goose Up
-- +goose StatementBegin
-- Gate Zero (spec 004): company candidates, their verification, and the recovery of
-- those that failed it. The guards are in 012_gate_zero_guard.sql. What intakes and
-- recoveries refer to is checked by them: a check per statement costs less than
-- foreign keys, and nothing of it is ever deleted.
do $$
begin
  if not exists (select from pg_namespace where nspname = 'cl') then
    create schema cl;
    comment on schema cl is 'Gate Zero: intakes, their verification and recovery';
  elsif not exists (select from pg_namespace n join pg_roles r on r.oid = n.nspowner where n.nspname = 'cl' and r.rolname = current_user) then
    raise exception 'the schema cl must belong to %, the role that migrates', current_user;
  end if;
end $$;

-- Tables of spec 004 that are there already are taken over with their rows (decision
-- 0077): they are moved aside as they are, with their indexes and whatever refers to them,
-- and what keeps the rules is copied below. 'recoup migrate' has checked their owner and their
-- columns; both are checked again under the lock. Casts, and checks of domains,
-- would run code of the types' owner.
do $$
declare odd text;
begin
  if to_regclass('cl.gate_zero_intake') is not null then
    create schema cl_before;
    comment on schema cl_before is 'Gate Zero as it was before Recoup; nothing of Recoup reads or writes it';
    alter table cl.gate_zero_intake set schema cl_before;
  end if;
  if to_regclass('cl.gate_zero_recovery') is not null then
    alter table cl.gate_zero_recovery set schema cl_before;
  end if;
  select string_agg(distinct format('%s of %s', a.attname, c.relname), ', ') into odd
    from pg_class c join pg_roles o on o.oid = c.relowner
    left join pg_attribute a on a.attrelid = c.oid and a.attnum > 0 and not a.attisdropped left join pg_type t on t.oid = a.atttypid
   where c.relnamespace = to_regnamespace('cl_before')::oid and c.relname in ('gate_zero_intake', 'gate_zero_recovery')
     and (c.relkind <> 'r' or o.rolname <> current_user or t.oid >= 16384 or t.typnamespace <> 'pg_catalog'::regnamespace::oid or t.typtype not in ('b', 'r', 'm'));
  if odd is not null then
    raise exception 'the tables of Gate Zero must be plain tables of % with types that are built in: %', current_user, odd;
  end if;
end $$;

-- A batch is an import. Fourteen days after it is complete it freezes.
create table cl.gate_zero_batch (
  batch_id        text primary key check (batch_id <> ''),
  created_at      timestamptz not null default now(),
  completed_at    timestamptz,
  batch_freeze_at timestamptz, -- from then on nothing in it is retried
  frozen_at       timestamptz, -- nothing in it is ACTIVE any more
  killed_at       timestamptz, -- the kill switch is on
  killed_by       text,
  kill_reason     text,
  constraint gate_zero_batch_window check ((completed_at is null) = (batch_freeze_at is null) and batch_freeze_at >= completed_at),
  constraint gate_zero_batch_frozen check (frozen_at is null or batch_freeze_at is not null and frozen_at >= batch_freeze_at),
  constraint gate_zero_batch_killed check ((killed_at is null) = (killed_by is null))
);
create index gate_zero_batch_list_idx on cl.gate_zero_batch (created_at, batch_id);
create index gate_zero_batch_killed_idx on cl.gate_zero_batch (batch_id) where killed_at is not null;
create index gate_zero_batch_open_idx on cl.gate_zero_batch (batch_freeze_at) where frozen_at is null;

-- A candidate.
create table cl.gate_zero_intake (
  intake_id          uuid primary key default gen_random_uuid(),
  batch_id           text,
  import_key         text, -- its line or key in the import
  company_name       text not null check (company_name <> ''),
  domain             text,
  linkedin_url       text,
  state              text,
  status             text not null default 'PENDING'
                     check (status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED')),
  previous_intake_id uuid, -- the failed intake that this one took over from
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now()
) with (fillfactor = 90);
-- By the end of an id, which people type.
create index gate_zero_intake_id_end_idx on cl.gate_zero_intake (substr(uuid_send(intake_id), 14));
create unique index gate_zero_intake_import_key on cl.gate_zero_intake (coalesce(batch_id, ''), import_key)
  where import_key is not null;
create unique index gate_zero_intake_previous_key on cl.gate_zero_intake (previous_intake_id)
  where previous_intake_id is not null;
-- The intakes that nobody has verified yet.
create index gate_zero_intake_list_idx on cl.gate_zero_intake (coalesce(batch_id, ''), status, intake_id);

-- Who verifies a pending intake at the moment. It only keeps two workers from
-- doing the same: what counts is the first result, whoever brings it.
create table cl.gate_zero_turn (
  intake_id uuid primary key,
  worker    text,
  ends_at   timestamptz not null
);

-- A failed intake that waits for its next attempt: the specification's table, with
-- the specification's comments.
create table cl.gate_zero_recovery (
  recovery_id      uuid not null default gen_random_uuid() primary key,
  intake_id        uuid not null unique,
  batch_id         text,
  failure_reason   text not null check (failure_reason <> ''),
  attempt_count    integer not null default 1 check (attempt_count between 1 and 3),
  next_eligible_at timestamptz not null default now() + interval '24 hours',
  status           text not null default 'ACTIVE' check (status in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED')),
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now()
);
COMMENT ON TABLE cl.gate_zero_recovery IS
'Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure reason. Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries).';
COMMENT ON COLUMN cl.gate_zero_recovery.recovery_id IS
'Unique identifier for this recovery record. Auto-generated UUID.';
COMMENT ON COLUMN cl.gate_zero_recovery.intake_id IS
'Reference to original gate_zero_intake record. One intake → one recovery.';
COMMENT ON COLUMN cl.gate_zero_recovery.batch_id IS
'Inherited from intake. Used for batch-level operations.';
COMMENT ON COLUMN cl.gate_zero_recovery.failure_reason IS
'Reason code from last failed attempt. Updated on each retry.';
COMMENT ON COLUMN cl.gate_zero_recovery.attempt_count IS
'Number of verification attempts. Starts at 1. Max 3.';
COMMENT ON COLUMN cl.gate_zero_recovery.next_eligible_at IS
'Earliest timestamp when retry is permitted. Enforced gate.';
COMMENT ON COLUMN cl.gate_zero_recovery.status IS
'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).';
COMMENT ON COLUMN cl.gate_zero_recovery.created_at IS
'Timestamp when recovery record was created.';
COMMENT ON COLUMN cl.gate_zero_recovery.updated_at IS
'Timestamp of last update.';
-- A claim serves batch by batch, so that what a kill switch holds back is not in
-- the way of the others; what has no batch is one batch more.
create index gate_zero_recovery_claim_idx on cl.gate_zero_recovery (coalesce(batch_id, ''), next_eligible_at, recovery_id)
  where status = 'ACTIVE';
create index gate_zero_recovery_eligible_idx on cl.gate_zero_recovery (next_eligible_at, recovery_id) where status = 'ACTIVE';
create index gate_zero_recovery_exhausted_idx on cl.gate_zero_recovery (updated_at, recovery_id) where status = 'EXHAUSTED';
create index gate_zero_recovery_batch_idx on cl.gate_zero_recovery (batch_id, updated_at, recovery_id) where status = 'EXHAUSTED';

-- Who retries a recovery at the moment, and how often a worker was lost since
-- its last attempt. It is no part of the recovery, which only results change.
create table cl.gate_zero_lease (
  recovery_id uuid primary key references cl.gate_zero_recovery,
  token       uuid,
  worker      text,
  leased_at   timestamptz,
  ends_at     timestamptz,
  lapses      integer not null default 0 check (lapses between 0 and 2),
  constraint gate_zero_lease_whole check (num_nulls(token, leased_at, ends_at) in (0, 3))
) with (fillfactor = 70);
create index gate_zero_lease_held_idx on cl.gate_zero_lease (recovery_id) where token is not null;

-- The AIR: what happened, recorded once and for all. Rows of a batch as a whole name no intake.
create table cl.gate_zero_air (
  air_id        bigint generated always as identity primary key,
  intake_id     uuid,
  recovery_id   uuid,
  batch_id      text,
  event         text not null,
  reason        text,
  attempt_count integer,
  actor         text,
  new_intake_id uuid,
  at            timestamptz not null default now(),
  constraint gate_zero_air_event check (case
    when event in ('KILL', 'RELEASE', 'FREEZE') then intake_id is null and batch_id is not null
    when event in ('AUTH', 'FAIL', 'REENTER', 'EXHAUSTED', 'LATE_RESULT', 'LAPSE', 'REVOKE') then intake_id is not null
    else false end),
  constraint gate_zero_air_reenter check ((event = 'REENTER') = (new_intake_id is not null))
);
create index gate_zero_air_intake_idx on cl.gate_zero_air (intake_id, air_id) where intake_id is not null;
create index gate_zero_air_batch_idx on cl.gate_zero_air (batch_id, air_id) where intake_id is null;

-- The recoveries whose lease the kill switch has taken away, until the AIR records
-- it, in the same transaction.
create unlogged table cl.gate_zero_revoked (recovery_id uuid primary key);

-- Counts, as deltas that the leader folds; a reader adds up what is there. How many
-- intakes and recoveries a batch has in each status:
create table cl.gate_zero_count (
  batch_id text not null,
  status   text not null,
  n        bigint not null
);
create index gate_zero_count_idx on cl.gate_zero_count (batch_id);

-- How many recoveries there are by status and last reason, with a batch or without:
create table cl.gate_zero_reason (
  status text not null,
  reason text not null,
  n      bigint not null
);

-- What the database must know of the policy to hold Gate Zero to it: the waits
-- after each failed attempt, the reasons that an attempt can fail for, and how long
-- after its completion a batch freezes. It is spec 004's until a policy says
-- otherwise.
create table cl.gate_zero_policy (
  one             boolean primary key default true check (one),
  waits           interval[] not null default '{24:00:00,72:00:00,168:00:00}' check (cardinality(waits) between 1 and 3),
  reasons         text[] not null default '{DOMAIN_NOT_FOUND,DOMAIN_NO_IMPRINT,NO_LINKEDIN_COMPANY,STATE_MISMATCH,STATE_AMBIGUOUS,STATE_MISSING,API_UNAVAILABLE,TIMEOUT}',
  recovery_window interval not null default '336:00:00',
  policy_version  text -- whose it is; null: the specification's
);
insert into cl.gate_zero_policy default values;

-- gate_policy is the policy in force; its waits are asked for by attempt.
create function cl.gate_policy() returns cl.gate_zero_policy language sql stable
security definer set search_path = pg_catalog, pg_temp as $$select p from cl.gate_zero_policy p$$;

-- What was taken over (decision 0077). One row, if there was something:
create table cl.gate_zero_taken_over (
  one        boolean primary key default true check (one),
  at         timestamptz not null default now(),
  intakes    bigint not null,
  recoveries bigint not null,
  redacted   bigint not null default 0, -- rows that held a secret, so far
  read_at    timestamptz                -- when a node had looked for secrets in the last of them
);

-- The rows taken over whose text no node has redacted yet (decision 0090). Only
-- cl.redact_taken_over writes here; reading is true within one call of it.
create table cl.gate_zero_unread (
  kind    text not null check (kind in ('intake', 'recovery')),
  row_id  uuid not null,
  reading boolean not null default false,
  primary key (kind, row_id)
);

-- The rows of cl_before that break a rule, and were left there. What they say is not
-- repeated, because it may be a secret.
create table cl.gate_zero_left (
  table_name text not null,
  row_id     text, -- its id, as far as it has one
  problem    text not null
);

-- carry adds the columns that a table has in cl_before and ours has not, as their
-- owner had them but for constraints, and returns their names; and whoever could read it there can here.
create function cl.carry(name text) returns text language plpgsql as $$
declare
  old  regclass := ('cl_before.' || name)::regclass;
  new  regclass := ('cl.' || name)::regclass;
  more text := '';
  c    record;
begin
  for c in select a.attname, format_type(a.atttypid, a.atttypmod) as type from pg_attribute a
      where a.attrelid = old and a.attnum > 0 and not a.attisdropped
        and not exists (select from pg_attribute o where o.attrelid = new and o.attname = a.attname and o.attnum > 0) order by a.attnum loop
    execute format('alter table %s add column %I %s', new, c.attname, c.type);
    execute format('alter table %s alter column %I set statistics 0', new, c.attname); -- see recoup.withhold_statistics
    more := more || format(', b.%I', c.attname);
  end loop;
  for c in select distinct case g.grantee when 0 then 'public' else quote_ident(pg_get_userbyid(g.grantee)) end as who
      from pg_class r, aclexplode(r.relacl) g where r.oid = old and g.privilege_type = 'SELECT' and g.grantee <> r.relowner loop
    execute format('grant select on %s to %s', new, c.who);
  end loop;
  return more;
end $$;

-- take_over copies the rows of cl_before that keep the rules. A row is judged by itself,
-- then by its pair of intake and recovery: a failed intake without a recovery would never
-- be retried, so none is taken without the other. Times are judged by the waits, whether
-- their writer counted these from the first failure or from the last.
create function cl.take_over() returns void language plpgsql set jit = off set client_min_messages = warning as $$
declare
  gate cl.gate_zero_policy := cl.gate_policy();
  more text;
begin
  if to_regclass('cl_before.gate_zero_intake') is null then
    return;
  end if;
  if to_regclass('cl_before.gate_zero_recovery') is null then
    create table cl_before.gate_zero_recovery (like cl.gate_zero_recovery);
  end if;

  -- What the rows say. A column that their owner did not have is null. Each column is read by its
  -- name: to_jsonb of a row would use casts to json.
  execute (select format('create unlogged table cl.found_intake as
      select i.*, count(*) over (partition by intake_id) as same_id, count(*) over (partition by batch_id, coalesce(import_key, intake_id::text)) as same_key, null::text as problem
        from (select i.intake_id, btrim(%s) as company_name, %s as batch_id, %s as import_key, %s as domain, %s as linkedin_url, %s as state, %s as status, (%s)::uuid as previous_intake_id,
            coalesce((%9$s)::timestamptz, (%10$s)::timestamptz, now()) as created_at, coalesce((%10$s)::timestamptz, (%9$s)::timestamptz, now()) as updated_at
          from cl_before.gate_zero_intake i) i', variadic array_agg(case when a.attname is null then 'null::text' else format('i.%I::text', w.name) end order by w.place))
    from unnest('{company_name,batch_id,import_key,domain,linkedin_url,state,status,previous_intake_id,created_at,updated_at}'::text[]) with ordinality w (name, place)
    left join pg_attribute a on a.attrelid = 'cl_before.gate_zero_intake'::regclass and a.attname = w.name and a.attnum > 0 and not a.attisdropped);
  create unlogged table cl.found_recovery as
    select r.recovery_id, r.intake_id, r.batch_id::text, r.failure_reason::text, r.attempt_count::bigint, r.next_eligible_at, r.status::text,
        r.created_at, r.updated_at, count(*) over (partition by r.recovery_id) as same_id, count(*) over (partition by r.intake_id) as same_intake,
        null::text as problem
      from cl_before.gate_zero_recovery r;
  create index on cl.found_intake (intake_id);
  create index on cl.found_recovery (intake_id);
  analyze cl.found_intake, cl.found_recovery;

  -- Each by itself.
  update cl.found_intake f set problem = p.problem from (select ctid, case
      when intake_id is null then 'it has no intake_id'
      when same_id > 1 then 'its intake_id is not unique'
      when coalesce(company_name, '') = '' then 'it has no company_name'
      when status is null or status not in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED')
        then 'its status is unknown; statuses are: PENDING, FAILED, AUTHORIZED, REENTER_SUCCEEDED'
      when batch_id = '' or length(batch_id) > 200 then 'its batch_id has ' || length(batch_id) || ' characters, not 1 to 200; no batch is NULL'
      when same_key > 1 then 'its import_key is not unique in its batch'
      when not (isfinite(created_at) and isfinite(updated_at)) or created_at > now() + interval '1 minute' or updated_at < created_at
        then 'its times are not in their order: created_at ' || created_at || ', updated_at ' || updated_at
      when previous_intake_id is not null and status <> 'AUTHORIZED' then 'what takes over after a recovery is AUTHORIZED' end as problem
    from cl.found_intake) p where p.ctid = f.ctid and p.problem is not null;
  update cl.found_recovery f set problem = p.problem from (select ctid, case
      when recovery_id is null then 'it has no recovery_id'
      when same_id > 1 then 'its recovery_id is not unique'
      when intake_id is null then 'it has no intake_id'
      when same_intake > 1 then 'its intake has ' || same_intake || ' recoveries'
      when failure_reason is null or failure_reason <> all (gate.reasons)
        then 'its failure_reason is unknown; reasons are: ' || array_to_string(gate.reasons, ', ')
      when attempt_count is null or attempt_count not between 1 and 3 then 'its attempt_count is ' || coalesce(attempt_count::text, 'NULL') || ', not 1 to 3'
      when status is null or status not in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED')
        then 'its status is unknown; statuses are: ACTIVE, EXHAUSTED, SUCCEEDED'
      when num_nulls(created_at, updated_at, next_eligible_at) > 0 or not (isfinite(created_at) and isfinite(updated_at) and isfinite(next_eligible_at))
        or created_at > now() + interval '1 minute' or updated_at < created_at
        then concat_ws(' ', 'its times are not in their order: created_at', created_at, 'updated_at', updated_at, 'next_eligible_at', next_eligible_at)
      when status = 'ACTIVE' and next_eligible_at not between created_at + gate.waits[attempt_count::int] - interval '1 minute'
          and updated_at + gate.waits[attempt_count::int] + interval '1 minute'
        then 'after attempt ' || attempt_count || ' it waits ' || gate.waits[attempt_count::int] || ', and its next_eligible_at is ' || next_eligible_at
      when status = 'EXHAUSTED' and attempt_count < cardinality(gate.waits) and batch_id is null
        then 'it is EXHAUSTED after attempt ' || attempt_count || ', and has no batch that could be frozen' end as problem
    from cl.found_recovery) p where p.ctid = f.ctid and p.problem is not null;

  -- A recovery by its intake, an intake by its recovery, a successor by what it took over from.
  update cl.found_recovery r set problem = p.problem from (select f.ctid, case
      when i.intake_id is null then 'there is no intake ' || f.intake_id
      when i.problem is not null then 'its intake was left: ' || i.problem
      when i.batch_id is distinct from f.batch_id then 'its batch_id is not that of its intake'
      when i.status not in ('FAILED', 'REENTER_SUCCEEDED') then 'its intake is ' || i.status
      when i.status = 'FAILED' and f.status = 'SUCCEEDED' then 'it is SUCCEEDED, and its intake is FAILED' end as problem
    from cl.found_recovery f left join cl.found_intake i on i.intake_id = f.intake_id where f.problem is null) p
    where p.ctid = r.ctid and p.problem is not null;
  update cl.found_intake i set problem = p.problem from (select f.ctid, case
      when f.status in ('FAILED', 'REENTER_SUCCEEDED') and r.intake_id is null then 'it is ' || f.status || ' and has no recovery'
      when r.problem is not null then 'its recovery was left: ' || r.problem end as problem
    from cl.found_intake f
    left join (select intake_id, min(problem) as problem from cl.found_recovery group by 1) r on r.intake_id = f.intake_id
   where f.problem is null) p where p.ctid = i.ctid and p.problem is not null;
  update cl.found_intake i set problem = 'the intake that it took over from was left, is not REENTER_SUCCEEDED, or has another successor'
   where i.problem is null and i.previous_intake_id is not null
     and (not exists (select from cl.found_intake b where b.intake_id = i.previous_intake_id and b.problem is null and b.status = 'REENTER_SUCCEEDED')
       or (select count(*) from cl.found_intake s where s.previous_intake_id = i.previous_intake_id) > 1);

  insert into cl.gate_zero_left
    select 'cl_before.gate_zero_intake', intake_id::text, problem from cl.found_intake where problem is not null
    union all select 'cl_before.gate_zero_recovery', recovery_id::text, problem from cl.found_recovery where problem is not null;
  delete from cl.found_intake where problem is not null;
  delete from cl.found_recovery where problem is not null;
  -- Spec 004, 9 leaves the status of a recovery that succeeded to its writer; ours says so.
  update cl.found_recovery r set status = 'SUCCEEDED' from cl.found_intake i where i.intake_id = r.intake_id and i.status = 'REENTER_SUCCEEDED';

  -- When their imports were complete nobody knows: their batches are open.
  insert into cl.gate_zero_batch (batch_id, created_at) select batch_id, min(created_at) from cl.found_intake where batch_id is not null group by 1;
  more := cl.carry('gate_zero_intake');
  execute format('insert into cl.gate_zero_intake (intake_id, batch_id, import_key, company_name, domain, linkedin_url, state, status, previous_intake_id, created_at, updated_at%s)
    select f.intake_id, f.batch_id, f.import_key, f.company_name, f.domain, f.linkedin_url, f.state, f.status, f.previous_intake_id, f.created_at, f.updated_at%s
      from cl.found_intake f join cl_before.gate_zero_intake b using (intake_id) order by f.created_at, f.intake_id', replace(more, ', b.', ', '), more);
  more := cl.carry('gate_zero_recovery');
  execute format('insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, status, created_at, updated_at%s)
    select f.recovery_id, f.intake_id, f.batch_id, f.failure_reason, f.attempt_count, f.next_eligible_at, f.status, f.created_at, f.updated_at%s
      from cl.found_recovery f join cl_before.gate_zero_recovery b using (recovery_id) order by f.created_at, f.recovery_id', replace(more, ', b.', ', '), more);

  -- What follows from rows: counts, and the AIR as far as they tell.
  insert into cl.gate_zero_count
    select batch_id, status, count(*) from (select batch_id, status from cl.gate_zero_intake union all select batch_id, status from cl.gate_zero_recovery) m
     where batch_id is not null group by 1, 2;
  insert into cl.gate_zero_reason select status, failure_reason, count(*) from cl.gate_zero_recovery group by 1, 2;
  insert into cl.gate_zero_air (intake_id, recovery_id, batch_id, event, reason, attempt_count, actor, new_intake_id, at)
    select r.intake_id, r.recovery_id, r.batch_id, e.event, case when e.event in ('FAIL', 'EXHAUSTED') then r.failure_reason end, r.attempt_count, 'recoup migrate', s.intake_id, r.updated_at
      from cl.gate_zero_recovery r
      cross join unnest(array['FAIL', case r.status when 'EXHAUSTED' then 'EXHAUSTED' when 'SUCCEEDED' then 'AUTH' end, case r.status when 'SUCCEEDED' then 'REENTER' end])
        with ordinality e (event, place)
      left join cl.gate_zero_intake s on e.event = 'REENTER' and s.previous_intake_id = r.intake_id
     where e.event is not null and (e.event <> 'REENTER' or s.intake_id is not null)
    order by r.updated_at, r.recovery_id, e.place;
  insert into cl.gate_zero_air (intake_id, batch_id, event, actor, at)
    select intake_id, batch_id, 'AUTH', 'recoup migrate', updated_at from cl.gate_zero_intake where status = 'AUTHORIZED' and previous_intake_id is null
    order by updated_at, intake_id;

  insert into cl.gate_zero_unread (kind, row_id)
    select 'intake', intake_id from cl.gate_zero_intake union all select 'recovery', recovery_id from cl.gate_zero_recovery;
  insert into cl.gate_zero_taken_over (intakes, recoveries)
    values ((select count(*) from cl.gate_zero_intake), (select count(*) from cl.gate_zero_recovery));
  if (select intakes + recoveries from cl.gate_zero_taken_over) + (select count(*) from cl.gate_zero_left)
      <> (select count(*) from cl_before.gate_zero_intake) + (select count(*) from cl_before.gate_zero_recovery) then
    raise exception 'not every row of Gate Zero is accounted for';
  end if;
  drop table cl.found_intake, cl.found_recovery;
end $$;
select cl.take_over();
drop function cl.take_over();
drop function cl.carry(text);
-- +goose StatementEnd
