-- +goose Up
-- +goose StatementBegin
-- Replays (spec 002): dead letters sent back to work together, in ramp stages, and
-- what became of each.

create table replay (
  replay_id    blob not null primary key check (length(replay_id) = 16),
  state        text not null
               check (state in ('COLLECTING', 'RUNNING', 'PAUSED', 'CANCELLING', 'CANCELLED', 'DONE')),
  hub          text, -- whose pipelines all of its members are of
  selection    text check (selection is null or json_valid(selection)),
  cursor       text, -- how far members have been added
  plan         text check (plan is null or json_valid(plan)),
  members      integer not null default 0 check (members >= 0),
  phase        integer not null default 0,
  phase_at     integer,
  next_at      integer, -- when it is next to be looked after
  created_at   integer not null,
  created_by   text not null,
  reason       text not null,
  state_at     integer not null,
  state_by     text not null,
  state_reason text,
  started_at   integer,
  ended_at     integer,
  check ((state in ('CANCELLED', 'DONE')) = (ended_at is not null))
) strict, without rowid;
-- By the end of an id, which people type.
create index replay_id_end_idx on replay (substr(replay_id, 14));
create index replay_list_idx on replay (created_at, replay_id);
create index replay_state_idx on replay (state, created_at, replay_id);
create index replay_hub_idx on replay (hub, created_at, replay_id) where hub is not null;
create index replay_next_idx on replay (next_at) where next_at is not null;
create index replay_ended_idx on replay (ended_at, replay_id) where ended_at is not null;

create trigger replay_insert before insert on replay begin
  select case
    when exists (select 1 from replay where replay_id = new.replay_id)
      then raise(abort, 'this replay exists already')
    when new.state is not 'COLLECTING' or new.members is not 0
      then raise(abort, 'a replay begins without members')
  end;
end;
create trigger replay_update before update on replay begin
  select case
    when new.replay_id is not old.replay_id or new.created_at is not old.created_at or new.created_by is not old.created_by
      or new.reason is not old.reason or new.selection is not old.selection
      then raise(abort, 'what a replay is and who began it is permanent')
    when old.ended_at is not null
      then raise(abort, 'this replay has ended')
    when old.state <> 'COLLECTING' and (new.state = 'COLLECTING' or new.members is not old.members or new.cursor is not old.cursor)
      then raise(abort, 'the members of this replay are fixed')
    when old.state = 'CANCELLING' and new.state not in ('CANCELLING', 'CANCELLED')
      then raise(abort, 'this replay is cancelled')
    when new.state not in ('COLLECTING', old.state) and new.members
      <> (select coalesce(sum(n), 0) from replay_count where replay_id = new.replay_id)
      then raise(abort, 'the members of this replay are not as many')
    when new.ended_at is not null and exists (select 1 from replay_item
        where replay_id = new.replay_id and state in ('PENDING', 'RELEASED'))
      then raise(abort, 'some items of this replay have no outcome')
  end;
end;
create trigger replay_delete before delete on replay
when (select old.ended_at <= replays_until from retention) is not true begin
  select raise(abort, 'the retention of this replay is not over');
end;

-- How many items of a replay are in which state. There is one writer, so the triggers
-- count in place.
create table replay_count (
  replay_id blob not null,
  phase     integer not null,
  state     text not null,
  n         integer not null,
  primary key (replay_id, phase, state)
) strict, without rowid;

-- How many items of all replays ended in which state.
create table replay_outcome (
  state text not null primary key,
  n     integer not null
) strict, without rowid;

-- The members of a replay and what became of each. A dead letter is in one
-- replay at a time.
create table replay_item (
  replay_id   blob not null,
  position    integer not null check (position >= 0),
  error_id    blob not null,
  work_id     blob not null,
  round       integer not null,
  stage       text not null,
  state       text not null
              check (state in ('PENDING', 'RELEASED', 'SUCCEEDED', 'FAILED', 'REPEATED', 'CANCELLED', 'ARCHIVED')),
  phase       integer not null default 0,
  released_at integer,
  ended_at    integer,
  worker      text,
  error_class text,
  detail      text,
  primary key (replay_id, position),
  check ((state in ('PENDING', 'RELEASED')) = (ended_at is null)),
  check (case when state = 'PENDING' then released_at is null
    when state in ('CANCELLED', 'ARCHIVED') then true else released_at is not null end)
) strict, without rowid;
create unique index replay_item_open_key on replay_item (error_id) where state in ('PENDING', 'RELEASED');
create index replay_item_state_idx on replay_item (replay_id, state, position);
create index replay_item_error_idx on replay_item (error_id, replay_id);

create trigger replay_item_insert before insert on replay_item begin
  select case
    when exists (select 1 from replay_item where replay_id = new.replay_id and position = new.position)
      or exists (select 1 from replay_item where error_id = new.error_id and state in ('PENDING', 'RELEASED'))
      then raise(abort, 'a dead letter is in one replay at a time, and at one position')
    when not exists (select 1 from replay where replay_id = new.replay_id and state = 'COLLECTING')
      then raise(abort, 'the members of this replay are fixed')
    when new.state is not 'PENDING'
      then raise(abort, 'an item begins PENDING')
    when not exists (select 1 from dead_letter where error_id = new.error_id and work_id = new.work_id
        and round = new.round and closed_at is null)
      then raise(abort, 'only an open dead letter is replayed')
  end;
end;
create trigger replay_item_inserted after insert on replay_item begin
  insert into replay_count values (new.replay_id, new.phase, new.state, 1)
    on conflict (replay_id, phase, state) do update set n = n + 1;
end;
create trigger replay_item_update before update on replay_item begin
  select case
    when new.replay_id is not old.replay_id or new.position is not old.position or new.error_id is not old.error_id
      or new.work_id is not old.work_id or new.round is not old.round or new.stage is not old.stage
      then raise(abort, 'the members of a replay are fixed')
    when old.ended_at is not null
      then raise(abort, 'this item has its outcome')
    when old.state = 'RELEASED' and (new.state = 'PENDING' or new.phase is not old.phase or new.released_at is not old.released_at)
      then raise(abort, 'this item is released')
    when old.state = 'PENDING' and new.state not in ('PENDING', 'RELEASED', 'CANCELLED', 'ARCHIVED')
      then raise(abort, 'this item is not released yet')
    when old.state = 'PENDING' and new.state = 'RELEASED' and not exists (select 1 from replay
        where replay_id = new.replay_id and state = 'RUNNING')
      then raise(abort, 'the replay of this item is not running')
  end;
end;
create trigger replay_item_updated after update on replay_item when new.state <> old.state or new.phase <> old.phase begin
  update replay_count set n = n - 1 where replay_id = old.replay_id and phase = old.phase and state = old.state;
  insert into replay_count values (new.replay_id, new.phase, new.state, 1)
    on conflict (replay_id, phase, state) do update set n = n + 1;
end;
-- An outcome is final, so what has one now has just got it.
create trigger replay_outcome_ended after update of state on replay_item when new.ended_at is not null and old.ended_at is null begin
  insert into replay_outcome values (new.state, 1) on conflict do update set n = n + 1;
end;
create trigger replay_item_delete before delete on replay_item
when (select r.ended_at <= t.replays_until from replay r, retention t where r.replay_id = old.replay_id) is not true begin
  select raise(abort, 'the retention of this replay is not over');
end;
-- +goose StatementEnd
