-- +goose Up
-- +goose StatementBegin
-- The ledger (spec 003): every failure that was reported, once, for good, and counts
-- of them per hour and per day.

-- Events are facts: nothing changes or deletes one; months that are over go whole.
create table recoup.error_event (
  event_id         uuid not null,
  code             text not null, -- of error_code: see event_guard
  correlation_id   uuid not null,
  service          text not null check (service <> ''),
  endpoint         text,
  http_status      int,
  tenant_hash      text,
  details          jsonb,
  region           text,
  ts               timestamptz not null default now(),
  day              date generated always as ((ts at time zone 'UTC')::date) stored,
  external_service text, -- the provider that failed
  reported_code    text, -- of an unregistered code: the name that was sent
  tenant_key       text, -- which key made tenant_hash
  primary key (event_id, ts),
  constraint error_event_details check (jsonb_typeof(details) = 'object' and pg_column_size(details || '{}') <= 2048 -- uncompressed
    and jsonb_typeof(details -> 'retryable') = 'boolean'
    and details - '{retryable,field,limit,window_sec,expected_etag,existing_id}'::text[] = '{}')
) partition by range (ts);

create index error_event_code_day_idx on recoup.error_event (code, day);
create index error_event_service_day_idx on recoup.error_event (service, day);
-- Rows come nearly in the order of their time, so that a few bytes for each 32
-- pages are all the index that time needs.
create index error_event_ts_idx on recoup.error_event using brin (ts) with (pages_per_range = 32, autosummarize = on);
create index error_event_correlation_idx on recoup.error_event (correlation_id);

-- Ids of events that carry no time of their own, such as a random UUID, for a day: an
-- event that comes again is recognised by its id, whatever time it is given.
create table recoup.event_known (
  event_id uuid primary key,
  seen_at  timestamptz not null default now()
);
create index event_known_seen_idx on recoup.event_known (seen_at);

-- Counts per day (spec 003) and per hour. Every statement that adds events
-- appends what it added, so that writers never wait for each other; folding adds
-- that to the sums, and readers count what is not folded yet.
create table recoup.error_aggregate_daily (
  day             date not null,
  service         text not null,
  code            text not null,
  count           bigint not null,
  retryable_count bigint not null,
  last_seen_at    timestamptz not null,
  primary key (day, service, code)
);
create index error_aggregate_daily_service_idx on recoup.error_aggregate_daily (service, day);
create index error_aggregate_daily_code_idx on recoup.error_aggregate_daily (code, day);

create table recoup.error_aggregate_hourly (
  hour            timestamptz not null, -- its beginning, in UTC
  service         text not null,
  code            text not null,
  count           bigint not null,
  retryable_count bigint not null,
  last_seen_at    timestamptz not null,
  primary key (hour, service, code)
);

create table recoup.error_aggregate_delta (like recoup.error_aggregate_hourly);

-- What did not get into the ledger, so that totals stay honest.
create table recoup.event_drop (
  day    date not null,
  reason text not null,
  n      bigint not null check (n > 0)
);
create index event_drop_idx on recoup.event_drop (day, reason);

-- event_guard refuses codes that are not registered, and counts. It looks at a
-- statement's rows together: a foreign key, which looks at each, costs a quarter
-- of the rate. Rows that were ignored as duplicates are not among them. A plan
-- that was made for one row would sort where 5,000 are better hashed.
create function recoup.event_guard() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_sort = off as $$
declare
  unknown text;
begin
  if tg_relid <> 'recoup.error_event'::regclass
    and not exists (select from pg_inherits where inhrelid = tg_relid and inhparent = 'recoup.error_event'::regclass) then
    perform recoup.refuse_table(tg_relid);
  end if;
  with sums as materialized (
    select date_trunc('hour', ts, 'UTC') as hour, service, code, count(*) as n, max(ts) as last,
        count(*) filter (where details -> 'retryable' = 'true') as yes,
        count(*) filter (where details -> 'retryable' is null) as unsaid
      from added group by 1, 2, 3),
  counted as (
    insert into recoup.error_aggregate_delta
      select s.hour, s.service, s.code, s.n, s.yes + case when c.retryable then s.unsaid else 0 end, s.last
        from sums s join recoup.error_code c using (code))
  select min(code) into unknown from sums s
    where not exists (select from recoup.error_code c where c.code = s.code);
  if unknown is not null then
    raise exception using errcode = 'RC001', message = format('the code %s is not registered', unknown);
  end if;
  return null;
end $$;

create trigger known_codes after insert on recoup.error_event referencing new table as added
  for each statement execute function recoup.event_guard();
create trigger forbidden before update or delete on recoup.error_event
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_event
  for each statement execute function recoup.forbid();

-- Events of acts that could not be added to error_event with their act, because another
-- session held a lock on the ledger or its month could not be made. The act is committed
-- with its events here, and deliver_events moves them. A code that is not registered is
-- refused, as the ledger refuses it.
create table recoup.event_late (
  like recoup.error_event including defaults including generated including constraints,
  late_at timestamptz not null default now(),
  primary key (event_id, ts)
);
create index event_late_at_idx on recoup.event_late (late_at);

create function recoup.event_late_guard() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  unknown text;
begin
  if tg_relid <> 'recoup.event_late'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select min(a.code) into unknown from added a where not exists (select from recoup.error_code c where c.code = a.code);
  if unknown is not null then
    raise exception using errcode = 'RC001', message = format('the code %s is not registered', unknown);
  end if;
  return null;
end $$;
create trigger known_codes after insert on recoup.event_late referencing new table as added
  for each statement execute function recoup.event_late_guard();
create trigger forbidden before update on recoup.event_late
  for each statement execute function recoup.forbid();

-- add_events adds the events of an act. It waits only briefly for locks on the ledger. It
-- is a function because to parse an insert waits for the lock on its table, with the
-- patience of the session.
create function recoup.add_events(ids uuid[], codes text[], correlations uuid[], services text[], endpoints text[], statuses int[],
  tenants text[], detail jsonb[], regions text[], times timestamptz[], providers text[], reported text[], keys text[]) returns void
language plpgsql set search_path = pg_catalog, pg_temp set lock_timeout = '200ms' as $$
begin
  insert into recoup.error_event (event_id, code, correlation_id, service, endpoint, http_status, tenant_hash, details, region, ts,
      external_service, reported_code, tenant_key)
    select * from unnest(ids, codes, correlations, services, endpoints, statuses, tenants, detail, regions, times, providers, reported, keys)
    on conflict do nothing;
end $$;

-- ensure_event_partitions makes the partitions of months, and gives every
-- partition, also one that was made or attached by hand, the guards that
-- statements aimed at it directly must meet. Nodes write to partitions directly,
-- because rows that go through the parent are inserted one at a time.
create function recoup.ensure_event_partitions(months date[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  part regclass;
  t    record;
begin
  perform recoup.lock_turn(102, false); -- many nodes come at once
  perform recoup.create_partition('error_event', m) from unnest(months) m;
  for part in select inhrelid from pg_inherits where inhparent = 'recoup.error_event'::regclass order by 1 loop
    for t in select * from (values
        ('known_codes', 'after insert on %s referencing new table as added', 'event_guard'),
        ('forbidden', 'before update or delete on %s', 'forbid'),
        ('forbidden_truncate', 'before truncate on %s', 'forbid')) as v (name, act, guard)
      where not exists (select from pg_trigger where tgrelid = part and tgname = v.name)
    loop
      execute format('create trigger %I ' || t.act || ' for each statement execute function recoup.%I()', t.name, part, t.guard);
    end loop;
    if to_regrole('recoup_app') is not null and not has_table_privilege('recoup_app', part, 'insert') then
      execute format('grant insert on %s to recoup_app', part);
    end if;
    perform recoup.secure_partition(part);
  end loop;
end $$;

-- deliver_events moves at most so many late events to the ledger, the oldest first, and
-- returns how many. Events that the ledger has already are not added again. If two nodes
-- deliver at once, the second finds what the first has left.
create function recoup.deliver_events(batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp set lock_timeout = '500ms' as $$
declare
  months date[];
  n      int;
begin
  select array_agg(distinct date_trunc('month', ts at time zone 'UTC')::date) into months
    from (select ts from recoup.event_late order by late_at limit batch) l;
  if months is null then
    return 0;
  end if;
  perform recoup.ensure_event_partitions(months);
  with gone as (
    delete from recoup.event_late
      where ctid = any (array(select ctid from recoup.event_late order by late_at limit batch)) returning *),
  delivered as (
    insert into recoup.error_event (event_id, code, correlation_id, service, endpoint, http_status, tenant_hash, details, region, ts,
        external_service, reported_code, tenant_key)
      select event_id, code, correlation_id, service, endpoint, http_status, tenant_hash, details, region, ts,
        external_service, reported_code, tenant_key from gone order by event_id, ts
      on conflict do nothing)
  select count(*) into n from gone;
  return n;
end $$;

-- settle_events renews what the planner knows of months that were loaded in
-- bulk. What else a vacuum does is left to autovacuum, which follows inserts.
create function recoup.settle_events(months date[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  part  regclass;
begin
  for part in select to_regclass(format('recoup.error_event_y%sm%s', to_char(m, 'YYYY'), to_char(m, 'MM')))
      from (select recoup.partition_month('error_event', month, '0001-01-01') as m from unnest(months) as month) x loop
    continue when part is null;
    execute format('analyze %s', part);
    perform brin_summarize_new_values(i.indexrelid)
      from pg_index i join pg_class c on c.oid = i.indexrelid join pg_am a on a.oid = c.relam
      where i.indrelid = part and a.amname = 'brin';
  end loop;
end $$;

-- fold_rollups adds a batch of what was appended to the sums, and returns how
-- much that was: a load of months at once leaves millions. Sums are written in
-- the order of their time, so that what is read together lies together, and so
-- that two that fold at once do not wait for each other crosswise. Where both
-- would take the same rows, the later one finds nothing.
create function recoup.fold_rollups(batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare
  n int;
begin
  with gone as (
    delete from recoup.error_aggregate_delta
      where ctid = any (array(select ctid from recoup.error_aggregate_delta limit batch)) returning *),
  hours as (
    insert into recoup.error_aggregate_hourly as h
      select hour, service, code, sum(count), sum(retryable_count), max(last_seen_at) from gone group by 1, 2, 3 order by 1, 2, 3
      on conflict (hour, service, code) do update set count = h.count + excluded.count,
        retryable_count = h.retryable_count + excluded.retryable_count,
        last_seen_at = greatest(h.last_seen_at, excluded.last_seen_at)),
  days as (
    insert into recoup.error_aggregate_daily as d
      select (hour at time zone 'UTC')::date, service, code, sum(count), sum(retryable_count), max(last_seen_at) from gone group by 1, 2, 3 order by 1, 2, 3
      on conflict (day, service, code) do update set count = d.count + excluded.count,
        retryable_count = d.retryable_count + excluded.retryable_count,
        last_seen_at = greatest(d.last_seen_at, excluded.last_seen_at))
  select count(*) into n from gone;
  with many as (select day, reason from recoup.event_drop group by 1, 2 having count(*) > 1),
  gone as (delete from recoup.event_drop using many
    where event_drop.day = many.day and event_drop.reason = many.reason returning event_drop.*)
  insert into recoup.event_drop select g.day, g.reason, sum(g.n) from gone g group by 1, 2;
  return n;
end $$;

-- purge_rollups deletes a batch of counts per hour and one of counts per day, none
-- that the policy keeps.
create function recoup.purge_rollups(hours_before timestamptz, days_before date, batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare
  hours int;
  days  int;
  drops int;
begin
  select least(hours_before, recoup.clock() + recoup.tolerance() - event_retention),
      least(days_before, ((recoup.clock() + recoup.tolerance() - rollup_retention) at time zone 'UTC')::date)
    into hours_before, days_before from recoup.ledger_policy;
  delete from recoup.error_aggregate_hourly where ctid = any (array(
    select ctid from recoup.error_aggregate_hourly where hour < hours_before order by hour limit batch));
  get diagnostics hours = row_count;
  delete from recoup.error_aggregate_daily where ctid = any (array(
    select ctid from recoup.error_aggregate_daily where day < days_before order by day limit batch));
  get diagnostics days = row_count;
  delete from recoup.event_drop where ctid = any (array(
    select ctid from recoup.event_drop where day < days_before order by day limit batch));
  get diagnostics drops = row_count;
  return hours + days + drops;
end $$;

-- id reads an id as people paste it, a UUID or a ULID: both are stored as uuid.
create function recoup.id(written text) returns uuid
language sql immutable strict parallel safe set search_path = pg_catalog, pg_temp as $$
  select case when upper(written collate "C") !~ '^[0-7][0-9A-HJKMNP-TV-Z]{25}$' then written::uuid else (
    select string_agg(to_hex(substr(bits, 4 * i + 3, 4)::bit(4)::int), '' order by i)::uuid
    from generate_series(0, 31) i, (
      select string_agg((strpos('0123456789ABCDEFGHJKMNPQRSTVWXYZ', substr(upper(written collate "C"), i, 1)) - 1)::bit(5)::text, '' order by i) as bits
      from generate_series(1, 26) i) b) end
$$;
-- +goose StatementEnd
