-- +goose Up
-- +goose StatementBegin
-- Replays (spec 002): dead letters sent back to work together, in ramp stages, and
-- what became of each.

create table recoup.replay (
  replay_id    uuid primary key,
  state        text collate "C" not null
               check (state in ('COLLECTING', 'RUNNING', 'PAUSED', 'CANCELLING', 'CANCELLED', 'DONE')),
  hub          text collate "C", -- whose pipelines all of its members are of
  selection    json,
  cursor       text, -- how far members have been added
  plan         jsonb,
  members      int not null default 0 check (members >= 0),
  phase        int not null default 0,
  phase_at     timestamptz,
  next_at      timestamptz, -- when it is next to be looked after
  created_at   timestamptz not null,
  created_by   text not null,
  reason       text not null,
  state_at     timestamptz not null,
  state_by     text not null,
  state_reason text,
  started_at   timestamptz,
  ended_at     timestamptz,
  constraint replay_ended check ((state in ('CANCELLED', 'DONE')) = (ended_at is not null))
) with (fillfactor = 50);
-- By the end of an id, which people type.
create index replay_id_end_idx on recoup.replay (substr(uuid_send(replay_id), 14));
create index replay_list_idx on recoup.replay (created_at, replay_id);
create index replay_state_idx on recoup.replay (state, created_at, replay_id);
create index replay_hub_idx on recoup.replay (hub, created_at, replay_id) where hub is not null;
create index replay_next_idx on recoup.replay (next_at) where next_at is not null;
create index replay_ended_idx on recoup.replay (ended_at, replay_id) where ended_at is not null;

-- guard_replay fixes the members once they are collected, and keeps a replay until
-- each of them has an outcome.
create function recoup.guard_replay() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
  if tg_relid <> 'recoup.replay'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  if tg_op = 'INSERT' then
    perform recoup.refuse(case when new.state <> 'COLLECTING' or new.members <> 0 then 'a replay begins without members' end);
    return new;
  end if;
  if tg_op = 'DELETE' then
    perform recoup.refuse(case when old.ended_at is null then 'replay ' || old.replay_id || ': it has not ended' end);
    return old;
  end if;
  perform recoup.refuse('replay ' || old.replay_id || ': ' || case
    when row(new.replay_id, new.created_at, new.created_by, new.reason, new.selection::text)
      is distinct from row(old.replay_id, old.created_at, old.created_by, old.reason, old.selection::text)
      then 'what it is and who began it is permanent'
    when old.ended_at is not null then 'it has ended'
    when old.state <> 'COLLECTING' and (new.state = 'COLLECTING' or new.members <> old.members or new.cursor is distinct from old.cursor)
      then 'its members are fixed'
    when old.state = 'CANCELLING' and new.state not in ('CANCELLING', 'CANCELLED') then 'it is cancelled'
    when new.state not in ('COLLECTING', old.state) and new.members
      <> (select coalesce(sum(n), 0) from recoup.replay_count c where c.replay_id = new.replay_id) then 'its members are not as many'
    when new.ended_at is not null and exists (select from recoup.replay_item i
      where i.replay_id = new.replay_id and i.state in ('PENDING', 'RELEASED')) then 'some of its items have no outcome' end);
  return new;
end $$;
create trigger guard before insert or update or delete on recoup.replay
  for each row execute function recoup.guard_replay();
create trigger forbidden_truncate before truncate on recoup.replay for each statement execute function recoup.forbid();

-- How many items of a replay are in which state, as deltas that the leader folds; a
-- reader adds up what is there.
create table recoup.replay_count (
  replay_id uuid not null,
  phase     int not null,
  state     text collate "C" not null,
  n         bigint not null
);
create index replay_count_idx on recoup.replay_count (replay_id);

-- How many items of all replays ended in which state, as such deltas.
create table recoup.replay_outcome (
  state text collate "C" not null,
  n     bigint not null
);

-- The members of a replay and what became of each. A dead letter is in one
-- replay at a time.
create table recoup.replay_item (
  replay_id   uuid not null,
  position    int not null check (position >= 0),
  error_id    uuid not null,
  work_id     uuid not null,
  round       int not null,
  stage       text not null,
  state       text collate "C" not null
              check (state in ('PENDING', 'RELEASED', 'SUCCEEDED', 'FAILED', 'REPEATED', 'CANCELLED', 'ARCHIVED')),
  phase       int not null default 0,
  released_at timestamptz,
  ended_at    timestamptz,
  worker      text,
  error_class text,
  detail      text,
  primary key (replay_id, position),
  constraint replay_item_ended check ((state in ('PENDING', 'RELEASED')) = (ended_at is null)),
  constraint replay_item_released check (case when state = 'PENDING' then released_at is null
    when state in ('CANCELLED', 'ARCHIVED') then true else released_at is not null end)
) with (fillfactor = 70);
create unique index replay_item_open_key on recoup.replay_item (error_id) where state in ('PENDING', 'RELEASED');
create index replay_item_state_idx on recoup.replay_item (replay_id, state, position);
create index replay_item_error_idx on recoup.replay_item (error_id, replay_id);

create function recoup.items_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.replay_item'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform from recoup.replay where replay_id = any (array(select distinct replay_id from added)) order by replay_id for share;
  perform recoup.refuse(min('item ' || a.error_id || ': ' || case
      when not exists (select from recoup.replay r where r.replay_id = a.replay_id and r.state = 'COLLECTING')
        then 'the members of the replay are fixed'
      when a.state <> 'PENDING' then 'it begins PENDING'
      when (select 1 from recoup.dead_letter d where d.error_id = a.error_id and d.work_id = a.work_id
        and d.round = a.round and d.closed_at is null limit 1) is null then 'only an open dead letter is replayed' end))
    from added a;
  insert into recoup.replay_count select replay_id, phase, state, count(*) from added group by 1, 2, 3;
  return null;
end $$;
create trigger guard_insert after insert on recoup.replay_item referencing new table as added
  for each statement execute function recoup.items_added();

-- items_changed gives each item one outcome, and counts. An outcome is final, so an
-- item that has one now has just got it.
create function recoup.items_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
  if tg_relid <> 'recoup.replay_item'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse(min('item ' || n.error_id || ': ' || case
      when o.replay_id is null or row(n.error_id, n.work_id, n.round, n.stage) is distinct from row(o.error_id, o.work_id, o.round, o.stage)
        then 'the members of a replay are fixed'
      when o.ended_at is not null then 'it has its outcome'
      when o.state = 'RELEASED' and (n.state = 'PENDING' or n.phase <> o.phase or n.released_at <> o.released_at)
        then 'it is released'
      when o.state = 'PENDING' and n.state not in ('PENDING', 'RELEASED', 'CANCELLED', 'ARCHIVED') then 'it is not released yet'
      when o.state = 'PENDING' and n.state = 'RELEASED' and not exists (select from recoup.replay r
        where r.replay_id = n.replay_id and r.state = 'RUNNING') then 'its replay is not running' end))
    from changed n left join was o using (replay_id, position);
  insert into recoup.replay_count
    select replay_id, phase, state, sum(d) from (
      select replay_id, phase, state, 1 as d from changed union all select replay_id, phase, state, -1 from was) m
     group by 1, 2, 3 having sum(d) <> 0;
  insert into recoup.replay_outcome select state, count(*) from changed where ended_at is not null group by 1;
  return null;
end $$;
create trigger guard_update after update on recoup.replay_item referencing old table as was new table as changed
  for each statement execute function recoup.items_changed();

create function recoup.items_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.replay_item'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('replay ' || min(g.replay_id::text) || ': it has not ended')
    from gone g where exists (select from recoup.replay r where r.replay_id = g.replay_id and r.ended_at is null);
  return null;
end $$;
create trigger guard_delete after delete on recoup.replay_item referencing old table as gone
  for each statement execute function recoup.items_deleted();
create trigger forbidden_truncate before truncate on recoup.replay_item for each statement execute function recoup.forbid();

-- purge_replays deletes a batch of items of replays that have ended, by the database's
-- clock, and the replays of which none is left.
create function recoup.purge_replays(as_of timestamptz, batch int) returns int
language plpgsql strict security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  n     int;
  empty uuid[];
begin
  as_of := least(as_of, recoup.clock() + recoup.tolerance());
  with old as (select i.replay_id, i.position from recoup.replay r join recoup.replay_item i using (replay_id)
    where r.ended_at <= as_of order by r.ended_at limit batch)
  delete from recoup.replay_item i using old where i.replay_id = old.replay_id and i.position = old.position;
  get diagnostics n = row_count;
  empty := array(select replay_id from recoup.replay r where r.ended_at <= as_of
    and not exists (select from recoup.replay_item i where i.replay_id = r.replay_id) order by ended_at limit batch);
  delete from recoup.replay where replay_id = any (empty);
  delete from recoup.replay_count where replay_id = any (empty);
  delete from recoup.dead_letter_note where replay_id = any (empty);
  return n;
end $$;
-- +goose StatementEnd
