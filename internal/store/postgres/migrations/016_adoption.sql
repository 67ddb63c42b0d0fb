-- +goose Up
-- +goose StatementBegin
-- Tables that were there before us, governed where they are (decision 0076). What is
-- made for each of them (triggers, columns, functions adopted_N_…) is made by 'recoup
-- adopt' and goes by 'recoup release'. The functions are there from BACKFILLING on, and
-- go while it is RELEASING, when nobody may rely on them any more. Nodes call them as the
-- login role of the adoption, which can do nothing else (decision 0105):
--   adopted_N_read(keys text[]) returns setof recoup.source_row: the rows that are there
--   adopted_N_scan(after text, until text, most int) returns setof text: keys, in their order
--   adopted_N_last() returns text: the last key
--   adopted_N_mirror(keys text[], dispositions text[], archived timestamptz[]) returns
--     text[]: the keys that are done with; the rest is locked by others, for now
--   adopted_N_retry(keys text[]) returns text[]: the keys whose jobs run again
--   adopted_N_take(keys text[]) returns setof recoup.source_row: rows with all of their columns
--   adopted_N_remove(keys text[], marks text[]) returns setof recoup.removed_row: deletes
--     rows that still have their marks, and says which it has and which are refused; the rest is
--     gone, changed, or locked by others. These two are there only if the rows are to be removed
--     (decision 0087)

-- A source row as the functions of an adoption return it: mapped, as text, not yet
-- redacted. Nothing of it is stored here but its key.
create type recoup.source_row as (
  key        text,
  entity_id  text,
  code       text,
  severity   text,
  message    text,
  created_at timestamptz,
  governed   boolean, -- the preset's condition holds, and the owner's does not
  columns    jsonb,   -- what is kept with its error; of a row that is moved, all of it
  underway   boolean, -- it is being worked at: what comes of that is not known yet
  pipeline   text,    -- of a job: the queue that it is in
  stage      text,    -- and of what kind it is
  mark       text     -- of this version of the row: any change of the row makes another
);

-- A source row that was deleted, or why it was not.
create type recoup.removed_row as (
  key     text,
  refused text -- by what; null: it was deleted
);

-- An adoption. The mapping is the owner's; what follows it is what has been done.
create table recoup.adoption (
  adoption_id int generated always as identity primary key,
  table_name  text collate "C" not null unique, -- of the policy
  source      text not null unique,             -- schema and table, quoted as needed
  source_oid  oid not null,
  owner       text not null,                    -- of the source, whose the functions are
  key_columns text[] not null check (cardinality(key_columns) > 0),
  mapping     jsonb not null,
  preset      text,
  state       text not null default 'ADOPTING' check (state in ('ADOPTING', 'BACKFILLING', 'GOVERNED', 'RELEASING')),
  steps       text[] not null default '{}', -- of its definition, done in this order
  turn        bigint not null default 0,    -- of the node that reconciles it, which only grows
  turn_of     text,                         -- that node
  turn_ends   timestamptz,                  -- when another may take the next
  scanned_to  text,                         -- the last key of the backfill; null: none
  scan_end    text,                         -- the last key when it began: what came later, triggers have seen
  scanned     bigint not null default 0,    -- how many rows it has seen
  rows        bigint not null default 0,    -- how many there were, by estimate, when it began
  begun_at    timestamptz not null default now(),
  governed_at timestamptz,
  begun_by    text not null,
  agreed      jsonb not null default '{}', -- what its functions give and remove (recoup.SourceRules)
  swept_at    timestamptz,                 -- when the last sweep for rows to be removed ended
  kept_back   bigint not null default 0,   -- rows that it could not remove
  kept_why    text,                        -- and why not, the last of them
  made        jsonb not null default '{}'  -- its functions as they were made (recoup.adopted_functions)
);

-- The login role as which nodes call the functions of an adoption. Code of the table's owner can
-- run in its sessions, so each adoption has a role of its own.
create table recoup.adoption_login (
  adoption_id int primary key references recoup.adoption on delete cascade,
  role        name not null unique,
  password    text not null default replace(gen_random_uuid()::text || gen_random_uuid()::text, '-', '')
);

-- adopted_functions describes the functions of an adoption and its view: owner, rights, settings
-- and body.
create function recoup.adopted_functions(id int) returns jsonb language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(jsonb_object_agg(o.name, o.made), '{}') from (
    select p.proname, jsonb_build_array(pg_get_userbyid(p.proowner), p.prosecdef, p.proconfig, p.provolatile, md5(p.prosrc))
      from pg_proc p where p.pronamespace = to_regnamespace('recoup')
    union all
    select c.relname, jsonb_build_array(pg_get_userbyid(c.relowner), c.relkind) from pg_class c
      where c.relnamespace = to_regnamespace('recoup') and c.relkind = 'v') o (name, made)
    where starts_with(o.name, format('adopted_%s_', id))
$$;

-- Which error a source row has. No foreign key: whoever writes a pair holds the turn at its
-- adoption (check_turn), which is not forgotten while there is one.
create table recoup.adopted_row (
  adoption_id int not null,
  key         text collate "C" not null,
  error_id    uuid not null,
  digest      bytea not null, -- of the mapped columns, keyed
  attempt     uuid,           -- its job is under way, set off under this lease, or by others (decision 0085)
  primary key (adoption_id, key)
);
create index adopted_row_attempt_idx on recoup.adopted_row (adoption_id, key) where attempt is not null;
create unique index adopted_row_error_key on recoup.adopted_row (error_id);

-- What an error keeps of its source row (decision 0087). It stays when the error is
-- archived, and goes when the archive is purged.
create table recoup.source_detail (
  error_id   uuid primary key,
  table_name text collate "C" not null, -- of the error
  details    jsonb,                     -- columns, redacted
  sealed     bytea,                     -- columns, encrypted
  sealed_by  text,                      -- by this key
  moved      bytea,                     -- the whole row, encrypted, once it is here and not there
  moved_by   text,
  check ((sealed is null) = (sealed_by is null)),
  check ((moved is null) = (moved_by is null))
);

-- keep_moved keeps rows that are about to leave their source beside their archived errors, all
-- of them or none. Nobody purges these meanwhile. It may be repeated until the rows are gone.
create function recoup.keep_moved(ids uuid[], rows bytea[], keys text[]) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  n bigint;
begin
  perform from recoup.error_archive a where a.error_id = any (ids) for key share;
  insert into recoup.source_detail (error_id, table_name, moved, moved_by)
    select a.error_id, a.table_name, u.moved, u.key
      from unnest(ids, rows, keys) as u (id, moved, key) join recoup.error_archive a on a.error_id = u.id
    on conflict (error_id) do update set moved = excluded.moved, moved_by = excluded.moved_by;
  get diagnostics n = row_count;
  if n < cardinality(ids) then
    raise exception using errcode = 'RC001', message = 'a row moves only with its error into the archive';
  end if;
end $$;

-- drop_moved drops the copies of rows that their source refuses to delete.
create function recoup.drop_moved(ids uuid[]) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from recoup.source_detail d where d.error_id = any (ids) and d.moved is not null and d.details is null and d.sealed is null;
  update recoup.source_detail d set moved = null, moved_by = null where d.error_id = any (ids) and d.moved is not null;
end $$;

-- Keys to look at again: whole numbers and uuids as they are, others as text; none: at
-- every row that has an error, because all are gone. Entities are those that a new or
-- changed row names, for the gate (decision 0088): their hashes, which cost writers least,
-- until a node that is behind has moved them to adopted_entity.
create table recoup.adopted_change (
  change_id   bigint generated always as identity,
  adoption_id int not null,
  keys        text[],
  numbers     bigint[],
  uuids       uuid[],
  entities    bigint[], -- hashtextextended(entity, 0)
  at          timestamptz not null default clock_timestamp(),
  primary key (adoption_id, change_id),
  -- An owner of an adopted table can insert what no trigger of ours does.
  check (coalesce(cardinality(keys), cardinality(numbers), cardinality(uuids), 0) <= 1000 and coalesce(cardinality(entities), 0) <= 1000),
  check (array_position(keys, null) is null and array_position(numbers, null) is null and array_position(uuids, null) is null
    and array_position(entities, null) is null and num_nonnulls(keys, numbers, uuids) <= 1),
  check (pg_column_size(keys) <= 4194304)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- adopted_by reports whether a role may note changes of an adoption: the owner of its table, or one
-- with the rights of the schema's owner.
create function recoup.adopted_by(id int, who name) returns boolean language sql stable
security definer set search_path = pg_catalog, pg_temp as $$
  select exists (select from recoup.adoption a where a.adoption_id = id and a.owner = who) or pg_has_role(who, current_user, 'usage')
$$;

-- change_guard refuses changes that the owner of another adopted table notes.
create function recoup.change_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if not recoup.adopted_by(new.adoption_id, current_user) then
    raise insufficient_privilege using message = format('adoption %s is of a table that %s does not own', new.adoption_id, current_user);
  end if;
  return new;
end $$;
create trigger owned before insert on recoup.adopted_change
  for each row execute function recoup.change_guard();

alter table recoup.adopted_change alter keys set storage external, alter numbers set storage external, -- writers have no time to compress
  alter uuids set storage external, alter entities set storage external;
create index adopted_change_unindexed on recoup.adopted_change (adoption_id, change_id) where entities is not null;

-- The entities of changes that wait, one by one, so that the gate's question does not
-- take longer the more of them wait.
create table recoup.adopted_entity (
  adoption_id int not null,
  change_id   bigint not null,
  hash        bigint not null,
  primary key (adoption_id, change_id, hash)
) with (autovacuum_vacuum_scale_factor = 0.02);
create index adopted_entity_hash on recoup.adopted_entity (hash);

-- Errors whose source row is to be told.
create table recoup.adopted_mirror (
  mirror_id   bigint generated always as identity,
  adoption_id int not null,
  error_id    uuid not null,
  primary key (adoption_id, mirror_id)
) with (autovacuum_vacuum_scale_factor = 0.02);

-- Rows that could not be read when a node last looked at them, because a condition of
-- their owner fails on them.
create table recoup.adopted_unreadable (
  adoption_id int not null references recoup.adoption,
  key         text collate "C" not null,
  cause       text not null, -- redacted
  primary key (adoption_id, key)
);

-- adopted_moved notes which errors of source rows have moved.
create function recoup.adopted_moved() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  if tg_relid not in ('recoup.error'::regclass, 'recoup.error_archive'::regclass) then
    perform recoup.refuse_table(tg_relid);
  end if;
  insert into recoup.adopted_mirror (adoption_id, error_id)
    select r.adoption_id, r.error_id from changed c join recoup.adopted_row r using (error_id);
  return null;
end $$;

-- watch_errors has every error that moves noted while something is adopted. Whoever
-- adopts nothing pays nothing, and what is being released is no longer told.
create function recoup.watch_errors() returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
declare
  wanted boolean := exists (select from recoup.adoption where state <> 'RELEASING');
begin
  if wanted = exists (select from pg_trigger where tgrelid = 'recoup.error'::regclass and tgname = 'adopted') then
    return;
  end if;
  if wanted then
    create trigger adopted after update on recoup.error referencing new table as changed
      for each statement execute function recoup.adopted_moved();
    create trigger adopted after insert on recoup.error_archive referencing new table as changed
      for each statement execute function recoup.adopted_moved();
  else
    drop trigger adopted on recoup.error;
    drop trigger adopted on recoup.error_archive;
  end if;
end $$;

-- forget_adoption ends an adoption whose source has been left (its steps are none) and
-- whose pairs of source rows and errors are gone, and reports whether it is. Nodes
-- delete the pairs once their errors are ended; nodes and 'recoup release' both call it.
create function recoup.forget_adoption(id int) returns boolean language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from recoup.adopted_unreadable u using recoup.adoption a where u.adoption_id = id and a.adoption_id = id and a.state = 'RELEASING' and a.steps = '{}';
  delete from recoup.adoption a where a.adoption_id = id and a.state = 'RELEASING' and a.steps = '{}'
    and not exists (select from recoup.adopted_row r where r.adoption_id = id);
  if found then
    delete from recoup.adopted_change where adoption_id = id;
    delete from recoup.adopted_entity where adoption_id = id;
    delete from recoup.adopted_mirror where adoption_id = id;
  end if;
  return not exists (select from recoup.adoption a where a.adoption_id = id);
end $$;

-- take_turn gives the next turn at an adoption to a node, or lengthens the one that it
-- has; null while another node has it.
create function recoup.take_turn(id int, node text, lasts interval) returns bigint language sql
security definer set search_path = pg_catalog, pg_temp as $$
  update recoup.adoption set turn = turn + (turn_of is distinct from node)::int, turn_of = node, turn_ends = clock_timestamp() + lasts
   where adoption_id = id and (turn_of = node or coalesce(turn_ends <= clock_timestamp(), true))
  returning turn
$$;

-- end_turns ends the turns of a node that stops, so that others need not wait.
create function recoup.end_turns(node text) returns void language sql
security definer set search_path = pg_catalog, pg_temp as $$
  update recoup.adoption set turn_ends = null, turn_of = null where turn_of = node
$$;

-- check_turn refuses what is done out of turn. Until the end of the transaction
-- nobody else can take one.
create function recoup.check_turn(id int, mine bigint) returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  perform from recoup.adoption a where a.adoption_id = id and a.turn = mine for share;
  if not found then
    raise exception using errcode = 'RC002', message = format('adoption %s: another node has its turn', id);
  end if;
end $$;

-- replication_lag is how far the slowest standby is behind, as far as the schema's owner may
-- see that: it needs pg_read_all_stats. While replay is paused it grows.
create function recoup.replication_lag() returns interval language sql
security definer set search_path = pg_catalog, pg_temp as $$
  select coalesce(max(replay_lag), interval '0') from pg_stat_replication
$$;

-- index_changes moves the entities of changes that wait to adopted_entity, about as many as
-- asked for, and returns how many changes those were.
create function recoup.index_changes(id int, mine bigint, most int) returns bigint language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare moved bigint;
begin
  perform recoup.check_turn(id, mine);
  with waiting as (
    select c.change_id, c.entities, sum(cardinality(c.entities)) over (order by c.change_id) - cardinality(c.entities) as before from (
      select change_id, entities from recoup.adopted_change where adoption_id = id and entities is not null order by change_id limit most) c
  ), taken as (
    update recoup.adopted_change c set entities = null from waiting w
     where c.adoption_id = id and c.change_id = w.change_id and w.before < most returning w.change_id, w.entities
  ), added as (
    insert into recoup.adopted_entity select distinct id, t.change_id, h from taken t, unnest(t.entities) h where h is not null
  )
  select count(*) into moved from taken;
  return moved;
end $$;

-- unread is the adopted tables that have a row of an entity which no node has looked at
-- yet, and since when, if it may block it. Nearly always there is no change at all.
create function recoup.unread(entity text) returns table (table_name text, since timestamptz)
language plpgsql stable security definer rows 1
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare wanted bigint := hashtextextended(nullif(entity, '') collate "C", 0);
begin
  return query select t.table_name, min(u.at) from (
      select c.adoption_id, c.at from recoup.adopted_change c where c.entities is not null and wanted = any (c.entities)
      union all
      select c.adoption_id, c.at from recoup.adopted_entity e join recoup.adopted_change c using (adoption_id, change_id) where e.hash = wanted) u
    join recoup.adoption a on a.adoption_id = u.adoption_id and a.state <> 'RELEASING'
    join recoup.error_table t on t.table_name = a.table_name and t.blocks and not t.retired
    group by 1 order by 1;
end $$;
-- +goose StatementEnd
