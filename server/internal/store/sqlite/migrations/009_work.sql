-- +goose Up
-- +goose StatementBegin
-- Staged work (spec 002) from its submission or its release by a replay to its end:
-- the queue, payloads and checkpoints. A plus in a condition keeps the planner from an
-- index that finds a whole replay where one item is wanted.

-- The queue. A claim moves due_at to the lease's end, so that a lapsed lease is
-- simply due again. Work of a replay that does not run must not be in the way of
-- other work, so each replay has a stretch of the index of its own.
create table work (
  work_id       blob not null primary key check (length(work_id) = 16),
  pipeline      text not null check (pipeline <> ''),
  stage         text not null check (stage <> ''),
  entity_id     text,    -- what it is about, and its dead letter will block
  error_class   text,    -- of the dead letter that is replayed
  replay_id     blob,    -- null: it is new
  error_id      blob,
  payload_ref   text,
  payload_hash  text,
  created_at    integer not null,
  due_at        integer, -- null: nobody may claim it
  lease_token   blob check (length(lease_token) = 16),
  lease_worker  text,
  leased_at     integer,
  lease_ends_at integer,
  claims        integer not null default 0,
  lapses        integer not null default 0,
  failures      text check (failures is null or json_valid(failures)), -- failed attempts at its stages, which are retried
  check ((replay_id is null) = (error_id is null)),
  check ((lease_token is null) = (leased_at is null) and (lease_token is null) = (lease_ends_at is null)),
  check (lease_token is null or due_at is lease_ends_at)
) strict, without rowid;
create index work_due_idx on work (pipeline, stage, coalesce(replay_id, x'00'), due_at, work_id) where due_at is not null;
create index work_spent_idx on work (created_at, work_id) where due_at is null;

create trigger work_insert before insert on work begin
  select case
    when exists (select 1 from work where work_id = new.work_id)
      then raise(abort, 'this work is in the queue already')
    when new.replay_id is null and exists (select 1 from dead_letter where work_id = new.work_id and closed_at is null)
      then raise(abort, 'a dead letter goes back to work by a replay only')
    when new.replay_id is not null and not exists (select 1 from replay_item where error_id = new.error_id
        and +replay_id = new.replay_id and work_id = new.work_id and state = 'RELEASED')
      then raise(abort, 'no replay has released this work')
  end;
end;
create trigger work_update before update on work
when new.work_id is not old.work_id or new.pipeline is not old.pipeline or new.entity_id is not old.entity_id or new.error_class is not old.error_class
  or new.replay_id is not old.replay_id or new.error_id is not old.error_id or new.payload_ref is not old.payload_ref
  or new.payload_hash is not old.payload_hash or new.created_at is not old.created_at begin
  select raise(abort, 'what work is and when it came is permanent');
end;
create trigger work_delete before delete on work
when exists (select 1 from replay_item where error_id = old.error_id and +replay_id = old.replay_id and state = 'RELEASED') begin
  select raise(abort, 'a replay waits for the outcome of this work');
end;

-- What is not to be claimed. An empty name does not restrict.
create table work_pause (
  pipeline    text not null default '',
  stage       text not null default '',
  error_class text not null default '',
  paused_by   text not null,
  reason      text not null,
  paused_at   integer not null,
  until       integer,
  primary key (pipeline, stage, error_class)
) strict, without rowid;

-- What work is about, encrypted by whoever sent it. It is never changed, and ends with
-- its work.
create table work_payload (
  work_id blob not null primary key check (length(work_id) = 16),
  key_id  text not null,
  sealed  blob not null,
  at      integer not null
) strict;

create trigger work_payload_insert before insert on work_payload begin
  select case
    when exists (select 1 from work_payload where work_id = new.work_id) or exists (select 1 from work_payload where rowid = new.rowid)
      then raise(abort, 'a payload never changes')
    when not exists (select 1 from work where work_id = new.work_id)
      and not exists (select 1 from dead_letter where work_id = new.work_id and closed_at is null)
      then raise(abort, 'there is no such work')
  end;
end;
create trigger work_payload_inserted after insert on work_payload when new.rowid < 1 begin
  select raise(abort, 'a row number is positive');
end;
create trigger work_payload_update before update on work_payload begin
  select raise(abort, 'a payload never changes');
end;
create trigger work_payload_delete before delete on work_payload
when exists (select 1 from work where work_id = old.work_id)
  or exists (select 1 from dead_letter d join error e on e.error_id = d.error_id where d.work_id = old.work_id) begin
  select raise(abort, 'the work of this payload is not over');
end;

-- The outputs of finished stages, encrypted likewise.
create table checkpoint (
  work_id blob not null check (length(work_id) = 16),
  stage   text not null,
  key_id  text not null,
  sealed  blob not null,
  at      integer not null,
  primary key (work_id, stage)
) strict;
create index checkpoint_at_idx on checkpoint (at);
-- +goose StatementEnd
