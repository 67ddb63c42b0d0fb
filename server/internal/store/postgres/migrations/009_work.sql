-- +goose Up
-- +goose StatementBegin
-- Staged work (spec 002) from its submission or its release by a replay to its end:
-- the queue, the leases of workers, payloads and checkpoints.

-- Work. It waits under due_at with a ticket in work_due, or a worker has it: new work
-- in a batch of work_lease, which leaves this row as it is, and what is on its own by
-- the lease in this row.
create table recoup.work (
  work_id       uuid primary key,
  pipeline      text collate "C" not null,
  stage         text collate "C" not null,
  entity_id     text,             -- what it is about, and its dead letter will block
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
  failures      json,             -- failed attempts at its stages, which are retried
  constraint work_replayed check ((replay_id is null) = (error_id is null)),
  constraint work_lease check (num_nulls(lease_token, leased_at, lease_ends_at) in (0, 3)
    and (lease_token is null or due_at = lease_ends_at))
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02);
create index work_held_idx on recoup.work (pipeline, stage, lease_ends_at, work_id) where lease_token is not null;
create index work_spent_idx on recoup.work (created_at, work_id) where due_at is null;

-- work_added lets a dead letter back to work only by the replay that released it.
create function recoup.work_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.work'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
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
create trigger guard_insert after insert on recoup.work referencing new table as added
  for each statement execute function recoup.work_added();

create function recoup.work_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off set enable_nestloop = off as $$
begin
  if tg_relid <> 'recoup.work'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('work ' || min(n.work_id::text) || ': what it is and when it came is permanent')
    from changed n left join was o using (work_id)
   where o.work_id is null or row(n.pipeline, n.entity_id, n.error_class, n.replay_id, n.error_id, n.payload_ref, n.payload_hash, n.created_at)
      is distinct from row(o.pipeline, o.entity_id, o.error_class, o.replay_id, o.error_id, o.payload_ref, o.payload_hash, o.created_at);
  return null;
end $$;
create trigger guard_update after update on recoup.work referencing old table as was new table as changed
  for each statement execute function recoup.work_changed();

create function recoup.work_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.work'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('work ' || old.work_id || ': its replay waits for its outcome')
    from recoup.replay_item i where i.error_id = old.error_id and i.state = 'RELEASED' and i.replay_id is not distinct from old.replay_id;
  return null;
end $$;
create trigger guard_delete after delete on recoup.work
  for each row when (old.replay_id is not null) execute function recoup.work_deleted();
create trigger forbidden_truncate before truncate on recoup.work for each statement execute function recoup.forbid();

-- The queue.

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

-- Which of the two tables is filled.
create table recoup.work_turn (
  one  boolean primary key default true check (one),
  turn smallint not null check (turn in (0, 1))
);
insert into recoup.work_turn (turn) values (0);

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
create trigger forbidden_truncate before truncate on recoup.work_lease for each statement execute function recoup.forbid();

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

-- Payloads and checkpoints, encrypted by whoever sent them.

-- What work is about. It is never changed, and ends with its work.
create table recoup.work_payload (
  work_id uuid primary key,
  key_id  text not null,
  sealed  bytea not null,
  at      timestamptz not null
);

create function recoup.payloads_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.work_payload'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('payload ' || min(a.work_id::text) || ': there is no such work')
    from added a where not exists (select from recoup.work w where w.work_id = a.work_id)
      and not exists (select from recoup.dead_letter d where d.work_id = a.work_id and d.closed_at is null);
  return null;
end $$;
create trigger guard_insert after insert on recoup.work_payload referencing new table as added
  for each statement execute function recoup.payloads_added();

create function recoup.payloads_deleted() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp
set jit = off set enable_hashjoin = off set enable_mergejoin = off set enable_material = off
set enable_seqscan = off set enable_bitmapscan = off as $$
begin
  if tg_relid <> 'recoup.work_payload'::regclass then
    perform recoup.refuse_table(tg_relid);
  end if;
  perform recoup.refuse('payload ' || min(g.work_id::text) || ': its work is not over')
    from gone g where exists (select from recoup.work w where w.work_id = g.work_id)
      or exists (select from recoup.dead_letter d join recoup.error e using (error_id) where d.work_id = g.work_id);
  return null;
end $$;
create trigger guard_delete after delete on recoup.work_payload referencing old table as gone
  for each statement execute function recoup.payloads_deleted();
create trigger forbidden before update on recoup.work_payload for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.work_payload for each statement execute function recoup.forbid();

-- The outputs of finished stages.
create table recoup.checkpoint (
  work_id uuid not null,
  stage   text collate "C" not null,
  key_id  text not null,
  sealed  bytea not null,
  at      timestamptz not null,
  primary key (work_id, stage)
);
create index checkpoint_at_idx on recoup.checkpoint (at);
-- +goose StatementEnd
