-- +goose Up
-- The guards of errors, drawn tighter. An error that is in the archive does not
-- come back; one that goes there is still the error it was; and one that was
-- admitted under an older policy keeps its disposition, and whether it blocks,
-- when its table says otherwise now, or nobody could touch it any more. What plain
-- SQL writes is held to the table as it is.
--
-- Where a function rules out kinds of plans, the cost of what is left is beyond
-- all measure, and the planner would compile it anew at every call: hence jit.
-- Nodes have it off; people at a prompt do not.
alter table recoup.error_archive
  add constraint error_archive_replaceable check (not replaceable),
  add constraint error_archive_final check (final_disposition = disposition),
  add constraint error_archive_superseded check ((archive_reason = 'SUPERSEDED') = (superseded_by is not null)),
  add constraint error_archive_resolved check ((archive_reason = 'RESOLVED') = (disposition = 'RESOLVED'));

-- +goose StatementBegin
-- error_inserted holds new errors to their table, closes the gate and counts.
create or replace function recoup.error_inserted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  bad      text;
  entities text[];
begin
  select min(a.table_name || ': ' || case
      when t.table_name is null then 'is not a governed table'
      when t.retired and a.policy_version is null then 'is no longer governed'
      when not a.disposition = any (t.dispositions) then a.disposition || ' is not allowed'
      when a.state = 'RESOLVED' then 'no error is born resolved'
      when a.policy_version is null and a.state <> 'ACTIVE' then 'what is not admitted yet is ACTIVE'
      when a.blocking <> (t.blocks and a.entity_id is not null and a.disposition in ('RETRY', 'PARKED'))
        and (a.blocking and (a.entity_id is null or a.disposition not in ('RETRY', 'PARKED'))
          or coalesce(a.policy_version, t.policy_version) = t.policy_version)
        then 'blocking must be ' || (not a.blocking)
      when r.error_id is not null then 'what is archived does not come back' end),
      array_agg(distinct a.entity_id) filter (where a.blocking)
    into bad, entities
    from added a
    left join recoup.error_table t on t.table_name = a.table_name
    left join recoup.error_archive r on r.error_id = a.error_id;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  if entities is not null then
    perform recoup.lock_stripes(entities);
    insert into recoup.gate_log (entity_id, error_id, blocks)
      select entity_id, error_id, true from added where blocking;
  end if;
  insert into recoup.error_count select table_name, state, count(*) from added group by 1, 2;
  return null;
end $$;

-- error_updated refuses what must not change and what must not come back. An
-- error that ceases to block needs no lock: nobody sees it before the commit,
-- and its number is drawn by then.
create or replace function recoup.error_updated() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
declare
  bad      text;
  entities text[];
  gates    boolean;
  states   boolean;
begin
  select min(n.error_id || ': ' || case
      when o.error_id is null then 'an error keeps its id'
      when o.table_name <> n.table_name or o.entity_id is distinct from n.entity_id or o.code <> n.code
        or o.created_at <> n.created_at or o.correlation_id is distinct from n.correlation_id
        or o.reported_table is distinct from n.reported_table
        then 'what it is and when it was made is permanent'
      when o.state = 'RESOLVED' then 'it is resolved'
      when o.policy_version is not null and n.policy_version is null then 'it is admitted'
      when t.ttl is null and o.policy_version is not null then 'errors of this table are kept as they are'
      when n.disposition <> o.disposition and not n.disposition = any (t.dispositions) then n.disposition || ' is not allowed'
      when n.blocking <> (t.blocks and n.entity_id is not null and n.disposition in ('RETRY', 'PARKED'))
        and (n.blocking and (n.entity_id is null or n.disposition not in ('RETRY', 'PARKED'))
          or coalesce(n.policy_version, t.policy_version) = t.policy_version
          or n.blocking <> o.blocking and n.policy_version = o.policy_version
            and (n.disposition in ('RETRY', 'PARKED')) = (o.disposition in ('RETRY', 'PARKED')))
        then 'blocking must be ' || (not n.blocking) end),
      array_agg(distinct n.entity_id) filter (where n.blocking and not o.blocking),
      bool_or(n.blocking <> o.blocking), bool_or(n.state <> o.state)
    into bad, entities, gates, states
    from changed n
    left join was o on o.error_id = n.error_id
    left join recoup.error_table t on t.table_name = n.table_name;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  if gates then
    perform recoup.lock_stripes(entities);
    insert into recoup.gate_log (entity_id, error_id, blocks)
      select n.entity_id, n.error_id, n.blocking
        from changed n join was o using (error_id) where n.blocking <> o.blocking;
  end if;
  if states then
    insert into recoup.error_count
      select n.table_name, delta.state, sum(delta.d)
        from changed n join was o using (error_id)
       cross join lateral (values (n.state, 1), (o.state, -1)) as delta (state, d)
       where n.state <> o.state group by 1, 2;
  end if;
  return null;
end $$;

-- error_deleted lets an error go only to the archive, as what it was: no update
-- could have made of it what is there. What is resolved goes there unchanged.
create or replace function recoup.error_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  bad text;
begin
  select min(g.error_id || ': ' || case
      when a.error_id is null then 'an error leaves its table only for the archive'
      when a.table_name <> g.table_name or a.entity_id is distinct from g.entity_id or a.code <> g.code
        or a.created_at <> g.created_at or a.correlation_id is distinct from g.correlation_id
        or a.reported_table is distinct from g.reported_table
        then 'what it is and when it was made is permanent'
      when g.policy_version is not null and a.policy_version is null then 'it is admitted'
      when g.state = 'RESOLVED' and row(a.disposition, a.severity, a.category, a.class, a.message, a.policy_version,
          a.retry_count, a.max_retries, a.parked_at, a.parked_by, a.park_reason, a.escalation_level,
          a.resolved_at, a.resolved_by, a.resolution_reason)
        is distinct from row(g.disposition, g.severity, g.category, g.class, g.message, g.policy_version,
          g.retry_count, g.max_retries, g.parked_at, g.parked_by, g.park_reason, g.escalation_level,
          g.resolved_at, g.resolved_by, g.resolution_reason) then 'it is resolved' end)
    into bad
    from gone g left join recoup.error_archive a on a.error_id = g.error_id;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  insert into recoup.gate_log (entity_id, error_id, blocks)
    select entity_id, error_id, false from gone where blocking;
  insert into recoup.error_count select table_name, state, -count(*) from gone group by 1, 2;
  return null;
end $$;
-- +goose StatementEnd

alter function recoup.error_archived() set jit = off;
alter function recoup.event_guard() set jit = off;

-- +goose StatementBegin
drop function recoup.fold_rollups();

-- fold_rollups adds a batch of what was appended to the sums, and returns how
-- much that was: a load of months at once leaves millions. Sums are written in
-- the order of their time, so that what is read together lies together, and so
-- that two that fold at once do not wait for each other crosswise. Where both
-- would take the same rows, the later one finds nothing.
create function recoup.fold_rollups(batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
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
-- +goose StatementEnd
