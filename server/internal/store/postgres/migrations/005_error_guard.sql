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

-- cut_message returns a message of plain SQL as it is, or, if it has more than the 8192 bytes of the
-- API, its beginning and its length in the form that nodes look for when they admit the row
-- (engine/admit.go). It is not refused: a failure that is not recorded would block nothing.
create function recoup.cut_message(message text) returns text
language plpgsql immutable parallel safe set search_path = pg_catalog, pg_temp as $$
declare
  n    int := 8150;
  head bytea;
begin
  if octet_length(message) <= 8192 then
    return message;
  end if;
  head := convert_to(left(message, 8192), 'UTF8');
  while get_byte(head, n) & 192 = 128 loop -- within a character
    n := n - 1;
  end loop;
  return convert_from(substring(head from 1 for n), 'UTF8') || format(' [cut: %s bytes]', octet_length(message));
end $$;

-- error_plain reads what plain SQL has written as a report is read: its code is
-- folded and must look like one, its entity is normalized, its message is cut, and what lacks the
-- entity that its table requires is kept among the orphans, as the policy has it.
create function recoup.error_plain() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  folded text;
  t      recoup.error_table;
begin
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  if new.error_id = '00000000-0000-0000-0000-000000000000' then
    raise exception using errcode = 'RC001', message = 'error_id must not be all zeros: leave it out, or use a random UUID';
  end if;
  folded := upper(new.code collate "C");
  if folded !~ '^[A-Z][A-Z0-9_]{0,63}$' or new.code ~ '[^ -~]' then
    raise exception using errcode = 'RC001', message = format(
      'code %L does not look like a code: expected letters, digits and _, at most 64, beginning with a letter, such as NETWORK_TIMEOUT',
      left(new.code, 80));
  end if;
  new.code := coalesce((select c.code from recoup.error_code c where c.code = folded),
    (select c.code from recoup.error_code c where c.definition -> 'aliases' ? folded), folded);
  new.entity_id := recoup.plain_entity(new.entity_id);
  new.message := recoup.cut_message(new.message);
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

-- error_inserted holds new errors to their table, closes the gate and counts. What a node
-- reports of the past, and has expired by now, blocks nothing on its way to the archive.
create function recoup.error_inserted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
declare
  bad      text;
  known    text; -- the constraint that an id of the archive breaks
  entities text[];
begin
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select min(a.table_name || ': ' || case
      when t.table_name is null then 'is not a governed table'
      when t.retired and a.policy_version is null then 'is no longer governed'
      when not a.disposition = any (t.dispositions) then a.disposition || ' is not allowed'
      when t.ttl is null and a.expires_at is not null then 'errors of this table are kept for ever'
      when a.state = 'RESOLVED' then 'no error is born resolved'
      when a.policy_version is null and a.state <> 'ACTIVE' then 'what is not admitted yet is ACTIVE'
      when a.blocking <> (t.blocks and a.entity_id is not null and a.disposition in ('RETRY', 'PARKED'))
        and (a.blocking and (a.entity_id is null or a.disposition not in ('RETRY', 'PARKED'))
          or coalesce(a.policy_version, t.policy_version) = t.policy_version
            and (a.blocking or a.policy_version is null or coalesce(a.expires_at > least(a.updated_at, recoup.clock()), true)))
        then 'blocking must be ' || (not a.blocking)
      when r.error_id is not null then 'what is archived does not come back' end),
      min(case when r.error_id is not null then 'error_archive_pkey' end), array_agg(distinct a.entity_id) filter (where a.blocking)
    into bad, known, entities
    from added a
    left join recoup.error_table t on t.table_name = a.table_name
    left join recoup.error_archive r on r.error_id = a.error_id;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad, constraint = coalesce(known, '');
  end if;
  if entities is not null then
    perform recoup.lock_stripes(entities);
    insert into recoup.gate_entry (entity_id, error_id, blocks)
      select entity_id, error_id, true from added where blocking;
  end if;
  insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
    select table_name, state, ttl, count(*), count(*) filter (where blocking),
        div(sum(recoup.born_us(ttl, created_at)), 1000000), mod(sum(recoup.born_us(ttl, created_at)), 1000000)
      from (select *, recoup.ttl_us(state, created_at, expires_at) as ttl from added offset 0) e
     group by table_name, state, ttl;
  insert into recoup.error_group_delta (group_id, active, retry_pending, parked, escalated, resolved, arrived, first_at, last_at, example)
    select group_id, count(*) filter (where state = 'ACTIVE'), count(*) filter (where state = 'RETRY_PENDING'), count(*) filter (where state = 'PARKED'),
        count(*) filter (where state = 'ESCALATED'), 0, count(*), min(created_at), max(created_at), (array_agg(error_id))[1]
      from added where group_id is not null group by group_id, date_trunc('hour', created_at, 'UTC');
  return null;
end $$;
create trigger guard_insert after insert on recoup.error referencing new table as added
  for each statement execute function recoup.error_inserted();

-- is_node reports whether a node asks, or the schema's owner. It runs as the role that asks, also in
-- the conditions of triggers, and so needs no privilege on the schema.
create function recoup.is_node() returns boolean
language plpgsql stable set search_path = pg_catalog, pg_temp as $$
begin
  if pg_has_role(to_regrole('recoup_app')::oid, 'usage') then -- without a query: every report asks
    return true;
  end if;
  return pg_has_role((select c.relowner from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'recoup' and c.relname = 'error'), 'usage');
end $$;

-- error_limited holds a pipeline to the number of gates that one transaction may hold, before error_inserted takes
-- them: one that waits for a gate must not hold all others. Errors that do not block hold none.
create function recoup.error_limited() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  entities text[];
begin
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  entities := array(select distinct entity_id from added where blocking);
  if cardinality(entities) > 0 then
    perform recoup.check_stripes(entities);
  end if;
  return null;
end $$;
create trigger guard_held after insert on recoup.error referencing new table as added
  for each statement when (not recoup.is_node()) execute function recoup.error_limited(); -- before guard_insert, by its name

-- Changed errors. They are held to the rules row by row, by triggers whose conditions
-- are false for what claims and results do: those cost next to nothing.

-- refuse_row refuses the change of a row outright.
create function recoup.refuse_row() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC001', message = old.error_id || ': ' || tg_argv[0];
end $$;
create trigger guard_permanent after update of error_id, table_name, entity_id, code, created_at, correlation_id, group_id, reported_table on recoup.error for each row
  when (old.error_id <> new.error_id or old.table_name <> new.table_name or old.entity_id is distinct from new.entity_id
    or old.code <> new.code or old.created_at <> new.created_at or old.correlation_id is distinct from new.correlation_id
    or old.reported_table is distinct from new.reported_table or old.group_id <> new.group_id)
  execute function recoup.refuse_row('what it is and when it was made is permanent');
create trigger guard_message after update of message on recoup.error for each row when (old.policy_version is not null and new.message is distinct from old.message)
  execute function recoup.refuse_row('what was reported is permanent');
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
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  if exists (select from recoup.error_table t where t.table_name = old.table_name and t.ttl is null) then
    raise exception using errcode = 'RC001', message = old.error_id || ': errors of this table are kept as they are';
  end if;
  return null;
end $$;
create trigger guard_kept after update on recoup.error for each row when (old.expires_at is null and old.policy_version is not null)
  execute function recoup.error_kept();

-- error_ruled holds another disposition, another verdict on blocking and another
-- policy to what the table says, and demands of an error that ceases to block the row of
-- its history that says so. Errors that are resolved are error_resolved's.
create function recoup.error_ruled() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  t   recoup.error_table;
  bad text;
begin
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select * into t from recoup.error_table g where g.table_name = new.table_name;
  bad := case
    when new.disposition <> old.disposition and not new.disposition = any (t.dispositions) then new.disposition || ' is not allowed'
    when new.policy_version is distinct from old.policy_version and new.policy_version <> t.policy_version
      and not exists (select from recoup.policy_version v where v.version = new.policy_version) then 'its policy ' || new.policy_version || ' is not on record'
    when new.blocking <> (t.blocks and new.entity_id is not null and new.disposition in ('RETRY', 'PARKED'))
      and (coalesce(new.policy_version, t.policy_version) = t.policy_version
        or new.blocking <> old.blocking and new.policy_version = old.policy_version
          and (new.disposition in ('RETRY', 'PARKED')) = (old.disposition in ('RETRY', 'PARKED')))
      then 'blocking must be ' || (not new.blocking)
    when old.blocking and not new.blocking and not (recoup.recent(new.updated_at) and exists (select from recoup.transition h
        where h.error_id = new.error_id and h.at = new.updated_at and not h.blocking))
      then 'an error ceases to block together with the row of its history that says who did and why' end;
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
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select count(*), count(*) filter (where blocking) into n, blocked from was;
  select count(*) filter (where blocking) into blocks from changed;
  if blocks = 0 and blocked > 0 then
    insert into recoup.gate_entry (entity_id, error_id, blocks) select entity_id, error_id, false from was where blocking;
  elsif blocks > 0 and not (blocks = n and blocked = n) then
    perform recoup.lock_stripes(array(select distinct c.entity_id from changed c join was w using (error_id) where c.blocking and not w.blocking));
    insert into recoup.gate_entry (entity_id, error_id, blocks)
      select c.entity_id, c.error_id, c.blocking from changed c join was w using (error_id) where c.blocking <> w.blocking;
  end if;
  insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
    select table_name, state, ttl, sum(d), coalesce(sum(d) filter (where blocking), 0),
        div(sum(d * recoup.born_us(ttl, created_at)), 1000000), mod(sum(d * recoup.born_us(ttl, created_at)), 1000000)
      from (select table_name, state, blocking, created_at, 1 as d, recoup.ttl_us(state, created_at, expires_at) as ttl from changed
        union all select table_name, state, blocking, created_at, -1, recoup.ttl_us(state, created_at, expires_at) from was) e
     group by table_name, state, ttl
    having sum(d) <> 0 or coalesce(sum(d) filter (where blocking), 0) <> 0 or sum(d * recoup.born_us(ttl, created_at)) <> 0;
  insert into recoup.error_group_delta (group_id, active, retry_pending, parked, escalated, resolved)
    select group_id, active, pending, parked, escalated, resolved from (
      select group_id, sum(d) filter (where state = 'ACTIVE') as active, sum(d) filter (where state = 'RETRY_PENDING') as pending,
          sum(d) filter (where state = 'PARKED') as parked, sum(d) filter (where state = 'ESCALATED') as escalated, sum(d) filter (where state = 'RESOLVED') as resolved
        from (select group_id, state, 1 as d from changed union all select group_id, state, -1 from was) e where group_id is not null group by group_id) g
     where coalesce(active, 0) <> 0 or coalesce(pending, 0) <> 0 or coalesce(parked, 0) <> 0 or coalesce(escalated, 0) <> 0 or coalesce(resolved, 0) <> 0;
  if exists (select from was where policy_version is null) then -- what is admitted arrives in its group
    insert into recoup.error_group_delta (group_id, arrived, first_at, last_at, example)
      select c.group_id, 1, c.created_at, c.created_at, c.error_id from changed c join was w using (error_id) where w.group_id is null and c.group_id is not null;
  end if;
  return null;
end $$;
create trigger guard_update after update on recoup.error referencing old table as was new table as changed
  for each statement when (not recoup.acting()) execute function recoup.error_updated();

-- error_resolved demands of an error that is resolved the row of its history that
-- says so, and has it wait for the archive.
create function recoup.error_resolved() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  untold uuid;
  over   uuid[] := '{}'; -- were resolved before
begin
  if tg_relid <> 'recoup.error'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  if not exists (select from changed where state = 'RESOLVED') then
    return null;
  end if;
  if exists (select from was where state = 'RESOLVED') then
    over := array(select error_id from was where state = 'RESOLVED');
  end if;
  select c.error_id into untold from changed c
   where c.state = 'RESOLVED' and c.error_id <> all (over) and not exists (select from recoup.transition h
      where h.error_id = c.error_id and h.at = c.resolved_at and h.state = 'RESOLVED') limit 1;
  if untold is not null then
    raise exception using errcode = 'RC001',
      message = untold || ': an error is resolved together with the row of its history that says who did and why';
  end if;
  insert into recoup.resolved select resolved_at, error_id from changed where state = 'RESOLVED' and error_id <> all (over);
  return null;
end $$;
create trigger guard_resolved after update on recoup.error referencing old table as was new table as changed
  for each statement when (not recoup.acting()) execute function recoup.error_resolved();

-- Errors that are archived. They leave their table by recoup.archive alone: nodes can
-- neither delete an error nor write to the archive.

-- archive_only refuses what recoup.archive, or the purge, does not do.
create function recoup.archive_only() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if not recoup.acting() then
    raise exception using errcode = 'RC001', message = 'an error leaves its table only for the archive, by recoup.archive';
  end if;
  return null;
end $$;
create trigger guard_delete before delete on recoup.error
  for each statement execute function recoup.archive_only();
create trigger guard_insert before insert or delete on recoup.error_archive
  for each statement execute function recoup.archive_only();
create trigger forbidden_truncate before truncate on recoup.error
  for each statement execute function recoup.forbid();
create trigger forbidden before update on recoup.error_archive
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_archive
  for each statement execute function recoup.forbid();

-- A decision to archive: what an error has to agree in, if it was made on another one,
-- and what archiving adds.
create type recoup.archiving as (
  place int, table_name text, policy_version text, state text, blocking boolean, code text,
  last_failure_code text, assigned_to text, escalated_to text,
  archived_by text, archive_reason text, kept_us bigint,
  input text, reason text, decided_by text, worker text, claimed_at timestamptz, attempt uuid
);

-- check_archiving refuses decisions that no policy allows. What the table's policy admitted, or none on
-- record, is kept for as long as the table says. What an older policy admitted is kept for as
-- long as that policy says, which is at least the shortest retention that the table ever had.
create function recoup.check_archiving(decisions jsonb, moment timestamptz) returns void
language plpgsql set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  select min(m.table_name || ': ' || case
      when t.ttl is null then 'errors of this table are kept for ever'
      when not recoup.recent(moment) then 'an error is archived now, and at no other time'
      when (moment + m.kept_us * interval '1 microsecond' >= moment + k.retention) is not true then 'what is archived is kept for ' || k.retention end) into bad
    from jsonb_populate_recordset(null::recoup.archiving, decisions) m
    left join recoup.error_table t on t.table_name = m.table_name
    left join lateral (select case
        when m.policy_version <> t.policy_version and exists (select from recoup.policy_version v where v.version = m.policy_version)
          then (select s.retention from recoup.shortest_retention s where s.table_name = t.table_name)
        else t.retention end as retention) k on true;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
end $$;

-- archive moves errors to the archive, as it was decided: with the row of their
-- history, the numbers of the gates that open, and the counts. With places, each error
-- has the decision of its place, and all are moved or none; its row in recoup.due is
-- gone by then. Without, an error has the decision that was made on one that agrees
-- with it, if there is one and nobody holds it; the others are left alone. It decides
-- nothing, and refuses what is not allowed: what the policy keeps, what has not
-- expired, what would leave an open dead letter or the item of a replay behind. letters
-- are those that are closed with their errors. Errors are found by their ids alone: an
-- equation of tables would have them found by the index for that, once for each id.
create function recoup.archive(ids uuid[], places int[], successors uuid[], decisions jsonb, act_at timestamptz, letters uuid[],
  out moved_id uuid, out correlation uuid, out decision int, out moved_at timestamptz) returns setof record
language plpgsql security definer set search_path = pg_catalog, pg_temp set jit = off
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off set enable_bitmapscan = off set enable_material = off as $$
declare
  moment  timestamptz;
  number  bigint := nextval('recoup.transition_seq_seq'); -- of the last transition of each
  over    boolean := decisions @? '$[*] ? (@.archive_reason == "RESOLVED")';
  pending uuid[] := '{}'; -- wait for a retry, and nobody holds them
  others  uuid[] := case when places is null then ids else '{}' end;
  moved   int;
begin
  perform set_config('recoup.acting', 'on', true);
  if places is null and decisions @? '$[*] ? (@.state == "RETRY_PENDING")' then
    with gone as (delete from recoup.due d where d.error_id = any (ids) and d.lease_token is null returning d.error_id)
    select coalesce(array_agg(error_id), '{}') into pending from gone;
    others := case when cardinality(pending) < cardinality(ids) then array(select unnest(ids) except select unnest(pending)) else '{}' end;
  end if;
  moment := coalesce(act_at, recoup.clock());
  perform recoup.check_archiving(decisions, moment);
  return query with m as materialized (select * from jsonb_populate_recordset(null::recoup.archiving, decisions)),
    n as (select * from unnest(ids, places, successors, array[]::boolean[]) as u (id, place, successor, pending) where places is not null
      union all select p, null, null, true from unnest(pending) p union all select o, null, null, false from unnest(others) o),
    gone as (delete from recoup.error e using n, m
      where e.error_id = n.id and e.table_name is not distinct from m.table_name and e.policy_version is not distinct from m.policy_version
        and (m.archive_reason <> 'TTL_EXPIRED' or e.expires_at <= moment)
        and (m.place = n.place or n.place is null and e.state = m.state and (e.state = 'RETRY_PENDING') = n.pending
          and e.retry_exhausted = (e.max_retries > 0 and e.retry_count >= e.max_retries)
          and case when e.state = 'RESOLVED' then e.expires_at is null or e.expires_at > moment
            else e.blocking = m.blocking and e.code = m.code and e.last_failure_code is not distinct from m.last_failure_code
              and e.assigned_to is not distinct from m.assigned_to and e.escalated_to is not distinct from m.escalated_to end)
      returning e.*, n.successor, m.archived_by as d_archived_by, m.archive_reason as d_archive_reason, m.kept_us as d_kept_us, m.input as d_input,
        m.reason as d_reason, m.decided_by as d_decided_by, m.worker as d_worker, m.claimed_at as d_claimed_at, m.attempt as d_attempt, m.place as d_place),
    stored as (insert into recoup.error_archive (
      error_id, table_name, reported_table, entity_id, code, severity, category, class, message, correlation_id, group_id, policy_version, state, disposition,
      blocking, created_at, updated_at, expires_at, retry_count, max_retries, last_retry_at, next_retry_at, retry_exhausted, retry_window_ends_at,
      last_failure_code, streak_family, streak_count, last_attempt, last_result, parked_at, parked_by, park_reason, assigned_to, last_reviewed_at,
      escalation_level, escalated_at, escalated_to, escalation_reason, next_escalation_at, review_due_at, next_reminder_at, reminded_at, resolved_at,
      resolved_by, resolution_reason, replaceable, archived_at, archived_by, archive_reason, final_disposition, superseded_by, purge_at, was_state,
      was_blocking, end_seq, end_input, end_reason, end_policy, end_worker, end_claimed_at, end_attempt, end_gate)
      select
      g.error_id, g.table_name, g.reported_table, g.entity_id, g.code, g.severity, g.category, g.class, g.message, g.correlation_id, g.group_id,
      g.policy_version, 'ARCHIVED', g.disposition, false, g.created_at, moment, g.expires_at, g.retry_count, g.max_retries, g.last_retry_at,
      g.next_retry_at, g.retry_exhausted, g.retry_window_ends_at, g.last_failure_code, g.streak_family, g.streak_count, g.last_attempt,
      g.last_result, g.parked_at, g.parked_by, g.park_reason, g.assigned_to, g.last_reviewed_at, g.escalation_level, g.escalated_at, g.escalated_to,
      g.escalation_reason, g.next_escalation_at, g.review_due_at, case when g.state <> 'RESOLVED' then g.next_reminder_at end, g.reminded_at,
      g.resolved_at, g.resolved_by, g.resolution_reason, false, moment, g.d_archived_by, g.d_archive_reason, g.disposition, g.successor,
      moment + g.d_kept_us * interval '1 microsecond', g.state, g.blocking, number, g.d_input, g.d_reason,
      g.d_decided_by, g.d_worker, g.d_claimed_at, g.d_attempt, case when g.blocking then nextval('recoup.gate_seq') end from gone g),
    counted as (insert into recoup.error_count (table_name, state, ttl_us, n, blocking, born_s, born_us)
      select table_name, state, ttl, -count(*), -count(*) filter (where blocking),
          div(-sum(recoup.born_us(ttl, created_at)), 1000000), mod(-sum(recoup.born_us(ttl, created_at)), 1000000)
        from (select table_name, state, blocking, created_at, recoup.ttl_us(state, created_at, expires_at) as ttl from gone offset 0) c group by table_name, state, ttl),
    grouped as (insert into recoup.error_group_delta (group_id, active, retry_pending, parked, escalated, resolved)
      select group_id, -count(*) filter (where state = 'ACTIVE'), -count(*) filter (where state = 'RETRY_PENDING'), -count(*) filter (where state = 'PARKED'),
          -count(*) filter (where state = 'ESCALATED'), -count(*) filter (where state = 'RESOLVED') from gone where group_id is not null group by group_id),
    emptied as (delete from recoup.resolved where over and resolved_at = any (array(select distinct resolved_at from gone where state = 'RESOLVED'))
      and error_id = any (array(select error_id from gone where state = 'RESOLVED')))
    select g.error_id, g.correlation_id, g.d_place, moment from gone g;
  get diagnostics moved = row_count;
  if places is not null and moved < cardinality(ids) then
    raise exception using errcode = 'RC001', message = format('%s of %s errors are not what it was decided on', cardinality(ids) - moved, cardinality(ids));
  elsif moved < cardinality(ids) and pending <> '{}' then
    insert into recoup.due (error_id, table_name, policy_version, due_at, window_ends_at, expires_at)
      select error_id, table_name, policy_version, next_retry_at, retry_window_ends_at, expires_at
        from recoup.error where error_id = any (pending) and state = 'RETRY_PENDING';
  end if;
  perform recoup.close_letters(ids, letters, decisions, moment);
  perform set_config('recoup.acting', 'off', true);
end $$;

-- purge_archive deletes a batch of archived errors whose retention is over, by the
-- database's clock. What their rows have carried of the history and of the gate's log,
-- which outlive them, stays; what was a dead letter goes with all that hangs on it.
create function recoup.purge_archive(as_of timestamptz, batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp as $$
declare
  old     uuid[];
  letters uuid[];
begin
  perform set_config('recoup.acting', 'on', true);
  as_of := least(as_of, recoup.clock() + recoup.tolerance());
  old := array(select error_id from recoup.error_archive where purge_at <= as_of order by purge_at limit batch);
  perform recoup.create_partition('transition', month) from (
    select distinct (date_trunc('month', archived_at at time zone 'UTC'))::date as month from recoup.error_archive where error_id = any (old)) m;
  insert into recoup.transition overriding system value
    select (recoup.last_transition(a)).* from recoup.error_archive a where error_id = any (old);
  insert into recoup.gate_entry select end_gate, entity_id, error_id, false, archived_at
    from recoup.error_archive where error_id = any (old) and end_gate is not null;
  letters := array(select error_id from recoup.error_archive a join recoup.error_table t using (table_name) where error_id = any (old) and t.dead_letter);
  delete from recoup.error_archive where error_id = any (old);
  delete from recoup.source_detail where error_id = any (old);
  delete from recoup.dead_letter where error_id = any (letters);
  delete from recoup.dead_letter_round where error_id = any (letters);
  delete from recoup.dead_letter_note where error_id = any (letters);
  perform set_config('recoup.acting', 'off', true);
  return cardinality(old);
end $$;

-- last_transition is the row of the history that an archived error carries.
create function recoup.last_transition(a recoup.error_archive) returns recoup.transition
language sql stable as $$
  select a.error_id, a.archived_at, a.end_seq, a.end_input, a.archived_by, a.end_reason, a.end_policy, a.end_worker, a.end_claimed_at, a.end_attempt,
    a.was_state, a.disposition, a.was_blocking, a.escalation_level::int, a.retry_count, a.next_retry_at, a.expires_at, coalesce(a.assigned_to, a.escalated_to, 'system'),
    a.state, a.disposition, a.blocking, a.escalation_level::int, a.retry_count, a.next_retry_at, a.expires_at, coalesce(a.assigned_to, a.escalated_to, 'system')
$$;
-- +goose StatementEnd
