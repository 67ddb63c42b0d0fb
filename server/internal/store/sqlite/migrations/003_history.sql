-- +goose Up
-- +goose StatementBegin
-- What happened to errors, and how many there are: the history of each, the failures
-- of each entity, and sums that answer at a glance what would else be counted.

-- One row for each transition: what the error was before it, if it was there, and
-- after it. Rows outlive their error, which moves to the archive, so there is no
-- foreign key. They are purged from their beginning: the clock by which acts happen
-- does not go back. The last transition, to the archive, is carried by the row there
-- until that is purged, under a number of this table's; error_history has them all.
create table transition (
  seq                  integer primary key autoincrement check (seq > 0),
  error_id             blob not null check (length(error_id) = 16),
  at                   integer not null,
  input                text not null,
  actor                text not null,
  reason               text,
  was_state            text,
  was_disposition      text,
  was_blocking         integer not null default 0 check (was_blocking in (0, 1)),
  was_escalation_level integer not null default 0,
  was_retry_count      integer not null default 0,
  was_next_retry_at    integer,
  was_expires_at       integer,
  was_owner            text,
  state                text,
  disposition          text,
  blocking             integer not null default 0 check (blocking in (0, 1)),
  escalation_level     integer not null default 0,
  retry_count          integer not null default 0,
  next_retry_at        integer,
  expires_at           integer,
  owner                text,
  policy_version       text not null,
  worker               text,
  claimed_at           integer,
  attempt              blob check (length(attempt) = 16)
) strict;
create index transition_idx on transition (error_id, at);
insert into sqlite_sequence values ('transition', 0);

create view error_history as
  select * from transition
  union all
  select end_seq, error_id, archived_at, end_input, archived_by, end_reason, was_state, disposition, was_blocking, escalation_level, retry_count, next_retry_at,
    expires_at, cast(coalesce(assigned_to, escalated_to, 'system') as text), state, disposition, blocking, escalation_level, retry_count, next_retry_at, expires_at,
    cast(coalesce(assigned_to, escalated_to, 'system') as text), end_policy, end_worker, end_claimed_at, end_attempt from error_archive;

create trigger transition_insert before insert on transition
when new.seq <> -1 and exists (select 1 from transition where seq = new.seq) begin
  select raise(abort, 'history is never rewritten');
end;
create trigger transition_update before update on transition begin
  select raise(abort, 'history is never rewritten');
end;
create trigger transition_delete before delete on transition
when (select old.at < history_until from retention) is not true begin
  select raise(abort, 'history is kept as long as an error can be');
end;

-- The count of an entity's failures in a family of codes (spec 000, 9.2).
create table entity_streak (
  family    text not null,
  entity_id text not null,
  count     integer not null check (count > 0),
  primary key (family, entity_id)
) strict, without rowid;

-- Who counts errors and keeps the gate's log of them: the triggers, row by row, or,
-- while batch is 1, whoever writes a whole batch and says so. It is 0 again before
-- that is committed. Whoever owns the file can write to it: it keeps mistakes away,
-- not intent.
create table tally (
  one   integer primary key check (one = 1),
  batch integer not null check (batch in (0, 1))
) strict;
insert into tally values (1, 0);

-- How many errors of a table are in a state and live equally long, how many of
-- them block, and the sum of the times at which they were made: how much of their
-- TTLs they have used together, at any time, follows from that without a look at
-- them. An error that leaves is counted as one less, not taken from the count that
-- has it, so that counts of errors that live about as long can be added up
-- meanwhile.
create table error_count (
  table_name text not null,
  state      text not null,
  ttl_us     integer not null, -- microseconds; 0: resolved, or does not expire
  n          integer not null,
  blocking   integer not null,
  born_s     integer not null, -- the sum of created_at, in seconds since 1970, where there is a TTL
  born_us    integer not null, -- and what is beyond whole seconds
  primary key (table_name, state, ttl_us)
) strict, without rowid;

-- Activity: how often something happened to errors, by minute and by hour.
-- From retried on, errors are counted in the minute of a mark. When the mark moves, the error is taken
-- from the old one, whose sum may have been purged: it can be below zero.
create table activity_minute (
  minute       integer not null,
  table_name   text not null,
  reported     integer not null,
  parked       integer not null,
  escalated    integer not null,
  attempts     integer not null,
  succeeded    integer not null,
  expired      integer not null,
  archived     integer not null,
  retried      integer not null,
  exhausted    integer not null,
  not_parked   integer not null,
  last_parked  integer not null,
  unparked     integer not null,
  deescalated  integer not null,
  primary key (minute, table_name),
  check (min(reported, parked, escalated, attempts, succeeded, expired, archived) >= 0)
) strict, without rowid;
create table activity_hour (
  hour         integer not null,
  table_name   text not null,
  reported     integer not null,
  parked       integer not null,
  escalated    integer not null,
  attempts     integer not null,
  succeeded    integer not null,
  expired      integer not null,
  archived     integer not null,
  retried      integer not null,
  exhausted    integer not null,
  not_parked   integer not null,
  last_parked  integer not null,
  unparked     integer not null,
  deescalated  integer not null,
  primary key (hour, table_name),
  check (min(reported, parked, escalated, attempts, succeeded, expired, archived) >= 0)
) strict, without rowid;
-- Nothing is appended to be added up later, as PostgreSQL does.
create view activity_delta as select 0 as minute, '' as table_name, 0 as reported, 0 as parked, 0 as escalated, 0 as attempts,
  0 as succeeded, 0 as expired, 0 as archived, 0 as retried, 0 as exhausted, 0 as not_parked, 0 as last_parked, 0 as unparked,
  0 as deescalated where false;
-- +goose StatementEnd
