-- +goose Up
-- +goose StatementBegin
-- What happened to errors, and how many there are: the history of each, the failures
-- of each entity, and sums that answer at a glance what would else be counted.

-- acting reports whether a function of ours is about to archive, to purge or to settle
-- results, and does itself what guards would do: it says so for its transaction, and
-- runs as the schema's owner.
create function recoup.acting() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(current_setting('recoup.acting', true), '') = 'on'
    and pg_has_role(current_user, (select relowner from pg_class where oid = 'recoup.error'::regclass), 'usage')
$$;

-- One row for each transition: what the error was before it, if it was there, and
-- after it. Rows outlive their error, which moves to the archive, so there is no
-- foreign key. A month is a partition, dropped whole when it is old enough. The last
-- transition, to the archive, is carried by the row there until that is purged; the
-- view recoup.error_history has them all.
create table recoup.transition (
  error_id       uuid not null,
  at             timestamptz not null,
  seq            bigint generated always as identity,
  input          text not null,
  actor          text not null,
  reason         text,
  policy_version text not null,
  worker         text,
  claimed_at     timestamptz,
  attempt        uuid,

  -- The error before it, if there was one, and after it.
  was_state            text,
  was_disposition      text,
  was_blocking         boolean,
  was_escalation_level int,
  was_retry_count      int,
  was_next_retry_at    timestamptz,
  was_expires_at       timestamptz,
  was_owner            text,
  state                text not null,
  disposition          text,
  blocking             boolean,
  escalation_level     int,
  retry_count          int,
  next_retry_at        timestamptz,
  expires_at           timestamptz,
  owner                text,
  primary key (error_id, at, seq)
) partition by range (at);

create trigger guard_insert after insert on recoup.transition referencing new table as added
  for each statement when (not recoup.acting()) execute function recoup.timely_rows();
create trigger forbidden before update or delete on recoup.transition
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.transition
  for each statement execute function recoup.forbid();

-- partition_month returns the first day of a month, and refuses a table without partitions and
-- a month that no partition has: the name of a partition has no room for an era, so that
-- a month before Christ would be taken for one of our time.
create function recoup.partition_month(parent text, month date, oldest date) returns date
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  newest date := ((recoup.clock() + recoup.tolerance()) at time zone 'UTC' + interval '1 year')::date;
begin
  if parent in ('error_event', 'transition') is not true then
    raise exception using errcode = 'RC001', message = format('%s has no partitions', parent);
  end if;
  if (month between oldest and newest) is not true then
    raise exception using errcode = 'RC001', message = format('the month of a partition must be between %s and %s; got %s', oldest, newest, month);
  end if;
  return date_trunc('month', month::timestamp)::date;
end $$;

-- create_partition makes the partition of a month, bounded in UTC, with the
-- guards that statements aimed at it directly must meet. Nodes own nothing, so
-- it runs as the schema's owner. The table is created by itself and then attached, which
-- readers and writers of the parent do not wait for: CREATE TABLE … PARTITION OF takes an
-- ACCESS EXCLUSIVE lock on it, and any role that can connect can hold a lock that keeps that off
-- (decision 0104). From PostgreSQL 17 on, ATTACH makes the column an identity again.
create function recoup.create_partition(parent text, month date) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  oldest date := ((recoup.clock() - recoup.tolerance()) at time zone 'UTC' - interval '50 years')::date;
  first  date := recoup.partition_month(parent, month, oldest);
  name   text := format('%s_y%sm%s', parent, to_char(first, 'YYYY'), to_char(first, 'MM'));
  bound  text := 'YYYY-MM-DD 00:00:00+00';
begin
  if to_regclass(format('recoup.%I', name)) is not null then
    return false;
  end if;
  execute format('create table recoup.%I (like recoup.%I including all excluding indexes excluding identity excluding statistics excluding comments)', name, parent);
  execute format('create trigger forbidden before update or delete on recoup.%I
    for each statement execute function recoup.forbid()', name);
  execute format('create trigger forbidden_truncate before truncate on recoup.%I
    for each statement execute function recoup.forbid()', name);
  if parent = 'error_event' then
    execute format('create trigger known_codes after insert on recoup.%I referencing new table as added
      for each statement execute function recoup.event_guard()', name);
  end if;
  execute format('alter table recoup.%I attach partition recoup.%I for values from (%L) to (%L)',
    parent, name, to_char(first, bound), to_char(first + interval '1 month', bound));
  perform recoup.secure_partition(format('recoup.%I', name)::regclass);
  return true;
exception when duplicate_table or duplicate_object or unique_violation then
  if to_regclass(format('recoup.%I', name)) is null then
    raise;
  end if;
  return false; -- another node was faster
end $$;

-- The count of an entity's failures in a family of codes (spec 000, 9.2).
create table recoup.entity_streak (
  family    text collate "C" not null,
  entity_id text collate "C" not null,
  count     int not null check (count > 0),
  primary key (family, entity_id)
) with (fillfactor = 70);

-- How many errors of a table are in a state and live equally long, how many of them
-- block, and the sum of the times at which they were made: how much of their TTLs
-- they have used together, at any time, follows from that without a look at them.
-- Every statement appends what it changed, so that writers never wait for each
-- other; the leader folds the deltas, and a reader adds up what is there.
create table recoup.error_count (
  table_name text collate "C" not null,
  state      text collate "C" not null,
  n          bigint not null,
  ttl_us     bigint not null default 0, -- microseconds; 0: resolved, or does not expire
  blocking   bigint not null default 0,
  born_s     bigint not null default 0, -- the sum of created_at, in seconds since 1970, where there is a TTL
  born_us    bigint not null default 0  -- and what is beyond whole seconds
);
create index error_count_idx on recoup.error_count (table_name, state);

-- ttl_us is how long an error lives, or 0 if that does not matter.
create function recoup.ttl_us(state text, created timestamptz, expires timestamptz) returns bigint
language sql immutable parallel safe as $$
  select case when state operator(pg_catalog.<>) 'RESOLVED' and expires operator(pg_catalog.>) created
      and pg_catalog.isfinite(expires) and pg_catalog.isfinite(created)
    then (pg_catalog.date_part('epoch', expires operator(pg_catalog.-) created) operator(pg_catalog.*) 1000000)::bigint else 0 end
$$;

-- born_us is when an error was made, or 0 if that does not matter. Like what it
-- calls, it is only stable: called more than it says, it would not be inlined.
create function recoup.born_us(ttl bigint, created timestamptz) returns bigint
language sql stable parallel safe as $$
  select case when ttl operator(pg_catalog.>) 0 then (pg_catalog.date_part('epoch', created) operator(pg_catalog.*) 1000000)::bigint else 0 end
$$;

-- Activity: how often something happened to errors, by minute and by hour, kept as
-- the counts are: transactions append to the delta, folding adds that to the sums.
-- From retried on, errors are counted in the minute of a mark. When the mark moves, the error is taken
-- from the old one, whose sum may have been purged: it can be below zero.
create table recoup.activity_minute (
  minute       timestamptz not null,
  table_name   text collate "C" not null,
  reported     bigint not null,
  parked       bigint not null,
  escalated    bigint not null,
  attempts     bigint not null,
  succeeded    bigint not null,
  expired      bigint not null,
  archived     bigint not null,
  retried      bigint not null,
  exhausted    bigint not null,
  not_parked   bigint not null,
  last_parked  bigint not null,
  unparked     bigint not null,
  deescalated  bigint not null,
  primary key (minute, table_name),
  constraint activity_minute_counts check (least(reported, parked, escalated, attempts, succeeded, expired, archived) >= 0)
) with (fillfactor = 70);

create table recoup.activity_hour (
  hour         timestamptz not null,
  table_name   text collate "C" not null,
  reported     bigint not null,
  parked       bigint not null,
  escalated    bigint not null,
  attempts     bigint not null,
  succeeded    bigint not null,
  expired      bigint not null,
  archived     bigint not null,
  retried      bigint not null,
  exhausted    bigint not null,
  not_parked   bigint not null,
  last_parked  bigint not null,
  unparked     bigint not null,
  deescalated  bigint not null,
  primary key (hour, table_name),
  constraint activity_hour_counts check (least(reported, parked, escalated, attempts, succeeded, expired, archived) >= 0)
) with (fillfactor = 50);

create table recoup.activity_delta (like recoup.activity_minute including constraints);
-- It costs a writer nothing, and lets nodes, which ask for indexes, read the few
-- rows that are not folded without a plan for many.
create index activity_delta_idx on recoup.activity_delta using brin (minute);

-- A decision on the success of a retry: what an error has to agree in.
create type recoup.success as (
  place int, code text, retry_count int, max_retries int, blocking boolean, state text, disposition text, table_name text, policy_version text,
  escalation_level int, assigned_to text, escalated_to text, last_failure_code text, streak_family text, retry_exhausted boolean
);

-- settle resolves errors whose retry has succeeded, by decisions that were made on
-- errors that agree with them: with the row of their history, the numbers of the gates
-- that open, and the counts. What nobody holds under its token, or agrees with no
-- decision, is left alone. It decides nothing; who did it is the worker, as the lease
-- says. An error is written as the version that agreed, or not at all: fewer are written
-- than settled then. Rows are looked up one by one, and found again where they lie: no
-- plan that was made for an empty queue begins with all of it. What is settled is
-- returned as arrays, which cost less than rows; retried is when each was retried before.
create function recoup.settle(ids uuid[], tokens uuid[], decisions jsonb, why text, act_at timestamptz,
  out settled uuid[], out correlations uuid[], out workers text[], out places int[], out settled_at timestamptz, out written bigint, out retried timestamptz[])
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off set plan_cache_mode = force_generic_plan
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off set enable_sort = off set enable_material = off as $$
begin
  if not recoup.recent(coalesce(act_at, recoup.clock())) then
    raise exception using errcode = 'RC001', message = 'a retry succeeds now, and at no other time';
  end if;
  perform set_config('recoup.acting', 'on', true);
  with m as materialized (select * from jsonb_populate_recordset(null::recoup.success, decisions)),
    found as materialized (select d.*, e.*, m.place, m.retry_exhausted from unnest(ids, tokens) as n (id, token)
      cross join lateral (select ctid as slot, policy_version as policy, lease_token, lease_worker, leased_at, lease_ends_at
        from recoup.due where error_id = n.id and lease_token = n.token offset 0) d
      cross join lateral (select ctid as spot, xmin as version, error_id, correlation_id, entity_id, code, table_name, state, disposition, blocking, created_at, expires_at,
          retry_count, max_retries, escalation_level, assigned_to, escalated_to, last_failure_code, streak_family, group_id, retried_at
        from recoup.error where error_id = n.id offset 0) e
      cross join lateral (select m.place, m.retry_exhausted from m
        where e.code = m.code and e.retry_count = m.retry_count and e.max_retries = m.max_retries and e.blocking = m.blocking and e.state = m.state
          and e.disposition = m.disposition and e.table_name = m.table_name and d.policy = m.policy_version and e.escalation_level = m.escalation_level
          and e.assigned_to is not distinct from m.assigned_to and e.escalated_to is not distinct from m.escalated_to
          and e.last_failure_code is not distinct from m.last_failure_code and e.streak_family is not distinct from m.streak_family limit 1) m
      limit cardinality(ids)),
    held as (delete from recoup.due d using found f where d.ctid = f.slot and d.lease_token = f.lease_token returning f.*),
    act as materialized (select coalesce(act_at, recoup.clock()) as now from (select count(*) from held) x),
    done as (update recoup.error e set state = 'RESOLVED', disposition = 'RESOLVED', blocking = false, updated_at = (select now from act),
        last_retry_at = h.leased_at, retried_at = (select now from act), next_retry_at = null, retry_exhausted = h.retry_exhausted, streak_family = null, streak_count = 0,
        last_attempt = h.lease_token, last_result = 'succeed', next_escalation_at = null, review_due_at = null,
        resolved_at = (select now from act), resolved_by = coalesce(h.lease_worker, 'system'), resolution_reason = why
      from held h where e.ctid = h.spot and e.xmin = h.version returning 1),
    told as (insert into recoup.transition (error_id, at, input, actor, reason, policy_version, worker, claimed_at, attempt,
        was_state, was_disposition, was_blocking, was_escalation_level, was_retry_count, was_next_retry_at, was_expires_at, was_owner,
        state, disposition, blocking, escalation_level, retry_count, expires_at, owner)
      select h.error_id, (select now from act), 'succeed', coalesce(h.lease_worker, 'system'), why, h.policy, h.lease_worker, h.leased_at, h.lease_token,
        h.state, h.disposition, h.blocking, h.escalation_level, h.retry_count, h.lease_ends_at, h.expires_at, coalesce(h.assigned_to, h.escalated_to, 'system'),
        'RESOLVED', 'RESOLVED', false, h.escalation_level, h.retry_count, h.expires_at, coalesce(h.assigned_to, h.escalated_to, 'system') from held h),
    opened as (insert into recoup.gate_entry (entity_id, error_id, blocks) select h.entity_id, h.error_id, false from held h where h.blocking),
    waiting as (insert into recoup.resolved select (select now from act), h.error_id from held h),
    gone as (select h.table_name, h.state, h.ttl, count(*) as n, count(*) filter (where h.blocking) as blocking, sum(recoup.born_us(h.ttl, h.created_at)) as born
      from (select *, recoup.ttl_us(state, created_at, expires_at) as ttl from held offset 0) h group by h.table_name, h.state, h.ttl),
    counted as (insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
      select g.table_name, g.state, g.ttl, -g.n, -g.blocking, div(-g.born, 1000000), mod(-g.born, 1000000) from gone g
      union all select g.table_name, 'RESOLVED', 0, sum(g.n), 0, 0, 0 from gone g group by g.table_name),
    grouped as (insert into recoup.error_group_delta (group_id, retry_pending, resolved)
      select h.group_id, -count(*), count(*) from held h where h.group_id is not null group by h.group_id)
    select array_agg(h.error_id), array_agg(h.correlation_id), array_agg(h.lease_worker), array_agg(h.place), (select now from act), (select count(*) from done), array_agg(h.retried_at)
      into settled, correlations, workers, places, settled_at, written, retried from held h;
  perform set_config('recoup.acting', 'off', true);
end $$;
-- +goose StatementEnd
