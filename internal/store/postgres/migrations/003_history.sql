-- +goose Up
-- +goose StatementBegin
-- What happened to errors, and how many there are: the history of each, the failures
-- of each entity, and sums that answer at a glance what would else be counted.

-- archiving reports whether a function of ours is about to archive or to purge: it says
-- so for its transaction, and runs as the schema's owner.
create function recoup.archiving() returns boolean
language sql stable set search_path = pg_catalog, pg_temp as $$
  select coalesce(current_setting('recoup.archiving', true), '') = 'on'
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
  for each statement when (not recoup.archiving()) execute function recoup.timely_rows();
create trigger forbidden before update or delete on recoup.transition
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.transition
  for each statement execute function recoup.forbid();

-- create_partition makes the partition of a month, bounded in UTC, with the
-- guards that statements aimed at it directly must meet. Nodes own nothing, so
-- it runs as the schema's owner.
create function recoup.create_partition(parent text, month date) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  first date := date_trunc('month', month)::date;
  name  text := format('%s_y%sm%s', parent, to_char(first, 'YYYY'), to_char(first, 'MM'));
  bound text := 'YYYY-MM-DD 00:00:00+00';
begin
  if parent not in ('error_event', 'transition') then
    raise exception using errcode = 'RC001', message = format('%s has no partitions', parent);
  end if;
  if to_regclass(format('recoup.%I', name)) is not null then
    return false;
  end if;
  execute format('create table recoup.%I partition of recoup.%I for values from (%L) to (%L)',
    name, parent, to_char(first, bound), to_char(first + interval '1 month', bound));
  execute format('create trigger forbidden before update or delete on recoup.%I
    for each statement execute function recoup.forbid()', name);
  execute format('create trigger forbidden_truncate before truncate on recoup.%I
    for each statement execute function recoup.forbid()', name);
  if parent = 'error_event' then
    execute format('create trigger known_codes after insert on recoup.%I referencing new table as added
      for each statement execute function recoup.event_guard()', name);
  end if;
  perform recoup.secure_partition(format('recoup.%I', name)::regclass);
  return true;
exception when duplicate_table then
  return false;
end $$;

-- drop_partition drops the partition of a month whole, once all of it is older than
-- the policy keeps such rows: events for themselves, history as long as the longest
-- life of an error and its archive together. Whatever the caller believes the date
-- to be, the database's clock is asked.
create function recoup.drop_partition(parent text, month date) returns boolean
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  first date := date_trunc('month', month)::date;
  name  text := format('%s_y%sm%s', parent, to_char(first, 'YYYY'), to_char(first, 'MM'));
  kept  interval := case parent when 'error_event' then (select event_retention from recoup.ledger_policy)
    else (select max(ttl) + max(retention) from recoup.error_table) end;
begin
  if parent not in ('error_event', 'transition') then
    raise exception using errcode = 'RC001', message = format('%s has no partitions', parent);
  end if;
  if to_regclass(format('recoup.%I', name)) is null or first + interval '1 month' > now() then
    return false;
  end if;
  if coalesce((first + interval '1 month') at time zone 'UTC' + kept > recoup.clock() + recoup.tolerance(), true) then
    return false;
  end if;
  execute format('drop table recoup.%I', name);
  return true;
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
  select case when state <> 'RESOLVED' and expires > created and isfinite(expires) and isfinite(created)
    then (date_part('epoch', expires - created) * 1000000)::bigint else 0 end
$$;

-- born_us is when an error was made, or 0 if that does not matter. Like what it
-- calls, it is only stable: called more than it says, it would not be inlined.
create function recoup.born_us(ttl bigint, created timestamptz) returns bigint
language sql stable parallel safe as $$
  select case when ttl > 0 then (date_part('epoch', created) * 1000000)::bigint else 0 end
$$;

-- Activity: how often something happened to errors, by minute and by hour, kept as
-- the counts are: transactions append to the delta, folding adds that to the sums.
create table recoup.activity_minute (
  minute     timestamptz not null,
  table_name text collate "C" not null,
  reported   bigint not null,
  parked     bigint not null,
  escalated  bigint not null,
  attempts   bigint not null,
  succeeded  bigint not null,
  retried    bigint not null,
  exhausted  bigint not null,
  expired    bigint not null,
  archived   bigint not null,
  primary key (minute, table_name),
  constraint activity_minute_counts check (least(reported, parked, escalated, attempts, succeeded, retried, exhausted, expired, archived) >= 0)
) with (fillfactor = 70);

create table recoup.activity_hour (
  hour       timestamptz not null,
  table_name text collate "C" not null,
  reported   bigint not null,
  parked     bigint not null,
  escalated  bigint not null,
  attempts   bigint not null,
  succeeded  bigint not null,
  retried    bigint not null,
  exhausted  bigint not null,
  expired    bigint not null,
  archived   bigint not null,
  primary key (hour, table_name),
  constraint activity_hour_counts check (least(reported, parked, escalated, attempts, succeeded, retried, exhausted, expired, archived) >= 0)
) with (fillfactor = 50);

create table recoup.activity_delta (like recoup.activity_minute including constraints);
-- It costs a writer nothing, and lets nodes, which ask for indexes, read the few
-- rows that are not folded without a plan for many.
create index activity_delta_idx on recoup.activity_delta using brin (minute);
-- +goose StatementEnd
