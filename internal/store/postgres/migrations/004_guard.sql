-- +goose Up
-- The promotion gate. Whoever makes an entity blocked holds its stripe shared
-- until the commit; whoever promotes it holds the stripe alone. Both draw their
-- number under the lock, so the numbers tell what came first; the clock cannot.
create sequence recoup.gate_seq;

create table recoup.gate_log (
  seq       bigint primary key default nextval('recoup.gate_seq'),
  entity_id text collate "C" not null,
  error_id  uuid not null,
  blocks    boolean not null, -- it begins to block, or it ends
  at        timestamptz not null default now()
);
create index gate_log_entity_idx on recoup.gate_log (entity_id, seq);

create table recoup.promotion (
  promotion_id uuid primary key,
  seq          bigint not null unique,
  entity_id    text collate "C" not null,
  phase        text not null,
  promoted_by  text not null,
  promoted_at  timestamptz not null
);
create index promotion_entity_idx on recoup.promotion (entity_id, seq);

create trigger forbidden before update or delete on recoup.gate_log
  for each statement execute function recoup.forbid();
create trigger forbidden before update or delete on recoup.promotion
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.gate_log
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.promotion
  for each statement execute function recoup.forbid();

-- +goose StatementBegin
-- stripe spreads entities over 1,024 advisory locks.
create function recoup.stripe(entity text) returns int
language sql immutable parallel safe as $$ select hashtext(entity) & 1023 $$;

-- lock_stripes takes the stripes of the entities shared, in order: unsorted
-- locks would wait for each other.
create function recoup.lock_stripes(entities text[]) returns void
language plpgsql as $$
declare s int;
begin
  for s in select distinct recoup.stripe(e) from unnest(entities) e order by 1 loop
    perform pg_advisory_xact_lock_shared(20260202, s);
  end loop;
end $$;

-- The guards of errors run as the schema's owner: whoever may write an error,
-- through a view for example, need not be able to write what follows from it.
-- Their settings keep plans good that are made for one row and reused for 500.

-- error_inserted holds new errors to their table, closes the gate and counts.
create function recoup.error_inserted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  bad      text;
  entities text[];
begin
  select min(a.table_name || ': ' || case
      when t.table_name is null then 'is not a governed table'
      when t.retired then 'is no longer governed'
      when not a.disposition = any (t.dispositions) then a.disposition || ' is not allowed'
      when a.state = 'RESOLVED' then 'no error is born resolved'
      when a.policy_version is null and a.state <> 'ACTIVE' then 'what is not admitted yet is ACTIVE'
      when a.blocking <> (t.blocks and a.entity_id is not null and a.disposition in ('RETRY', 'PARKED'))
        then 'blocking must be ' || (not a.blocking) end),
      array_agg(distinct a.entity_id) filter (where a.blocking)
    into bad, entities
    from added a left join recoup.error_table t using (table_name);
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
create function recoup.error_updated() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_nestloop = off as $$
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
      when not n.disposition = any (t.dispositions) then n.disposition || ' is not allowed'
      when n.blocking <> (t.blocks and n.entity_id is not null and n.disposition in ('RETRY', 'PARKED'))
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

-- error_deleted lets an error go only to the archive.
create function recoup.error_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  if exists (select from gone g where not exists
      (select from recoup.error_archive a where a.error_id = g.error_id)) then
    raise exception using errcode = 'RC001', message = 'an error leaves its table only for the archive';
  end if;
  insert into recoup.gate_log (entity_id, error_id, blocks)
    select entity_id, error_id, false from gone where blocking;
  insert into recoup.error_count select table_name, state, -count(*) from gone group by 1, 2;
  return null;
end $$;

-- error_archived refuses rows that are to be kept for ever, or that still stand
-- in their table.
create function recoup.error_archived() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set enable_hashjoin = off set enable_mergejoin = off set enable_seqscan = off as $$
begin
  if exists (select from added a left join recoup.error_table t using (table_name) where t.ttl is null) then
    raise exception using errcode = 'RC001', message = 'errors of this table are kept for ever';
  end if;
  if exists (select from added a join recoup.error e using (error_id)) then
    raise exception using errcode = 'RC001', message = 'an error is in its table or in the archive, not in both';
  end if;
  return null;
end $$;
-- +goose StatementEnd

create trigger guard_insert after insert on recoup.error referencing new table as added
  for each statement execute function recoup.error_inserted();
create trigger guard_update after update on recoup.error referencing old table as was new table as changed
  for each statement execute function recoup.error_updated();
create trigger guard_delete after delete on recoup.error referencing old table as gone
  for each statement execute function recoup.error_deleted();
create trigger forbidden_truncate before truncate on recoup.error
  for each statement execute function recoup.forbid();

create trigger guard_insert after insert on recoup.error_archive referencing new table as added
  for each statement execute function recoup.error_archived();
create trigger forbidden before update on recoup.error_archive
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_archive
  for each statement execute function recoup.forbid();

-- +goose StatementBegin
-- is_blocked answers spec 000, 6.3 over every table at once, to whoever may ask
-- it, whether or not they may read errors.
create function recoup.is_blocked(entity text) returns boolean
language sql stable security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from recoup.error where entity_id = entity and blocking)
$$;

-- promote records that an entity goes on, unless an error blocks it. Nobody can
-- close the gate between the check and the commit. seq is null if it is blocked.
-- It is the only way to record a promotion: nodes may not write the table.
create function recoup.promote(entity text, phase text, actor text default current_user,
  at timestamptz default now(), id uuid default gen_random_uuid(),
  out seq bigint, out blockers uuid[])
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if coalesce(btrim(entity), '') = '' or coalesce(btrim(phase), '') = '' then
    raise exception using errcode = 'RC001', message = 'promote needs an entity and a phase';
  end if;
  if not exists (select from pg_roles where rolname = 'recoup_app' and pg_has_role(session_user, oid, 'usage')) then
    actor := session_user; -- only nodes speak for others
  end if;
  if at is null or not recoup.timely(at) then
    at := recoup.clock();
  end if;
  if current_setting('transaction_isolation') <> 'read committed' then
    raise exception using errcode = 'RC001', message = 'promote needs READ COMMITTED: an older snapshot could not see what blocks';
  end if;
  perform pg_advisory_xact_lock(20260202, recoup.stripe(entity));
  blockers := array(select error_id from recoup.error where entity_id = entity and blocking order by created_at, error_id limit 100);
  if cardinality(blockers) > 0 then
    return;
  end if;
  seq := nextval('recoup.gate_seq');
  insert into recoup.promotion values (id, seq, entity, phase, actor, at);
end $$;

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
