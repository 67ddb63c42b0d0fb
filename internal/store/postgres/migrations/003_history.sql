-- +goose Up
-- What happened to each error, by whom and why. Rows outlive their error, which
-- moves to the archive, so there is no foreign key.
create table recoup.error_history (
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

-- The count of an entity's failures in a family of codes (spec 000, 9.2).
create table recoup.entity_streak (
  family    text collate "C" not null,
  entity_id text collate "C" not null,
  count     int not null check (count > 0),
  primary key (family, entity_id)
) with (fillfactor = 70);

-- How many errors a table has in each state. Every statement appends what it
-- changed; the leader folds the deltas, and a reader adds up what is there.
create table recoup.error_count (
  table_name text collate "C" not null,
  state      text collate "C" not null,
  n          bigint not null
);
create index error_count_idx on recoup.error_count (table_name, state);

-- What people are to be told, written in the commit that caused it.
create table recoup.outbox (
  notice_id  uuid primary key default gen_random_uuid(),
  kind       text not null,
  recipient  text not null,
  error_id   uuid,
  created_at timestamptz not null,
  due_at     timestamptz,          -- null: delivered or given up
  attempts   int not null default 0,
  delivered_at timestamptz
);
create index outbox_due_idx on recoup.outbox (due_at) where due_at is not null;

-- +goose StatementBegin
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
  if parent not in ('error_event', 'error_history') then
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
  if parent not in ('error_event', 'error_history') then
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
-- +goose StatementEnd

create trigger forbidden before update or delete on recoup.error_history
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_history
  for each statement execute function recoup.forbid();
