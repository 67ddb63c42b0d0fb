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
--   adopted_N_attach(gone boolean) returns setof recoup.attached_partition: adds triggers to partitions
--     that have none. If partitions are gone it has every row that has an error looked at again

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
  mark       text,    -- of this version of the row: any change of the row makes another
  last_seen  text     -- changes when the row fails again; null: the row does not say
);

-- A source row that was deleted, or why it was not.
create type recoup.removed_row as (
  key     text,
  refused text -- by what; null: it was deleted
);

-- A partition of a source that had no triggers when a node looked.
create type recoup.attached_partition as (
  name    text,
  filled  boolean, -- it has triggers now, and had rows before
  refused text     -- why it has none; null: it has
);

-- An adoption. The mapping is the owner's; what follows it is what has been done.
create table recoup.adoption (
  adoption_id int generated always as identity primary key,
  table_name  text collate "C" not null unique, -- of the policy
  source      text not null unique,             -- schema and table, quoted as needed
  source_oid  oid not null,                     -- when it was adopted; another after a restore (recoup.adopted_source)
  owner       text not null,                    -- of the source, whose the functions are
  key_columns text[] not null check (cardinality(key_columns) > 0),
  mapping     jsonb not null,
  preset      text,
  state       text not null default 'ADOPTING' check (state in ('ADOPTING', 'BACKFILLING', 'GOVERNED', 'RELEASING')),
  steps       text[] not null default '{}', -- of its definition, done in this order
  turn        bigint not null default 0,    -- of the node that reconciles it, which only grows
  turn_of     text,                         -- that node
  turn_ends   timestamptz,                  -- when another may take the next
  scanned_to  text check (octet_length(scanned_to) <= 32768), -- the last key of the backfill; null: none
  scan_end    text check (octet_length(scan_end) <= 32768),   -- the last key when it began: what came later, triggers have seen
  scanned     bigint not null default 0,    -- how many rows it has seen
  rows        bigint not null default 0,    -- how many there were, by estimate, when it began
  begun_at    timestamptz not null default now(),
  governed_at timestamptz,
  begun_by    text not null,
  agreed      jsonb not null default '{}', -- what its functions give and remove (recoup.SourceRules)
  swept_at    timestamptz,                 -- when the last sweep for rows to be removed ended
  kept_back   bigint not null default 0,   -- rows that it could not remove
  kept_why    text,                        -- and why not, the last of them
  indexed_to  bigint not null default 0,   -- the gate finds the entities of changes up to this one by an index, or needs none (pass_changes)
  passed_at   timestamptz not null default '-infinity', -- older transactions index what they note from then on
  made        jsonb not null default '{}', -- its functions as they were made (recoup.adopted_functions)
  partitions  text[],                      -- of a partitioned source, when a node last looked; null: it is not partitioned
  unseen      text[] not null default '{}', -- those of them without triggers, which nodes could not add
  unseen_since timestamptz,                -- when there first were some
  unseen_why  text                         -- why nodes could not add the triggers of one of them
);

-- The login role as which nodes call the functions of an adoption. Code of the table's owner can
-- run in its sessions, so each adoption has a role of its own. Where no role can be created and
-- the table belongs to the owner of this schema, nodes use that owner's own login (decision 0114).
create table recoup.adoption_login (
  adoption_id int primary key references recoup.adoption on delete cascade,
  role        name unique, -- null: the login of the schema's owner
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

-- table_named is the table that has a name; null if there is none. Names with escapes, which
-- parse_ident cannot read, are those of no table. It needs no right to the table's schema, which
-- nodes do not have.
create function recoup.table_named(name text) returns oid language sql stable
set search_path = pg_catalog, pg_temp as $$
  select c.oid from (select case when name !~ '(^|\.)U&"' then parse_ident(name, false) end) p (parts)
      join pg_namespace n on n.nspname = p.parts[1] join pg_class c on c.relnamespace = n.oid and c.relname = p.parts[2]
    where c.relkind in ('r', 'p') and cardinality(p.parts) = 2
$$;

-- bind_adoption binds an adoption to the table that its row names by oid. The view adopted_N_source
-- holds that oid as a constant: PostgreSQL keeps it right when the table is renamed, and a dump names
-- the table. The view belongs to the owner of this schema. What the owner of the table owns, such as
-- the view adopted_N_recoup_release_first, is no evidence of which table was adopted.
create function recoup.bind_adoption(id int) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bound oid;
begin
  select c.oid into bound from recoup.adoption a join pg_class c on c.oid = a.source_oid and c.relkind in ('r', 'p')
      and pg_get_userbyid(c.relowner) = a.owner
    where a.adoption_id = id;
  if not found then
    raise object_not_in_prerequisite_state using message = format('the table of adoption %s was dropped or given to another owner meanwhile', id);
  end if;
  execute format('create view recoup.adopted_%s_source as select %L::regclass as source', id, bound);
end $$;

-- bound_source is the table to which an adoption is bound; null if it has no view of this schema's
-- owner that names exactly one table.
create function recoup.bound_source(id int) returns oid language sql stable
set search_path = pg_catalog, pg_temp as $$
  select min(c.oid::bigint)::oid from pg_namespace n join pg_class v on v.relnamespace = n.oid and v.relowner = n.nspowner and v.relkind = 'v'
      join pg_rewrite r on r.ev_class = v.oid
      join pg_depend d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid and d.refclassid = 'pg_class'::regclass
      join pg_class c on c.oid = d.refobjid and c.relkind in ('r', 'p')
    where n.nspname = 'recoup' and v.relname = format('adopted_%s_source', id)
    having count(distinct c.oid) = 1
$$;

-- adopted_source is the source of an adoption; null if it is gone. An adoption that is not bound, as
-- after a restore that could not create its view, has the table of that name, if its owner is the same.
create function recoup.adopted_source(id int) returns oid language sql stable
set search_path = pg_catalog, pg_temp as $$
  select coalesce(recoup.bound_source(id),
    (select c.oid from recoup.adoption a join pg_class c on c.oid = recoup.table_named(a.source) and pg_get_userbyid(c.relowner) = a.owner
      where a.adoption_id = id))
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

-- Which errors rows of released tables have, where the policy keeps errors for ever: no release can
-- end these. If the table is adopted again its rows have them still.
create table recoup.adopted_kept (
  source   text not null, -- of the adoption
  key      text collate "C" not null,
  error_id uuid not null,
  digest   bytea not null,
  primary key (source, key)
);

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
-- changed row names, for the gate (decision 0088): their hashes, which cost writers least.
-- change_guard or a node moves them to adopted_entity when many wait.
create table recoup.adopted_change (
  change_id   bigint generated always as identity,
  adoption_id int not null,
  keys        text[],
  numbers     bigint[],
  uuids       uuid[],
  entities    bigint[], -- hashtextextended(entity, 0)
  at          timestamptz not null default clock_timestamp(),
  writer      name default current_user, -- checked by change_guard, not stored
  primary key (adoption_id, change_id),
  -- An owner of an adopted table can insert what no trigger of ours does.
  check (coalesce(cardinality(keys), cardinality(numbers), cardinality(uuids), 0) <= 1000 and coalesce(cardinality(entities), 0) <= 1000),
  check (array_position(keys, null) is null and array_position(numbers, null) is null and array_position(uuids, null) is null
    and array_position(entities, null) is null and num_nonnulls(keys, numbers, uuids) <= 1),
  constraint adopted_change_keys_size check (pg_column_size(keys || '{}'::text[]) <= 4194304) -- uncompressed
) with (autovacuum_vacuum_scale_factor = 0.02);

alter table recoup.adopted_change alter keys set storage external, alter numbers set storage external, -- writers have no time to compress
  alter uuids set storage external, alter entities set storage external;
create index adopted_change_unindexed on recoup.adopted_change (adoption_id, change_id) where entities is not null;

-- The entities of changes that wait, one by one, so that the gate's question does not
-- take longer the more of them wait. No index serves both the gate and deletes: a plan made
-- for an empty table could pick the wrong one.
create table recoup.adopted_entity (
  adoption_id int not null,
  change_id   bigint not null,
  hash        bigint not null
) with (autovacuum_vacuum_scale_factor = 0.02);
create index adopted_entity_hash on recoup.adopted_entity (hash, adoption_id);
create index adopted_entity_change on recoup.adopted_entity (change_id);

-- change_guard refuses changes that the owner of another adopted table notes: roles with the
-- rights of the schema's owner may note all. The default of the column writer is the role that
-- inserts, and owners of tables cannot write that column. A role that was renamed is known as the owner
-- of the functions of its adoption.
-- It indexes the entities of a change that is far behind the last indexed one, and those of
-- transactions that pass_changes did not wait for. The gate reads unindexed entities one by one, so
-- their number has a limit (decision 0088). The distance is in change ids: a sequence, which no
-- snapshot can hide.
-- Keys that come from another table may be compressed. They are stored uncompressed (keys || '{}'), so
-- that pg_column_size is how much readers get. Those over the limit are refused first: a constraint
-- would decompress them several times, and print them.
create function recoup.change_guard() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
declare
  owner    text;
  indexed  bigint;
  passed   timestamptz;
  distance bigint;
  size     int := coalesce(cardinality(new.entities), 0);
begin
  if tg_relid <> 'recoup.adopted_change'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  select a.owner, a.indexed_to, a.passed_at into owner, indexed, passed from recoup.adoption a where a.adoption_id = new.adoption_id;
  if new.writer is distinct from owner and not pg_has_role(new.writer, current_user, 'usage')
    and not exists (select from pg_proc p where p.pronamespace = 'recoup'::regnamespace and p.proname = format('adopted_%s_insert', new.adoption_id)
      and pg_get_userbyid(p.proowner) = new.writer) then
    raise insufficient_privilege using message = format('adoption %s is of a table that %s does not own', new.adoption_id, new.writer);
  end if;
  new.writer := null;
  if new.keys is not null then
    if pg_column_size(new.keys) > 4194304 or pg_column_size(new.keys || '{}'::text[]) > 4194304 then
      raise check_violation using message = 'the keys of a change have more than 4194304 bytes', table = 'adopted_change', constraint = 'adopted_change_keys_size';
    end if;
    new.keys := new.keys || '{}'::text[];
  end if;
  distance := new.change_id - coalesce(indexed, 0);
  if size = 0 then
    new.entities := null;
  elsif (distance > 1000 or distance * size > 50000 or now() < passed or num_nonnulls(new.keys, new.numbers, new.uuids) = 0)
      and size <= 1000 and array_position(new.entities, null) is null then -- others are refused by a constraint
    insert into recoup.adopted_entity (adoption_id, change_id, hash)
      select distinct new.adoption_id, new.change_id, h from unnest(new.entities) h;
    new.entities := null;
  end if;
  return new;
end $$;
create trigger owned before insert on recoup.adopted_change
  for each row execute function recoup.change_guard();
alter table recoup.adopted_change enable always trigger owned; -- triggers note changes in sessions of replication too

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

-- Source rows that refuse what became of their error, by a constraint or a trigger of their owner.
-- Nodes try again until the row takes it, or is gone.
create table recoup.adopted_refused (
  adoption_id int not null,
  error_id    uuid not null,
  key         text collate "C" not null,
  cause       text not null, -- redacted
  attempts    int not null,
  retry_at    timestamptz not null,
  primary key (adoption_id, error_id)
);
create index adopted_refused_retry on recoup.adopted_refused (adoption_id, retry_at);

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
strict security definer set search_path = pg_catalog, pg_temp as $$
begin
  delete from recoup.adopted_unreadable u using recoup.adoption a where u.adoption_id = id and a.adoption_id = id and a.state = 'RELEASING' and a.steps = '{}';
  delete from recoup.adoption a where a.adoption_id = id and a.state = 'RELEASING' and a.steps = '{}'
    and not exists (select from recoup.adopted_row r where r.adoption_id = id);
  if found then
    delete from recoup.adopted_change where adoption_id = id;
    delete from recoup.adopted_entity where adoption_id = id;
    delete from recoup.adopted_mirror where adoption_id = id;
    delete from recoup.adopted_refused where adoption_id = id;
  end if;
  return not exists (select from recoup.adoption a where a.adoption_id = id);
end $$;

-- take_turn gives the next turn at an adoption to a node, or lengthens the one that it
-- has; null while another node has it.
create function recoup.take_turn(id int, node text, lasts interval) returns bigint language sql
strict security definer set search_path = pg_catalog, pg_temp as $$
  update recoup.adoption set turn = turn + (turn_of is distinct from node)::int, turn_of = node, turn_ends = clock_timestamp() + lasts
   where adoption_id = id and (turn_of = node or coalesce(turn_ends <= clock_timestamp(), true))
  returning turn
$$;

-- end_turns ends the turns of a node that stops, so that others need not wait.
create function recoup.end_turns(node text) returns void language sql
strict security definer set search_path = pg_catalog, pg_temp as $$
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
-- asked for, and returns how many changes those were. It needs no turn. It locks the adoption
-- first, as those do who have the turn and delete changes.
create function recoup.index_changes(id int, most int) returns bigint language plpgsql
strict security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  moved bigint;
begin
  perform from recoup.adoption a where a.adoption_id = id for no key update;
  with waiting as (
    select c.change_id, c.entities, sum(cardinality(c.entities)) over (order by c.change_id) - cardinality(c.entities) as before from (
      select u.change_id, u.entities from (select * from recoup.adopted_change where entities is not null offset 0) u -- few: see change_guard
       where u.adoption_id = id order by u.change_id limit most) c
  ), taken as (
    update recoup.adopted_change c set entities = null from waiting w
     where c.adoption_id = id and c.change_id = w.change_id and c.entities is not null and w.before < most returning w.change_id, w.entities
  ), added as (
    insert into recoup.adopted_entity select distinct id, t.change_id, h from taken t, unnest(t.entities) h where h is not null
  )
  select count(*) into moved from taken t;
  perform recoup.pass_changes();
  return moved;
end $$;

-- What pass_changes has found out: one row.
create table recoup.change_pass (
  name      text primary key default 'changes' check (name = 'changes'),
  passed_to bigint not null default 0,       -- no transaction is open that has a change up to this one, but those in passed
  next_to   bigint not null default 0,       -- the last change that was drawn
  writers   text[] not null default '{}',    -- the transactions that were open then
  since     timestamptz not null default '-infinity',
  passed    text[] not null default '{}',    -- open transactions that are no longer waited for
  passed_at timestamptz not null default '-infinity' -- since when, the last of them
) with (fillfactor = 50);
insert into recoup.change_pass default values;

-- pass_changes advances indexed_to of every adoption, up to its first unindexed change, and
-- never past a change of a transaction that is open: that one could note the next thousand, and
-- the next, without an index. A transaction that writes adopted_change holds a lock on it from before
-- the id is drawn until the change is committed or gone. Writers must not pay for long because one of
-- them leaves a transaction open, so a few that last longer than five seconds are passed: what
-- they note from then on, they index themselves (change_guard). A transaction has the name of its
-- process, because numbers begin anew after a crash. A prepared one has no process any more, so it
-- counts until it is passed by its new name.
-- It does not wait for another call, which would do the same. Without anything to do it writes nothing.
create function recoup.pass_changes() returns void language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set jit = off as $$
declare
  p     recoup.change_pass;
  drawn bigint;
  open  text[];
  late  text[];
begin
  if not exists (select from recoup.change_pass c, recoup.adopted_change_change_id_seq s where c.passed_to < s.last_value)
      and not exists (select from recoup.change_pass c join recoup.adoption a on a.indexed_to + 20 < c.passed_to) then
    return;
  end if;
  select * into p from recoup.change_pass for update skip locked;
  if not found then
    return;
  end if;
  select s.last_value into drawn from recoup.adopted_change_change_id_seq s; -- before the locks are read
  select coalesce(array_agg(distinct concat(l.virtualtransaction, ' of ', l.pid)), '{}') into open from pg_locks l
    where l.locktype = 'relation' and l.database = (select d.oid from pg_database d where d.datname = current_database())
      and l.relation = 'recoup.adopted_change'::regclass and l.mode = 'RowExclusiveLock' and l.granted and l.pid is distinct from pg_backend_pid();
  p.passed := array(select t from unnest(p.passed) t where t = any (open));
  late := array(select t from unnest(open) t where (t = any (p.writers) or right(t, 4) = ' of ') and t <> all (p.passed));
  if late = '{}' or p.since < clock_timestamp() - interval '5 s' and cardinality(p.passed) + cardinality(late) <= 4 then
    if late <> '{}' then
      p.passed := p.passed || late;
      p.passed_at := clock_timestamp();
    end if;
    p.writers := array(select t from unnest(open) t where t <> all (p.passed));
    p.passed_to := case p.writers when '{}' then drawn else p.next_to end;
    p.next_to := drawn;
    p.since := clock_timestamp();
  end if;
  update recoup.change_pass c set passed_to = p.passed_to, next_to = p.next_to, writers = p.writers, since = p.since, passed = p.passed, passed_at = p.passed_at
    where c is distinct from p;
  update recoup.adoption a set indexed_to = n.indexed_to, passed_at = p.passed_at
    from (select o.adoption_id, least(p.passed_to, u.first - 1) as indexed_to
        from (select adoption_id, indexed_to from recoup.adoption for no key update skip locked) o
        left join (select c.adoption_id, min(c.change_id) as first from (select * from recoup.adopted_change where entities is not null offset 0) c -- few: see change_guard
          group by 1) u using (adoption_id)
       where o.indexed_to + 20 < least(p.passed_to, u.first - 1)) n
    where a.adoption_id = n.adoption_id;
end $$;

-- unread is the adopted tables that have a row of an entity which no node has looked at
-- yet, and since when, if it may block it. Nearly always there is no change at all. The
-- changes without an index are few (change_guard). Of the others it reads one of each adoption.
-- OFFSET 0 keeps the planner from reading all changes in the order of the primary key.
create function recoup.unread(entity text) returns table (table_name text, since timestamptz)
language plpgsql stable strict security definer rows 1
set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare wanted bigint := hashtextextended(nullif(entity, '') collate "C", 0);
begin
  return query select t.table_name, min(u.at) from (
      (select c.adoption_id, c.at from recoup.adopted_change c where c.entities is not null and wanted = any (c.entities) offset 0)
      union all
      select o.adoption_id, (select coalesce(max(c.at), now()) from recoup.adopted_change c where c.adoption_id = o.adoption_id and c.change_id = e.change_id)
        from recoup.adoption o cross join lateral (select i.change_id from recoup.adopted_entity i where i.hash = wanted and i.adoption_id = o.adoption_id limit 1) e
        where exists (select from recoup.adopted_entity i where i.hash = wanted)) u
    join recoup.adoption a on a.adoption_id = u.adoption_id and a.state <> 'RELEASING'
    join recoup.error_table t on t.table_name = a.table_name and t.blocks and not t.retired
    group by 1 order by 1;
end $$;

select recoup.withhold_statistics('recoup.source_detail');
-- +goose StatementEnd
