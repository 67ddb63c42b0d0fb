-- +goose Up
-- Staged work (spec 002): what waits for a worker, what failed for good and is
-- kept as a dead letter beside its error, and the replays that send it back.

-- Dead letters of the same pipeline, stage, class and normalised cause.
create table recoup.dead_letter_group (
  group_id      uuid primary key,
  pipeline      text collate "C" not null,
  stage         text collate "C" not null,
  error_class   text collate "C" not null,
  signature     text collate "C",
  owner         text,
  note          text,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null check (last_seen_at >= first_seen_at)
) with (fillfactor = 70);
create index dead_letter_group_seen_idx on recoup.dead_letter_group (last_seen_at, group_id);
create index dead_letter_group_pipeline_idx on recoup.dead_letter_group (pipeline, last_seen_at, group_id);

-- What an error carries of its work. Stage, class and signature are those of the
-- present round.
create table recoup.dead_letter (
  error_id         uuid primary key,
  work_id          uuid not null,
  pipeline         text collate "C" not null,
  stage            text collate "C" not null,
  error_class      text collate "C" not null,
  signature        text collate "C",
  group_id         uuid not null,
  step             text collate "C" not null
                   check (step in ('NEW', 'TRIAGED', 'REMEDIATED', 'VALIDATED', 'REPLAYING', 'REPLAYED', 'VERIFIED')),
  cause            text check (cause in ('TRANSIENT', 'DATA', 'AUTH_CONFIG', 'CODE_DEFECT')),
  round            int not null check (round > 0),
  first_failure_at timestamptz not null,
  last_failure_at  timestamptz not null check (last_failure_at >= first_failure_at),
  payload_ref      text,
  payload_hash     text,
  previous_id      uuid,        -- the closed dead letter of the same work before it
  held_expiry      timestamptz, -- when the error would expire, were it not part of a replay
  created_at       timestamptz not null,
  updated_at       timestamptz not null,
  closed_at        timestamptz, -- verified, or archived
  constraint dead_letter_verified check (step <> 'VERIFIED' or closed_at is not null),
  constraint dead_letter_triaged check (step = 'NEW' or cause is not null)
) with (fillfactor = 70);
-- One open dead letter for a piece of work, and the closed ones before it.
create unique index dead_letter_open_key on recoup.dead_letter (work_id) where closed_at is null;
create index dead_letter_work_idx on recoup.dead_letter (work_id, created_at);
create index dead_letter_list_idx on recoup.dead_letter (created_at, error_id) where closed_at is null;
create index dead_letter_pipeline_idx on recoup.dead_letter (pipeline, created_at, error_id) where closed_at is null;
create index dead_letter_stage_idx on recoup.dead_letter (stage, created_at, error_id) where closed_at is null;
create index dead_letter_class_idx on recoup.dead_letter (error_class, created_at, error_id) where closed_at is null;
create index dead_letter_group_idx on recoup.dead_letter (group_id, created_at, error_id) where closed_at is null;
create index dead_letter_step_idx on recoup.dead_letter (step, created_at, error_id);

-- Every failure for good, with what is known of it.
create table recoup.dead_letter_round (
  error_id         uuid not null,
  round            int not null check (round > 0),
  replay_id        uuid, -- the replay that ended so
  stage            text not null,
  error_class      text not null,
  signature        text,
  last_stack       text,
  context          json,
  first_failure_at timestamptz not null,
  last_failure_at  timestamptz not null,
  at               timestamptz not null,
  primary key (error_id, round)
);

-- Who did what about a dead letter, a replay or a group, and why.
create table recoup.dead_letter_note (
  seq       bigint generated always as identity primary key,
  error_id  uuid,
  replay_id uuid,
  group_id  uuid,
  round     int not null default 0,
  step      text not null,
  actor     text not null,
  at        timestamptz not null,
  note      text,
  link      text,
  fields    json,
  constraint dead_letter_note_subject check (num_nonnulls(error_id, replay_id, group_id) = 1)
);
create index dead_letter_note_error_idx on recoup.dead_letter_note (error_id, seq) where error_id is not null;
create index dead_letter_note_replay_idx on recoup.dead_letter_note (replay_id, seq) where replay_id is not null;
create index dead_letter_note_group_idx on recoup.dead_letter_note (group_id, seq) where group_id is not null;

-- What work is about, and the outputs of its finished stages, sealed by whoever
-- sent them.
create table recoup.work_payload (
  work_id uuid primary key,
  key_id  text not null,
  sealed  bytea not null,
  at      timestamptz not null
);
create table recoup.checkpoint (
  work_id uuid not null,
  stage   text collate "C" not null,
  key_id  text not null,
  sealed  bytea not null,
  at      timestamptz not null,
  primary key (work_id, stage)
);
create index checkpoint_at_idx on recoup.checkpoint (at);

-- Work from its submission or release to its end. It waits under due_at with a
-- ticket in work_due, or a worker has it: new work in a batch of work_lease, which
-- leaves this row as it is, and what is on its own by the lease in this row.
create table recoup.work (
  work_id       uuid primary key,
  pipeline      text collate "C" not null,
  stage         text collate "C" not null,
  error_class   text collate "C", -- of the dead letter that is replayed
  replay_id     uuid,             -- null: it is new
  error_id      uuid,
  payload_ref   text,
  payload_hash  text,
  created_at    timestamptz not null,
  due_at        timestamptz,      -- null: nobody may claim it
  lease_token   uuid,
  lease_worker  text,
  leased_at     timestamptz,
  lease_ends_at timestamptz,
  claims        int not null default 0,
  lapses        int not null default 0,
  constraint work_replayed check ((replay_id is null) = (error_id is null)),
  constraint work_lease check (num_nulls(lease_token, leased_at, lease_ends_at) in (0, 3)
    and (lease_token is null or due_at = lease_ends_at))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index work_held_idx on recoup.work (pipeline, stage, lease_ends_at, work_id) where lease_token is not null;
create index work_spent_idx on recoup.work (created_at, work_id) where due_at is null;

-- The queue: a ticket for each piece of work that waits, which a claim deletes.
-- Work of a replay that does not run must not be in the way of other work, so each
-- replay has a stretch of the index of its own, and new work that of zeros. Where
-- an old transaction keeps dead tickets from being vacuumed, claims would walk over
-- more and more of them: tickets go into two tables in turn, and that which is not
-- filled is truncated when it is empty. What is due later has a third.
create table recoup.work_due (
  turn      smallint not null,
  pipeline  text collate "C" not null,
  stage     text collate "C" not null,
  replay_id uuid not null,
  due_at    timestamptz not null,
  work_id   uuid not null
) partition by list (turn);
create table recoup.work_due_0 partition of recoup.work_due for values in (0) with (autovacuum_vacuum_scale_factor = 0.02);
create table recoup.work_due_1 partition of recoup.work_due for values in (1) with (autovacuum_vacuum_scale_factor = 0.02);
create table recoup.work_due_later partition of recoup.work_due for values in (2) with (autovacuum_vacuum_scale_factor = 0.02);
create index work_due_idx on recoup.work_due (pipeline, stage, replay_id, due_at, work_id);

-- Which of the two is filled.
create table recoup.work_turn (
  one  boolean primary key default true check (one),
  turn smallint not null check (turn in (0, 1))
);
insert into recoup.work_turn (turn) values (0);

-- New work that was claimed together and is still as it was then: one row for a
-- claim and a lane. What a worker extends or gives back on its own leaves it.
create table recoup.work_lease (
  token     uuid not null,
  pipeline  text collate "C" not null,
  stage     text collate "C" not null,
  worker    text,
  leased_at timestamptz not null,
  ends_at   timestamptz not null,
  work_ids  uuid[] not null check (cardinality(work_ids) > 0),
  primary key (token, pipeline, stage)
) with (autovacuum_vacuum_scale_factor = 0.02);
alter table recoup.work_lease alter work_ids set storage external; -- ids do not compress
create index work_lease_idx on recoup.work_lease (pipeline, stage, ends_at);

-- What is not to be claimed. An empty name does not restrict.
create table recoup.work_pause (
  pipeline    text collate "C" not null default '',
  stage       text collate "C" not null default '',
  error_class text collate "C" not null default '',
  paused_by   text not null,
  reason      text not null,
  paused_at   timestamptz not null,
  until       timestamptz,
  primary key (pipeline, stage, error_class)
);

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
create index replay_list_idx on recoup.replay (created_at, replay_id);
create index replay_state_idx on recoup.replay (state, created_at, replay_id);
create index replay_hub_idx on recoup.replay (hub, created_at, replay_id) where hub is not null;
create index replay_next_idx on recoup.replay (next_at) where next_at is not null;
create index replay_ended_idx on recoup.replay (ended_at, replay_id) where ended_at is not null;

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

-- How many items of a replay are in which state, and how many dead letters a
-- group has and has gained on which day, as deltas that the leader folds; a
-- reader adds up what is there.
create table recoup.replay_count (
  replay_id uuid not null,
  phase     int not null,
  state     text collate "C" not null,
  n         bigint not null
);
create index replay_count_idx on recoup.replay_count (replay_id);
create table recoup.dead_letter_count (
  group_id uuid not null,
  day      date not null,
  arrived  bigint not null,
  open     bigint not null
);
create index dead_letter_count_idx on recoup.dead_letter_count (group_id, day);

-- The guards look at whole statements and run as the schema's owner, as those of
-- errors do. Their settings keep plans good that are made for one row and reused
-- for thousands. Of a partial index the planner believes, until it has been
-- analysed, that it holds next to nothing, and would read it whole for every
-- row: hence the settings, the limits of one, and "is not distinct from" where
-- an index would find a whole replay instead of one item.
-- +goose StatementBegin
create or replace function recoup.refuse(what text) returns void language plpgsql as $$
begin
  if what is not null then
    raise exception using errcode = 'RC001', message = what;
  end if;
end $$;

create function recoup.dead_letters_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse(min('dead letter ' || a.error_id || ': ' || case
      when not exists (select from recoup.error e join recoup.error_table t using (table_name)
        where e.error_id = a.error_id and t.dead_letter) then 'it stands beside an error of a table of dead letters'
      when a.step <> 'NEW' or a.round <> 1 or a.closed_at is not null then 'it begins new'
      when a.previous_id is not null and not exists (select from recoup.dead_letter p
        where p.error_id = a.previous_id and p.work_id = a.work_id and p.closed_at is not null)
        then 'the one before it is a closed one of the same work'
      when not exists (select from recoup.dead_letter_group g where g.group_id = a.group_id and g.pipeline = a.pipeline
        and g.stage = a.stage and g.error_class = a.error_class and g.signature is not distinct from a.signature)
        then 'it belongs to the group of its kind' end))
    from added a;
  insert into recoup.dead_letter_count
    select group_id, (updated_at at time zone 'UTC')::date, count(*), count(*) from added group by 1, 2;
  return null;
end $$;

create function recoup.dead_letters_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
declare
  steps constant text[] := '{NEW,TRIAGED,REMEDIATED,VALIDATED,REPLAYING,REPLAYED,VERIFIED}';
begin
  perform recoup.refuse(min('dead letter ' || n.error_id || ': ' || case
      when o.error_id is null
        or row(n.work_id, n.pipeline, n.payload_ref, n.payload_hash, n.previous_id, n.created_at)
          is distinct from row(o.work_id, o.pipeline, o.payload_ref, o.payload_hash, o.previous_id, o.created_at)
        then 'what it is and when it was made is permanent'
      when o.closed_at is not null then 'it is closed'
      when n.round not in (o.round, o.round + 1) then 'rounds come one by one'
      when n.round > o.round and n.step <> 'NEW' then 'a round begins new'
      when n.round = o.round and row(n.stage, n.error_class, n.signature) is distinct from row(o.stage, o.error_class, o.signature)
        then 'only a new round fails otherwise'
      when n.round = o.round and array_position(steps, n.step) > array_position(steps, o.step) + 1 then 'no step is skipped'
      when (n.step = 'REPLAYING') <> ((select 1 from recoup.replay_item i where i.error_id = n.error_id
        and i.state in ('PENDING', 'RELEASED') limit 1) is not null) and n.closed_at is null
        then 'it is REPLAYING exactly while it is part of a replay'
      when n.closed_at is not null and exists (select from recoup.error e where e.error_id = n.error_id and e.state <> 'RESOLVED')
        then 'what is closed is resolved or archived'
      when n.group_id is distinct from o.group_id and not exists (select from recoup.dead_letter_group g
        where g.group_id = n.group_id and g.pipeline = n.pipeline
        and g.stage = n.stage and g.error_class = n.error_class and g.signature is not distinct from n.signature)
        then 'it belongs to the group of its kind' end))
    from changed n left join was o using (error_id);
  insert into recoup.dead_letter_count
    select group_id, day, sum(arrived), sum(open) from (
      select n.group_id, (n.updated_at at time zone 'UTC')::date as day, (n.round > o.round)::int as arrived,
        (n.closed_at is null)::int as open from changed n join was o using (error_id)
      union all
      select o.group_id, (n.updated_at at time zone 'UTC')::date, 0, -(o.closed_at is null)::int
        from changed n join was o using (error_id)) m
     group by 1, 2 having sum(arrived) <> 0 or sum(open) <> 0;
  return null;
end $$;

-- dead_letters_archived ends what hangs on errors that leave for the archive.
create function recoup.dead_letters_archived() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  ids   uuid[];
  works uuid[];
  at    timestamptz;
begin
  select array_agg(error_id) into ids from gone
   where table_name = any (array(select t.table_name from recoup.error_table t where t.dead_letter));
  if ids is null then
    return null;
  end if;
  perform recoup.refuse('error ' || min(i.error_id::text) || ': it does not expire during a replay')
    from recoup.replay_item i join recoup.error_archive a using (error_id)
   where i.error_id = any (ids) and i.state in ('PENDING', 'RELEASED') and a.archive_reason = 'TTL_EXPIRED';
  select max(archived_at) into at from recoup.error_archive where error_id = any (ids);
  update recoup.replay_item set state = 'ARCHIVED', ended_at = at
   where error_id = any (ids) and state in ('PENDING', 'RELEASED');
  works := array(select work_id from recoup.dead_letter where error_id = any (ids));
  with gone as (delete from recoup.work where work_id = any (works) and error_id = any (ids)
    returning pipeline, stage, replay_id, due_at, work_id)
  delete from recoup.work_due d using gone g where (d.pipeline, d.stage, d.replay_id, d.due_at, d.work_id)
    = (g.pipeline, g.stage, g.replay_id, g.due_at, g.work_id);
  update recoup.dead_letter set closed_at = at, updated_at = at where error_id = any (ids) and closed_at is null;
  works := array(select w from unnest(works) w
    where not exists (select from recoup.dead_letter d where d.work_id = w and d.closed_at is null)
      and not exists (select from recoup.work q where q.work_id = w));
  delete from recoup.work_payload where work_id = any (works);
  delete from recoup.checkpoint where work_id = any (works);
  return null;
end $$;

-- dead_letters_purged lets go of what hangs on archived errors that are purged.
create function recoup.dead_letters_purged() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
declare
  ids uuid[];
begin
  select array_agg(error_id) into ids from gone
   where table_name = any (array(select t.table_name from recoup.error_table t where t.dead_letter));
  if ids is not null then
    delete from recoup.dead_letter where error_id = any (ids);
    delete from recoup.dead_letter_round where error_id = any (ids);
    delete from recoup.dead_letter_note where error_id = any (ids);
  end if;
  return null;
end $$;

-- letters_deleted keeps a dead letter and its rounds as long as its error or its
-- archive row is there.
create function recoup.letters_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('dead letter ' || min(g.error_id::text) || ': it is kept as long as its error')
    from gone g where exists (select from recoup.error e where e.error_id = g.error_id)
      or exists (select from recoup.error_archive a where a.error_id = g.error_id);
  return null;
end $$;

create function recoup.notes_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('note ' || min(g.seq) || ': it is kept as long as what it is about')
    from gone g where exists (select from recoup.dead_letter d where d.error_id = g.error_id)
      or exists (select from recoup.replay r where r.replay_id = g.replay_id)
      or exists (select from recoup.dead_letter_group r where r.group_id = g.group_id);
  return null;
end $$;

create function recoup.notes_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('note ' || min(a.seq) || ': it is about nothing that exists')
    from added a where not (exists (select from recoup.dead_letter d where d.error_id = a.error_id)
      or exists (select from recoup.replay r where r.replay_id = a.replay_id)
      or exists (select from recoup.dead_letter_group r where r.group_id = a.group_id));
  return null;
end $$;

create function recoup.rounds_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('dead letter ' || min(a.error_id::text) || ': this is not its round')
    from added a where not exists (select from recoup.dead_letter d
      where d.error_id = a.error_id and d.round >= a.round and d.closed_at is null);
  return null;
end $$;

create function recoup.payloads_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('payload ' || min(a.work_id::text) || ': there is no such work')
    from added a where not exists (select from recoup.work w where w.work_id = a.work_id)
      and not exists (select from recoup.dead_letter d where d.work_id = a.work_id and d.closed_at is null);
  return null;
end $$;

create function recoup.payloads_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('payload ' || min(g.work_id::text) || ': its work is not over')
    from gone g where exists (select from recoup.work w where w.work_id = g.work_id)
      or exists (select from recoup.dead_letter d join recoup.error e using (error_id) where d.work_id = g.work_id);
  return null;
end $$;

create function recoup.guard_group() returns trigger language plpgsql set search_path = pg_catalog, pg_temp as $$
begin
  perform recoup.refuse('group ' || old.group_id || ': ' || case
    when row(new.group_id, new.pipeline, new.stage, new.error_class, new.signature, new.first_seen_at)
      is distinct from row(old.group_id, old.pipeline, old.stage, old.error_class, old.signature, old.first_seen_at)
      then 'what it is and since when is permanent'
    when new.last_seen_at < old.last_seen_at then 'time does not run backwards' end);
  return new;
end $$;

create function recoup.work_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse(min('work ' || a.work_id || ': ' || case
      when a.replay_id is null
        and (select 1 from recoup.dead_letter d where d.work_id = a.work_id and d.closed_at is null limit 1) is not null
        then 'a dead letter goes back to work by a replay only'
      when a.replay_id is not null and (select 1 from recoup.replay_item i where i.error_id = a.error_id
        and i.state = 'RELEASED' and (i.replay_id, i.work_id) is not distinct from (a.replay_id, a.work_id) limit 1) is null
        then 'no replay has released it' end))
    from added a;
  return null;
end $$;

create function recoup.work_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
  perform recoup.refuse('work ' || min(n.work_id::text) || ': what it is and when it came is permanent')
    from changed n left join was o using (work_id)
   where o.work_id is null or row(n.pipeline, n.error_class, n.replay_id, n.error_id, n.payload_ref, n.payload_hash, n.created_at)
      is distinct from row(o.pipeline, o.error_class, o.replay_id, o.error_id, o.payload_ref, o.payload_hash, o.created_at);
  return null;
end $$;

create function recoup.work_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('work ' || old.work_id || ': its replay waits for its outcome')
    from recoup.replay_item i where i.error_id = old.error_id and i.state = 'RELEASED' and i.replay_id is not distinct from old.replay_id;
  return null;
end $$;

-- turn_work lets tickets go into the other table, once that is empty. What is left
-- there of no more than a thousand tickets is carried over. Whoever reads it holds
-- this up for a moment at most; then it is tried again some other time.
create function recoup.turn_work() returns boolean language plpgsql
security definer set search_path = pg_catalog, pg_temp set lock_timeout = '50ms'
set enable_indexscan = off set enable_bitmapscan = off as $$
declare
  filled smallint;
  other  regclass;
begin
  select turn into filled from recoup.work_turn for update skip locked;
  if not found then
    return false;
  end if;
  other := case filled when 0 then 'recoup.work_due_1' else 'recoup.work_due_0' end;
  if pg_relation_size(other) > 0 then
    if (select count(*) from (select from recoup.work_due where turn = 1 - filled limit 1001) t) > 1000 then
      return false;
    end if;
    execute format('lock table %s in access exclusive mode', other);
    insert into recoup.work_due
      select case when due_at > (select recoup.clock()) + interval '1 minute' then 2 else filled end, pipeline, stage, replay_id, due_at, work_id
      from recoup.work_due where turn = 1 - filled;
    execute format('truncate %s', other);
  end if;
  update recoup.work_turn set turn = 1 - filled;
  return true;
exception when lock_not_available then
  return false;
end $$;

create function recoup.guard_replay() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
begin
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

create function recoup.items_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
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

create function recoup.items_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
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
  return null;
end $$;

create function recoup.items_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  perform recoup.refuse('replay ' || min(g.replay_id::text) || ': it has not ended')
    from gone g where exists (select from recoup.replay r where r.replay_id = g.replay_id and r.ended_at is null);
  return null;
end $$;

-- purge_replays deletes a batch of items of replays that have ended, and the
-- replays of which none is left.
create function recoup.purge_replays(as_of timestamptz, batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off as $$
declare
  n     int;
  empty uuid[];
begin
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

create trigger dead_letters after delete on recoup.error referencing old table as gone
  for each statement execute function recoup.dead_letters_archived();
create trigger dead_letters after delete on recoup.error_archive referencing old table as gone
  for each statement execute function recoup.dead_letters_purged();

create trigger guard_insert after insert on recoup.dead_letter referencing new table as added
  for each statement execute function recoup.dead_letters_added();
create trigger guard_update after update on recoup.dead_letter referencing old table as was new table as changed
  for each statement execute function recoup.dead_letters_changed();
create trigger guard_delete after delete on recoup.dead_letter referencing old table as gone
  for each statement execute function recoup.letters_deleted();
create trigger guard_insert after insert on recoup.dead_letter_round referencing new table as added
  for each statement execute function recoup.rounds_added();
create trigger guard_delete after delete on recoup.dead_letter_round referencing old table as gone
  for each statement execute function recoup.letters_deleted();
create trigger guard_insert after insert on recoup.dead_letter_note referencing new table as added
  for each statement execute function recoup.notes_added();
create trigger guard_delete after delete on recoup.dead_letter_note referencing old table as gone
  for each statement execute function recoup.notes_deleted();
create trigger guard_insert after insert on recoup.work_payload referencing new table as added
  for each statement execute function recoup.payloads_added();
create trigger guard_delete after delete on recoup.work_payload referencing old table as gone
  for each statement execute function recoup.payloads_deleted();
create trigger guard before update on recoup.dead_letter_group
  for each row execute function recoup.guard_group();
create trigger guard_insert after insert on recoup.work referencing new table as added
  for each statement execute function recoup.work_added();
create trigger guard_update after update on recoup.work referencing old table as was new table as changed
  for each statement execute function recoup.work_changed();
create trigger guard_delete after delete on recoup.work
  for each row when (old.replay_id is not null) execute function recoup.work_deleted();
create trigger guard before insert or update or delete on recoup.replay
  for each row execute function recoup.guard_replay();
create trigger guard_insert after insert on recoup.replay_item referencing new table as added
  for each statement execute function recoup.items_added();
create trigger guard_update after update on recoup.replay_item referencing old table as was new table as changed
  for each statement execute function recoup.items_changed();
create trigger guard_delete after delete on recoup.replay_item referencing old table as gone
  for each statement execute function recoup.items_deleted();

create trigger forbidden before update on recoup.dead_letter_round for each statement execute function recoup.forbid();
create trigger forbidden before update on recoup.dead_letter_note for each statement execute function recoup.forbid();
create trigger forbidden before update on recoup.work_payload for each statement execute function recoup.forbid();
create trigger forbidden before delete on recoup.dead_letter_group for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_round for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_note for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.dead_letter_group for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.work_payload for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.work for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.work_lease for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.replay for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.replay_item for each statement execute function recoup.forbid();
