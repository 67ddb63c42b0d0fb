-- +goose Up
-- +goose StatementBegin
-- Dead letters (spec 002): staged work that failed for good, kept beside its error
-- and worked off step by step, from triage to verification.

-- Groups.

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
-- By the end of an id, which people type.
create index dead_letter_group_id_end_idx on dead_letter_group (substr(group_id, 14));
create index dead_letter_group_seen_idx on dead_letter_group (last_seen_at, group_id);
create index dead_letter_group_pipeline_idx on dead_letter_group (pipeline, last_seen_at, group_id);

create trigger dead_letter_group_insert before insert on dead_letter_group
when exists (select 1 from dead_letter_group where group_id = new.group_id) begin
  select raise(abort, 'this group exists already');
end;
create trigger dead_letter_group_update before update on dead_letter_group begin
  select case
    when new.group_id is not old.group_id or new.pipeline is not old.pipeline or new.stage is not old.stage
      or new.error_class is not old.error_class or new.signature is not old.signature or new.first_seen_at is not old.first_seen_at
      then raise(abort, 'what a group is and since when is permanent')
    when new.last_seen_at < old.last_seen_at
      then raise(abort, 'time does not run backwards')
  end;
end;
create trigger dead_letter_group_delete before delete on dead_letter_group begin
  select raise(abort, 'a group is kept for good');
end;

-- How many dead letters a group has and has gained on which day, by its beginning.
-- There is one writer, so the triggers count in place.
create table dead_letter_count (
  group_id blob not null,
  day      integer not null,
  arrived  integer not null,
  open     integer not null,
  primary key (group_id, day)
) strict, without rowid;

-- Open dead letters by pipeline, class and step. A closed dead letter counts for
-- nothing, so the counts do not grow with what was.
create table dead_letter_level (
  pipeline    text not null,
  error_class text not null,
  step        text not null,
  n           integer not null,
  primary key (pipeline, error_class, step)
) strict, without rowid;

-- Dead letters.

-- The steps of the workflow in their order.
create view dead_letter_step as select column1 as step, column2 as rank from (values
  ('NEW', 1), ('TRIAGED', 2), ('REMEDIATED', 3), ('VALIDATED', 4), ('REPLAYING', 5), ('REPLAYED', 6), ('VERIFIED', 7));

-- What an error carries of its work. Stage, class, signature and exhausted are those
-- of the present round.
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
  exhausted        integer not null default 0 check (exhausted in (0, 1)), -- it could be retried, and its budget was spent
  check (last_failure_at >= first_failure_at),
  check (step <> 'VERIFIED' or closed_at is not null),
  check (step = 'NEW' or cause is not null)
) strict, without rowid;
-- By the end of an id, which people type.
create index dead_letter_id_end_idx on dead_letter (substr(error_id, 14));
-- One open dead letter for a piece of work, and the closed ones before it.
create unique index dead_letter_open_key on dead_letter (work_id) where closed_at is null;
create index dead_letter_work_idx on dead_letter (work_id, created_at);
create index dead_letter_list_idx on dead_letter (created_at, error_id) where closed_at is null;
create index dead_letter_pipeline_idx on dead_letter (pipeline, created_at, error_id) where closed_at is null;
create index dead_letter_stage_idx on dead_letter (stage, created_at, error_id) where closed_at is null;
create index dead_letter_class_idx on dead_letter (error_class, created_at, error_id) where closed_at is null;
create index dead_letter_group_idx on dead_letter (group_id, created_at, error_id) where closed_at is null;
create index dead_letter_step_idx on dead_letter (step, created_at, error_id);
-- The one that has waited longest for triage is its front.
create index dead_letter_untriaged_idx on dead_letter (updated_at) where step = 'NEW' and closed_at is null;

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
create trigger dead_letter_inserted after insert on dead_letter begin
  insert into dead_letter_count values (new.group_id, new.updated_at - new.updated_at % 86400000000, 1, 1)
    on conflict (group_id, day) do update set arrived = arrived + 1, open = open + 1;
  insert into dead_letter_level values (new.pipeline, new.error_class, new.step, 1) on conflict do update set n = n + 1;
end;
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
      or new.signature is not old.signature or new.exhausted is not old.exhausted)
      then raise(abort, 'only a new round fails otherwise')
    when new.round is old.round and (select rank from dead_letter_step where step = new.step)
      > 1 + (select rank from dead_letter_step where step = old.step)
      then raise(abort, 'no step is skipped')
    when new.closed_at is null and (new.step = 'REPLAYING') <> exists (select 1 from replay_item
        where error_id = new.error_id and state in ('PENDING', 'RELEASED'))
      then raise(abort, 'a dead letter is REPLAYING exactly while it is part of a replay')
    when new.closed_at is not null and exists (select 1 from error where error_id = new.error_id and state <> 'RESOLVED')
      and not exists (select 1 from error_archive where error_id = new.error_id) -- it leaves its table next
      then raise(abort, 'what is closed is resolved or archived')
    when new.group_id is not old.group_id and not exists (select 1 from dead_letter_group
        where group_id = new.group_id and pipeline = new.pipeline
        and stage = new.stage and error_class = new.error_class and signature is new.signature)
      then raise(abort, 'a dead letter belongs to the group of its kind')
  end;
end;
create trigger dead_letter_updated after update on dead_letter
when new.round <> old.round or new.group_id <> old.group_id or (new.closed_at is null) <> (old.closed_at is null) begin
  insert into dead_letter_count values (old.group_id, new.updated_at - new.updated_at % 86400000000, 0, -(old.closed_at is null))
    on conflict (group_id, day) do update set open = open + excluded.open;
  insert into dead_letter_count values (new.group_id, new.updated_at - new.updated_at % 86400000000, new.round - old.round, new.closed_at is null)
    on conflict (group_id, day) do update set arrived = arrived + excluded.arrived, open = open + excluded.open;
end;
create trigger dead_letter_level_moved after update of step, error_class, closed_at on dead_letter
when old.closed_at is null
  and (new.step <> old.step or new.error_class <> old.error_class or new.closed_at is not null) begin
  update dead_letter_level set n = n - 1
    where pipeline = old.pipeline and error_class = old.error_class and step = old.step;
  delete from dead_letter_level
    where pipeline = old.pipeline and error_class = old.error_class and step = old.step and n = 0;
  insert into dead_letter_level select new.pipeline, new.error_class, new.step, 1 where new.closed_at is null
    on conflict do update set n = n + 1;
end;
create trigger dead_letter_delete before delete on dead_letter
when exists (select 1 from error where error_id = old.error_id)
  or exists (select 1 from error_archive where error_id = old.error_id) begin
  select raise(abort, 'a dead letter is kept as long as its error');
end;

-- Rounds and notes: written once, never changed.

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

create trigger dead_letter_round_insert before insert on dead_letter_round begin
  select case
    when exists (select 1 from dead_letter_round where error_id = new.error_id and round = new.round)
      then raise(abort, 'rounds are never rewritten')
    when not exists (select 1 from dead_letter where error_id = new.error_id and round >= new.round and closed_at is null)
      then raise(abort, 'this is no round of an open dead letter')
  end;
end;
create trigger dead_letter_round_update before update on dead_letter_round begin
  select raise(abort, 'rounds are never rewritten');
end;
create trigger dead_letter_round_delete before delete on dead_letter_round
when exists (select 1 from error where error_id = old.error_id)
  or exists (select 1 from error_archive where error_id = old.error_id) begin
  select raise(abort, 'rounds are kept as long as their error');
end;

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
create trigger dead_letter_note_update before update on dead_letter_note begin
  select raise(abort, 'notes are never rewritten');
end;
create trigger dead_letter_note_delete before delete on dead_letter_note
when exists (select 1 from dead_letter where error_id = old.error_id)
  or exists (select 1 from replay where replay_id = old.replay_id)
  or exists (select 1 from dead_letter_group where group_id = old.group_id) begin
  select raise(abort, 'a note is kept as long as what it is about');
end;

-- What hangs on a dead letter goes for good with its archive row.
create trigger error_archive_dead_letter after delete on error_archive
when (select dead_letter from error_table where table_name = old.table_name) begin
  delete from dead_letter where error_id = old.error_id;
  delete from dead_letter_round where error_id = old.error_id;
  delete from dead_letter_note where error_id = old.error_id;
end;
-- +goose StatementEnd
