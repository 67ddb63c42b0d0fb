-- +goose Up
-- +goose StatementBegin
-- What no writer of errors can do, and what follows from each write: counts, the
-- gate's log, the queue for the archive.
--
-- The guards run as the schema's owner: whoever may write an error, through a view
-- for example, need not be able to write what follows from it. Their settings keep
-- plans good that are made for one row and reused for 500. Where a function rules out
-- kinds of plans, the cost of what is left is beyond all measure, and the planner
-- would compile it anew at every call: hence jit. Nodes have it off; people at a
-- prompt do not.
--
-- An error that is in the archive does not come back; one that goes there is still
-- the error it was. One that was admitted under an older policy keeps its disposition,
-- and whether it blocks, when its table says otherwise now, or nobody could touch it
-- any more; what plain SQL writes is held to the table as it is.

-- New errors.

-- error_plain reads what plain SQL has written as a report is read: its code is
-- folded and must look like one, and what lacks the entity that its table
-- requires is kept among the orphans, as the policy has it.
create function recoup.error_plain() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  folded text := upper(new.code collate "C");
  t      recoup.error_table;
begin
  if folded !~ '^[A-Z][A-Z0-9_]{0,63}$' or new.code ~ '[^ -~]' then
    raise exception using errcode = 'RC001', message = format(
      'code %L does not look like a code: expected letters, digits and _, at most 64, beginning with a letter, such as NETWORK_TIMEOUT',
      left(new.code, 80));
  end if;
  new.code := coalesce((select c.code from recoup.error_code c where c.code = folded),
    (select c.code from recoup.error_code c where c.definition -> 'aliases' ? folded), folded);
  select * into t from recoup.error_table e where e.table_name = new.table_name;
  if t.dead_letter then
    raise exception using errcode = 'RC001', message = format(
      '%s takes no plain inserts, because a dead letter carries its work: send it with POST /v1/dead-letters', t.table_name);
  end if;
  if t.entity_required and not t.retired and coalesce(new.entity_id, '') = '' then
    select * into t from recoup.error_table e where e.orphans;
    if found then
      new.reported_table := new.table_name;
      new.table_name := t.table_name;
      new.entity_id := null;
      new.disposition := t.default_disposition;
      new.blocking := false;
      new.updated_at := now();
      new.expires_at := new.created_at + t.ttl;
    end if;
  end if;
  return new;
end $$;
create trigger plain before insert on recoup.error
  for each row when (new.policy_version is null) execute function recoup.error_plain();
-- A row of plain SQL waits to be admitted. Rows of reports are admitted.
create trigger wake after insert on recoup.error
  for each row when (new.policy_version is null) execute function recoup.wake('errors');

-- error_inserted holds new errors to their table, closes the gate and counts.
create function recoup.error_inserted() returns trigger language plpgsql
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
      when t.ttl is null and a.expires_at is not null then 'errors of this table are kept for ever'
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
  insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
    select table_name, state, ttl, count(*), count(*) filter (where blocking),
        div(sum(recoup.born_us(ttl, created_at)), 1000000), mod(sum(recoup.born_us(ttl, created_at)), 1000000)
      from (select *, recoup.ttl_us(state, created_at, expires_at) as ttl from added offset 0) e
     group by table_name, state, ttl;
  return null;
end $$;
create trigger guard_insert after insert on recoup.error referencing new table as added
  for each statement execute function recoup.error_inserted();

-- Changed errors. They are held to the rules row by row, by triggers whose conditions
-- are false for what claims and results do: those cost next to nothing.

-- refuse_row refuses the change of a row outright.
create function recoup.refuse_row() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC001', message = old.error_id || ': ' || tg_argv[0];
end $$;
create trigger guard_permanent after update of error_id, table_name, entity_id, code, created_at, correlation_id, reported_table on recoup.error for each row
  when (old.error_id <> new.error_id or old.table_name <> new.table_name or old.entity_id is distinct from new.entity_id
    or old.code <> new.code or old.created_at <> new.created_at or old.correlation_id is distinct from new.correlation_id
    or old.reported_table is distinct from new.reported_table)
  execute function recoup.refuse_row('what it is and when it was made is permanent');
create trigger guard_admitted after update of policy_version on recoup.error for each row when (old.policy_version is not null and new.policy_version is null)
  execute function recoup.refuse_row('it is admitted');

-- error_over lets nothing happen to what is resolved, but that the next report of
-- the same failure takes its key.
create function recoup.error_over() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if to_jsonb(new) - 'replaceable' <> to_jsonb(old) - 'replaceable' or new.replaceable then
    raise exception using errcode = 'RC001', message = old.error_id || ': it is resolved';
  end if;
  return null;
end $$;
create trigger guard_over after update on recoup.error for each row when (old.state = 'RESOLVED')
  execute function recoup.error_over();

-- error_kept refuses changes in tables that are kept for ever.
create function recoup.error_kept() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from recoup.error_table t where t.table_name = old.table_name and t.ttl is null) then
    raise exception using errcode = 'RC001', message = old.error_id || ': errors of this table are kept as they are';
  end if;
  return null;
end $$;
create trigger guard_kept after update on recoup.error for each row when (old.expires_at is null and old.policy_version is not null)
  execute function recoup.error_kept();

-- error_ruled holds another disposition, another verdict on blocking and another
-- policy to what the table says.
create function recoup.error_ruled() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  t   recoup.error_table;
  bad text;
begin
  select * into t from recoup.error_table g where g.table_name = new.table_name;
  bad := case
    when new.disposition <> old.disposition and not new.disposition = any (t.dispositions) then new.disposition || ' is not allowed'
    when new.blocking <> (t.blocks and new.entity_id is not null and new.disposition in ('RETRY', 'PARKED'))
      and (coalesce(new.policy_version, t.policy_version) = t.policy_version
        or new.blocking <> old.blocking and new.policy_version = old.policy_version
          and (new.disposition in ('RETRY', 'PARKED')) = (old.disposition in ('RETRY', 'PARKED')))
      then 'blocking must be ' || (not new.blocking) end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = new.error_id || ': ' || bad;
  end if;
  return null;
end $$;
create trigger guard_ruled after update of disposition, blocking, policy_version on recoup.error for each row
  when (new.disposition <> 'RESOLVED' and (new.disposition <> old.disposition or new.blocking <> old.blocking
    or new.policy_version is distinct from old.policy_version))
  execute function recoup.error_ruled();

-- error_updated writes down which gates open and close, and counts. Where no error
-- blocks any more, or all do as before, the rows need not be paired. An error that
-- ceases to block needs no lock: nobody sees it before the commit, and its number is
-- drawn by then.
create function recoup.error_updated() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_nestloop = off set enable_hashjoin = on set enable_sort = on as $$
declare
  n       bigint;
  blocked bigint; -- how many did
  blocks  bigint; -- how many do
begin
  select count(*), count(*) filter (where blocking) into n, blocked from was;
  select count(*) filter (where blocking) into blocks from changed;
  if blocks = 0 and blocked > 0 then
    insert into recoup.gate_log (entity_id, error_id, blocks) select entity_id, error_id, false from was where blocking;
  elsif blocks > 0 and not (blocks = n and blocked = n) then
    perform recoup.lock_stripes(array(select distinct c.entity_id from changed c join was w using (error_id) where c.blocking and not w.blocking));
    insert into recoup.gate_log (entity_id, error_id, blocks)
      select c.entity_id, c.error_id, c.blocking from changed c join was w using (error_id) where c.blocking <> w.blocking;
  end if;
  insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
    select table_name, state, ttl, sum(d), coalesce(sum(d) filter (where blocking), 0),
        div(sum(d * recoup.born_us(ttl, created_at)), 1000000), mod(sum(d * recoup.born_us(ttl, created_at)), 1000000)
      from (select table_name, state, blocking, created_at, 1 as d, recoup.ttl_us(state, created_at, expires_at) as ttl from changed
        union all select table_name, state, blocking, created_at, -1, recoup.ttl_us(state, created_at, expires_at) from was) e
     group by table_name, state, ttl
    having sum(d) <> 0 or coalesce(sum(d) filter (where blocking), 0) <> 0 or sum(d * recoup.born_us(ttl, created_at)) <> 0;
  return null;
end $$;
create trigger guard_update after update on recoup.error referencing old table as was new table as changed
  for each statement execute function recoup.error_updated();

-- error_resolved demands of an error that is resolved the row of its history that
-- says so, and has it wait for the archive.
create function recoup.error_resolved() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  untold uuid;
  over   uuid[] := '{}'; -- were resolved before
begin
  if not exists (select from changed where state = 'RESOLVED') then
    return null;
  end if;
  if exists (select from was where state = 'RESOLVED') then
    over := array(select error_id from was where state = 'RESOLVED');
  end if;
  select c.error_id into untold from changed c
   where c.state = 'RESOLVED' and c.error_id <> all (over) and not exists (select from recoup.error_history h
      where h.error_id = c.error_id and h.at = c.resolved_at and h.state = 'RESOLVED') limit 1;
  if untold is not null then
    raise exception using errcode = 'RC001',
      message = untold || ': an error is resolved together with the row of its history that says who did and why';
  end if;
  insert into recoup.resolved select resolved_at, error_id from changed where state = 'RESOLVED' and error_id <> all (over);
  return null;
end $$;
create trigger guard_resolved after update on recoup.error referencing old table as was new table as changed
  for each statement execute function recoup.error_resolved();

-- Errors that are archived.

-- What leaves its table within a statement that has not ended: the archive takes
-- nothing else. It is empty at the end of every statement.
create unlogged table recoup.error_leaving (error_id uuid primary key);

-- error_deleted lets an error go only to the archive, as what it was: no update
-- could have made of it what is there. What is resolved goes there unchanged.
create function recoup.error_deleted() returns trigger language plpgsql
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
          g.resolved_at, g.resolved_by, g.resolution_reason) then 'it is resolved'
      when a.disposition = 'RESOLVED' and g.state <> 'RESOLVED' and not exists (select from recoup.error_history h
          where h.error_id = a.error_id and h.at = a.resolved_at and h.state = 'RESOLVED')
        then 'an error is resolved together with the row of its history that says who did and why' end)
    into bad
    from gone g left join recoup.error_archive a on a.error_id = g.error_id;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  insert into recoup.error_leaving select error_id from gone;
  delete from recoup.resolved where resolved_at = any (array(select distinct resolved_at from gone where state = 'RESOLVED'))
    and error_id = any (array(select error_id from gone));
  insert into recoup.gate_log (entity_id, error_id, blocks)
    select entity_id, error_id, false from gone where blocking;
  insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
    select table_name, state, ttl, -count(*), -count(*) filter (where blocking),
        div(-sum(recoup.born_us(ttl, created_at)), 1000000), mod(-sum(recoup.born_us(ttl, created_at)), 1000000)
      from (select *, recoup.ttl_us(state, created_at, expires_at) as ttl from gone offset 0) e
     group by table_name, state, ttl;
  return null;
end $$;
create trigger guard_delete after delete on recoup.error referencing old table as gone
  for each statement execute function recoup.error_deleted();
create trigger forbidden_truncate before truncate on recoup.error
  for each statement execute function recoup.forbid();

-- is_news reports whether nothing is told of an error by an earlier transaction.
-- What tells of it is never changed, so that whoever wrote it is known.
create function recoup.is_news(entity text, id uuid) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select not exists (select from recoup.error_history h where h.error_id = id and h.xmin <> pg_current_xact_id()::xid)
    and not exists (select from recoup.gate_log g where g.entity_id = entity and g.error_id = id and g.xmin <> pg_current_xact_id()::xid)
$$;

-- error_archived lets into the archive only what leaves its table by the same
-- statement, now, for as long as its policy keeps it; or what was replaced within
-- the transaction that brought it, which no table has held: then what replaced it
-- is there, and came by the same transaction.
create function recoup.error_archived() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  bad text;
begin
  select min(a.error_id || ': ' || case
      when t.ttl is null then 'errors of this table are kept for ever'
      when e.error_id is not null then 'an error is in its table or in the archive, not in both'
      when not recoup.recent(a.archived_at) then 'it is archived now, and at no other time'
      when a.purge_at < a.archived_at + t.retention and (a.policy_version = t.policy_version
          or not exists (select from recoup.policy_version v where v.version = a.policy_version)) then 'it is kept for ' || t.retention
      when l.error_id is null and not (a.archive_reason = 'SUPERSEDED' and a.created_at >= a.archived_at and exists (
          select from recoup.error s where s.error_id = a.superseded_by and s.xmin = pg_current_xact_id()::xid
            and s.table_name = a.table_name and s.entity_id = a.entity_id and s.code = a.code
          union all select from recoup.error_archive s where s.error_id = a.superseded_by and s.xmin = pg_current_xact_id()::xid
            and s.table_name = a.table_name and s.entity_id = a.entity_id and s.code = a.code)
          and recoup.is_news(a.entity_id, a.superseded_by))
        then 'it was never an error: what is archived leaves its table by the same statement' end)
    into bad
    from added a
    left join recoup.error_table t on t.table_name = a.table_name
    left join recoup.error e on e.error_id = a.error_id
    left join recoup.error_leaving l on l.error_id = a.error_id;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  delete from recoup.error_leaving l using added a where l.error_id = a.error_id;
  return null;
end $$;
create trigger guard_insert after insert on recoup.error_archive referencing new table as added
  for each statement execute function recoup.error_archived();
create trigger forbidden before update on recoup.error_archive
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_archive
  for each statement execute function recoup.forbid();

-- purge_archive deletes a batch of archived errors whose retention is over, by the
-- database's clock.
create function recoup.purge_archive(as_of timestamptz, batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare n int;
begin
  as_of := least(as_of, recoup.clock() + recoup.tolerance());
  with old as (select error_id from recoup.error_archive where purge_at <= as_of order by purge_at limit batch)
  delete from recoup.error_archive a using old where a.error_id = old.error_id;
  get diagnostics n = row_count;
  return n;
end $$;
-- +goose StatementEnd
