-- +goose Up
-- Staged work (spec 002): what waits for a worker, what failed for good and is
-- kept as a dead letter beside its error, and the replays that send it back.
-- Times are microseconds since 1970, days are counted from there.

-- Dead letters of the same pipeline, stage, class and normalised cause.
create table dead_letter_group (
  group_id      blob not null primary key check (length(group_id) = 16),
  pipeline      text not null check (pipeline <> ''),
  stage         text not null check (stage <> ''),
  error_class   text not null check (error_class <> ''),
  signature     text,
  owner         text,
  note          text,
  first_seen_at integer not null,
  last_seen_at  integer not null,
  check (last_seen_at >= first_seen_at)
) strict, without rowid;
create index dead_letter_group_seen_idx on dead_letter_group (last_seen_at, group_id);
create index dead_letter_group_pipeline_idx on dead_letter_group (pipeline, last_seen_at, group_id);

-- The steps of the workflow in their order.
create view dead_letter_step as select column1 as step, column2 as rank from (values
  ('NEW', 1), ('TRIAGED', 2), ('REMEDIATED', 3), ('VALIDATED', 4), ('REPLAYING', 5), ('REPLAYED', 6), ('VERIFIED', 7));

-- What an error carries of its work. Stage, class and signature are those of the
-- present round.
create table dead_letter (
  error_id         blob not null primary key check (length(error_id) = 16),
  work_id          blob not null check (length(work_id) = 16),
  pipeline         text not null,
  stage            text not null,
  error_class      text not null,
  signature        text,
  group_id         blob not null,
  step             text not null
                   check (step in ('NEW', 'TRIAGED', 'REMEDIATED', 'VALIDATED', 'REPLAYING', 'REPLAYED', 'VERIFIED')),
  cause            text check (cause in ('TRANSIENT', 'DATA', 'AUTH_CONFIG', 'CODE_DEFECT')),
  round            integer not null check (round > 0),
  first_failure_at integer not null,
  last_failure_at  integer not null,
  payload_ref      text,
  payload_hash     text,
  previous_id      blob,    -- the closed dead letter of the same work before it
  held_expiry      integer, -- when the error would expire, were it not part of a replay
  created_at       integer not null,
  updated_at       integer not null,
  closed_at        integer, -- verified, or archived
  check (last_failure_at >= first_failure_at),
  check (step <> 'VERIFIED' or closed_at is not null),
  check (step = 'NEW' or cause is not null)
) strict, without rowid;
-- One open dead letter for a piece of work, and the closed ones before it.
create unique index dead_letter_open_key on dead_letter (work_id) where closed_at is null;
create index dead_letter_work_idx on dead_letter (work_id, created_at);
create index dead_letter_list_idx on dead_letter (created_at, error_id) where closed_at is null;
create index dead_letter_pipeline_idx on dead_letter (pipeline, created_at, error_id) where closed_at is null;
create index dead_letter_stage_idx on dead_letter (stage, created_at, error_id) where closed_at is null;
create index dead_letter_class_idx on dead_letter (error_class, created_at, error_id) where closed_at is null;
create index dead_letter_group_idx on dead_letter (group_id, created_at, error_id) where closed_at is null;
create index dead_letter_step_idx on dead_letter (step, created_at, error_id);

-- Every failure for good, with what is known of it.
create table dead_letter_round (
  error_id         blob not null,
  round            integer not null check (round > 0),
  replay_id        blob check (length(replay_id) = 16), -- the replay that ended so
  stage            text not null,
  error_class      text not null,
  signature        text,
  last_stack       text,
  context          text check (context is null or json_valid(context)),
  first_failure_at integer not null,
  last_failure_at  integer not null,
  at               integer not null,
  primary key (error_id, round)
) strict, without rowid;

-- Who did what about a dead letter, a replay or a group, and why.
create table dead_letter_note (
  seq       integer primary key check (seq > 0),
  error_id  blob,
  replay_id blob,
  group_id  blob,
  round     integer not null default 0,
  step      text not null,
  actor     text not null,
  at        integer not null,
  note      text,
  link      text,
  fields    text check (fields is null or json_valid(fields)),
  check ((error_id is not null) + (replay_id is not null) + (group_id is not null) = 1)
) strict;
create index dead_letter_note_error_idx on dead_letter_note (error_id, seq) where error_id is not null;
create index dead_letter_note_replay_idx on dead_letter_note (replay_id, seq) where replay_id is not null;
create index dead_letter_note_group_idx on dead_letter_note (group_id, seq) where group_id is not null;

-- What work is about, and the outputs of its finished stages, sealed by whoever
-- sent them.
create table work_payload (
  work_id blob not null primary key check (length(work_id) = 16),
  key_id  text not null,
  sealed  blob not null,
  at      integer not null
) strict;
create table checkpoint (
  work_id blob not null check (length(work_id) = 16),
  stage   text not null,
  key_id  text not null,
  sealed  blob not null,
  at      integer not null,
  primary key (work_id, stage)
) strict;
create index checkpoint_at_idx on checkpoint (at);

-- The queue. A claim moves due_at to the lease's end, so that a lapsed lease is
-- simply due again. Work of a replay that does not run must not be in the way of
-- other work, so each replay has a stretch of the index of its own.
create table work (
  work_id       blob not null primary key check (length(work_id) = 16),
  pipeline      text not null check (pipeline <> ''),
  stage         text not null check (stage <> ''),
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
  check ((replay_id is null) = (error_id is null)),
  check ((lease_token is null) = (leased_at is null) and (lease_token is null) = (lease_ends_at is null)),
  check (lease_token is null or due_at is lease_ends_at)
) strict, without rowid;
create index work_due_idx on work (pipeline, stage, coalesce(replay_id, x'00'), due_at, work_id) where due_at is not null;
create index work_spent_idx on work (created_at, work_id) where due_at is null;

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
create index replay_list_idx on replay (created_at, replay_id);
create index replay_state_idx on replay (state, created_at, replay_id);
create index replay_hub_idx on replay (hub, created_at, replay_id) where hub is not null;
create index replay_next_idx on replay (next_at) where next_at is not null;
create index replay_ended_idx on replay (ended_at, replay_id) where ended_at is not null;

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

-- How many items of a replay are in which state, and how many dead letters a
-- group has and has gained on which day. There is one writer, so the triggers
-- count in place.
create table replay_count (
  replay_id blob not null,
  phase     integer not null,
  state     text not null,
  n         integer not null,
  primary key (replay_id, phase, state)
) strict, without rowid;
create table dead_letter_count (
  group_id blob not null,
  day      integer not null,
  arrived  integer not null,
  open     integer not null,
  primary key (group_id, day)
) strict, without rowid;

-- How far back the running purge may delete replays.
alter table retention add column replays_until integer;

-- The guards. Every guarded table refuses an insert, before it happens, that
-- meets a row: a connection of somebody else would let REPLACE delete it without
-- a word. A plus keeps the planner from an index that finds a whole replay where
-- one item is wanted.

-- Groups.
-- +goose StatementBegin
create trigger dead_letter_group_insert before insert on dead_letter_group
when exists (select 1 from dead_letter_group where group_id = new.group_id) begin
  select raise(abort, 'this group exists already');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_group_update before update on dead_letter_group begin
  select case
    when new.group_id is not old.group_id or new.pipeline is not old.pipeline or new.stage is not old.stage
      or new.error_class is not old.error_class or new.signature is not old.signature or new.first_seen_at is not old.first_seen_at
      then raise(abort, 'what a group is and since when is permanent')
    when new.last_seen_at < old.last_seen_at
      then raise(abort, 'time does not run backwards')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_group_delete before delete on dead_letter_group begin
  select raise(abort, 'a group is kept for good');
end;
-- +goose StatementEnd

-- Dead letters.
-- +goose StatementBegin
create trigger dead_letter_insert before insert on dead_letter begin
  select case
    when exists (select 1 from dead_letter where error_id = new.error_id)
      then raise(abort, 'this dead letter exists already')
    when exists (select 1 from dead_letter where work_id = new.work_id and closed_at is null)
      then raise(abort, 'this work has an open dead letter')
    when not exists (select 1 from error e join error_table t on t.table_name = e.table_name
        where e.error_id = new.error_id and t.dead_letter)
      then raise(abort, 'a dead letter stands beside an error of a table of dead letters')
    when new.step is not 'NEW' or new.round is not 1 or new.closed_at is not null
      then raise(abort, 'a dead letter begins new')
    when new.previous_id is not null and not exists (select 1 from dead_letter
        where error_id = new.previous_id and work_id = new.work_id and closed_at is not null)
      then raise(abort, 'the one before a dead letter is a closed one of the same work')
    when not exists (select 1 from dead_letter_group where group_id = new.group_id and pipeline = new.pipeline
        and stage = new.stage and error_class = new.error_class and signature is new.signature)
      then raise(abort, 'a dead letter belongs to the group of its kind')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_inserted after insert on dead_letter begin
  insert into dead_letter_count values (new.group_id, new.updated_at / 86400000000, 1, 1)
    on conflict (group_id, day) do update set arrived = arrived + 1, open = open + 1;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_update before update on dead_letter begin
  select case
    when new.error_id is not old.error_id or new.work_id is not old.work_id or new.pipeline is not old.pipeline
      or new.payload_ref is not old.payload_ref or new.payload_hash is not old.payload_hash
      or new.previous_id is not old.previous_id or new.created_at is not old.created_at
      then raise(abort, 'what a dead letter is and when it was made is permanent')
    when old.closed_at is not null
      then raise(abort, 'this dead letter is closed')
    when new.round is not old.round and new.round is not old.round + 1
      then raise(abort, 'rounds come one by one')
    when new.round is not old.round and new.step is not 'NEW'
      then raise(abort, 'a round begins new')
    when new.round is old.round and (new.stage is not old.stage or new.error_class is not old.error_class
      or new.signature is not old.signature)
      then raise(abort, 'only a new round fails otherwise')
    when new.round is old.round and (select rank from dead_letter_step where step = new.step)
      > 1 + (select rank from dead_letter_step where step = old.step)
      then raise(abort, 'no step is skipped')
    when new.closed_at is null and (new.step = 'REPLAYING') <> exists (select 1 from replay_item
        where error_id = new.error_id and state in ('PENDING', 'RELEASED'))
      then raise(abort, 'a dead letter is REPLAYING exactly while it is part of a replay')
    when new.closed_at is not null and exists (select 1 from error where error_id = new.error_id and state <> 'RESOLVED')
      then raise(abort, 'what is closed is resolved or archived')
    when new.group_id is not old.group_id and not exists (select 1 from dead_letter_group
        where group_id = new.group_id and pipeline = new.pipeline
        and stage = new.stage and error_class = new.error_class and signature is new.signature)
      then raise(abort, 'a dead letter belongs to the group of its kind')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_updated after update on dead_letter
when new.round <> old.round or new.group_id <> old.group_id or (new.closed_at is null) <> (old.closed_at is null) begin
  insert into dead_letter_count values (old.group_id, new.updated_at / 86400000000, 0, -(old.closed_at is null))
    on conflict (group_id, day) do update set open = open + excluded.open;
  insert into dead_letter_count values (new.group_id, new.updated_at / 86400000000, new.round - old.round, new.closed_at is null)
    on conflict (group_id, day) do update set arrived = arrived + excluded.arrived, open = open + excluded.open;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_delete before delete on dead_letter
when exists (select 1 from error where error_id = old.error_id)
  or exists (select 1 from error_archive where error_id = old.error_id) begin
  select raise(abort, 'a dead letter is kept as long as its error');
end;
-- +goose StatementEnd

-- What hangs on an error that leaves for the archive ends with it.
-- +goose StatementBegin
create trigger error_dead_letter after delete on error
when (select dead_letter from error_table where table_name = old.table_name) begin
  select raise(abort, 'a dead letter does not expire during a replay')
    where (select archive_reason from error_archive where error_id = old.error_id) = 'TTL_EXPIRED'
      and exists (select 1 from replay_item where error_id = old.error_id and state in ('PENDING', 'RELEASED'));
  update replay_item set state = 'ARCHIVED', ended_at = (select archived_at from error_archive where error_id = old.error_id)
    where error_id = old.error_id and state in ('PENDING', 'RELEASED');
  delete from work where work_id = (select work_id from dead_letter where error_id = old.error_id) and error_id = old.error_id;
  update dead_letter set closed_at = (select archived_at from error_archive where error_id = old.error_id),
      updated_at = (select archived_at from error_archive where error_id = old.error_id)
    where error_id = old.error_id and closed_at is null;
  delete from work_payload where work_id = (select work_id from dead_letter where error_id = old.error_id)
    and not exists (select 1 from dead_letter d where d.work_id = work_payload.work_id and d.closed_at is null)
    and not exists (select 1 from work w where w.work_id = work_payload.work_id);
  delete from checkpoint where work_id = (select work_id from dead_letter where error_id = old.error_id)
    and not exists (select 1 from dead_letter d where d.work_id = checkpoint.work_id and d.closed_at is null)
    and not exists (select 1 from work w where w.work_id = checkpoint.work_id);
end;
-- +goose StatementEnd
-- And goes for good when the archived error does.
-- +goose StatementBegin
create trigger error_archive_dead_letter after delete on error_archive
when (select dead_letter from error_table where table_name = old.table_name) begin
  delete from dead_letter where error_id = old.error_id;
  delete from dead_letter_round where error_id = old.error_id;
  delete from dead_letter_note where error_id = old.error_id;
end;
-- +goose StatementEnd

-- Rounds and notes.
-- +goose StatementBegin
create trigger dead_letter_round_insert before insert on dead_letter_round begin
  select case
    when exists (select 1 from dead_letter_round where error_id = new.error_id and round = new.round)
      then raise(abort, 'rounds are never rewritten')
    when not exists (select 1 from dead_letter where error_id = new.error_id and round >= new.round and closed_at is null)
      then raise(abort, 'this is no round of an open dead letter')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_round_update before update on dead_letter_round begin
  select raise(abort, 'rounds are never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_round_delete before delete on dead_letter_round
when exists (select 1 from error where error_id = old.error_id)
  or exists (select 1 from error_archive where error_id = old.error_id) begin
  select raise(abort, 'rounds are kept as long as their error');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_note_insert before insert on dead_letter_note begin
  select case
    when exists (select 1 from dead_letter_note where seq = new.seq)
      then raise(abort, 'notes are never rewritten')
    when not (exists (select 1 from dead_letter where error_id = new.error_id)
      or exists (select 1 from replay where replay_id = new.replay_id)
      or exists (select 1 from dead_letter_group where group_id = new.group_id))
      then raise(abort, 'this note is about nothing that exists')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_note_update before update on dead_letter_note begin
  select raise(abort, 'notes are never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger dead_letter_note_delete before delete on dead_letter_note
when exists (select 1 from dead_letter where error_id = old.error_id)
  or exists (select 1 from replay where replay_id = old.replay_id)
  or exists (select 1 from dead_letter_group where group_id = old.group_id) begin
  select raise(abort, 'a note is kept as long as what it is about');
end;
-- +goose StatementEnd

-- Payloads.
-- +goose StatementBegin
create trigger work_payload_insert before insert on work_payload begin
  select case
    when exists (select 1 from work_payload where work_id = new.work_id) or exists (select 1 from work_payload where rowid = new.rowid)
      then raise(abort, 'a payload never changes')
    when not exists (select 1 from work where work_id = new.work_id)
      and not exists (select 1 from dead_letter where work_id = new.work_id and closed_at is null)
      then raise(abort, 'there is no such work')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger work_payload_inserted after insert on work_payload when new.rowid < 1 begin
  select raise(abort, 'a row number is positive');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger work_payload_update before update on work_payload begin
  select raise(abort, 'a payload never changes');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger work_payload_delete before delete on work_payload
when exists (select 1 from work where work_id = old.work_id)
  or exists (select 1 from dead_letter d join error e on e.error_id = d.error_id where d.work_id = old.work_id) begin
  select raise(abort, 'the work of this payload is not over');
end;
-- +goose StatementEnd

-- The queue.
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
create trigger work_update before update on work
when new.work_id is not old.work_id or new.pipeline is not old.pipeline or new.error_class is not old.error_class
  or new.replay_id is not old.replay_id or new.error_id is not old.error_id or new.payload_ref is not old.payload_ref
  or new.payload_hash is not old.payload_hash or new.created_at is not old.created_at begin
  select raise(abort, 'what work is and when it came is permanent');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger work_delete before delete on work
when exists (select 1 from replay_item where error_id = old.error_id and +replay_id = old.replay_id and state = 'RELEASED') begin
  select raise(abort, 'a replay waits for the outcome of this work');
end;
-- +goose StatementEnd

-- Replays.
-- +goose StatementBegin
create trigger replay_insert before insert on replay begin
  select case
    when exists (select 1 from replay where replay_id = new.replay_id)
      then raise(abort, 'this replay exists already')
    when new.state is not 'COLLECTING' or new.members is not 0
      then raise(abort, 'a replay begins without members')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
create trigger replay_delete before delete on replay
when (select old.ended_at <= replays_until from retention) is not true begin
  select raise(abort, 'the retention of this replay is not over');
end;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
create trigger replay_item_inserted after insert on replay_item begin
  insert into replay_count values (new.replay_id, new.phase, new.state, 1)
    on conflict (replay_id, phase, state) do update set n = n + 1;
end;
-- +goose StatementEnd
-- +goose StatementBegin
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
-- +goose StatementEnd
-- +goose StatementBegin
create trigger replay_item_updated after update on replay_item when new.state <> old.state or new.phase <> old.phase begin
  update replay_count set n = n - 1 where replay_id = old.replay_id and phase = old.phase and state = old.state;
  insert into replay_count values (new.replay_id, new.phase, new.state, 1)
    on conflict (replay_id, phase, state) do update set n = n + 1;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger replay_item_delete before delete on replay_item
when (select r.ended_at <= t.replays_until from replay r, retention t where r.replay_id = old.replay_id) is not true begin
  select raise(abort, 'the retention of this replay is not over');
end;
-- +goose StatementEnd
