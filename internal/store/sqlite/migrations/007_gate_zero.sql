-- +goose Up
-- Gate Zero: company candidates, their verification, and the recovery of those
-- that failed it (spec 004). Times are microseconds since 1970.

-- A batch is an import. Fourteen days after it is complete it freezes.
create table gate_zero_batch (
  batch_id        text not null primary key check (batch_id <> ''),
  created_at      integer not null,
  completed_at    integer,
  batch_freeze_at integer, -- from then on nothing in it is retried
  frozen_at       integer, -- nothing in it is ACTIVE any more
  killed_at       integer, -- the kill switch is on
  killed_by       text,
  kill_reason     text,
  check ((completed_at is null) = (batch_freeze_at is null) and batch_freeze_at >= completed_at),
  check (frozen_at is null or batch_freeze_at is not null and frozen_at >= batch_freeze_at),
  check ((killed_at is null) = (killed_by is null))
) strict, without rowid;
create index gate_zero_batch_list_idx on gate_zero_batch (created_at, batch_id);
create index gate_zero_batch_open_idx on gate_zero_batch (batch_freeze_at) where frozen_at is null;

-- What intakes and recoveries name is checked by their guards, on any connection.
create table gate_zero_intake (
  intake_id          blob not null primary key check (length(intake_id) = 16),
  batch_id           text,
  import_key         text, -- its line or key in the import
  company_name       text not null check (company_name <> ''),
  domain             text,
  linkedin_url       text,
  state              text,
  status             text not null default 'PENDING'
                     check (status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED')),
  previous_intake_id blob, -- the failed intake that this one took over from
  created_at         integer not null,
  updated_at         integer not null
) strict, without rowid;
create unique index gate_zero_intake_import_key on gate_zero_intake (coalesce(batch_id, ''), import_key)
  where import_key is not null;
create unique index gate_zero_intake_previous_key on gate_zero_intake (previous_intake_id)
  where previous_intake_id is not null;

create table gate_zero_recovery (
  recovery_id      blob not null primary key default (randomblob(16)) check (length(recovery_id) = 16),
  intake_id        blob not null unique,
  batch_id         text,
  failure_reason   text not null check (failure_reason <> ''),
  attempt_count    integer not null default 1 check (attempt_count between 1 and 3),
  next_eligible_at integer not null,
  status           text not null default 'ACTIVE' check (status in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED')),
  created_at       integer not null,
  updated_at       integer not null
) strict, without rowid;

-- A claim serves batch by batch, so that what a kill switch holds back is not in
-- the way of the others; what has no batch is one batch more.
create index gate_zero_recovery_claim_idx on gate_zero_recovery (coalesce(batch_id, ''), next_eligible_at, recovery_id)
  where status = 'ACTIVE';
create index gate_zero_recovery_eligible_idx on gate_zero_recovery (next_eligible_at, recovery_id) where status = 'ACTIVE';
create index gate_zero_recovery_exhausted_idx on gate_zero_recovery (updated_at, recovery_id) where status = 'EXHAUSTED';
create index gate_zero_recovery_batch_idx on gate_zero_recovery (batch_id, updated_at, recovery_id) where status = 'EXHAUSTED';

-- Who retries a recovery at the moment, and how often a worker was lost since
-- its last attempt. It is no part of the recovery, which only results change.
create table gate_zero_lease (
  recovery_id blob not null primary key references gate_zero_recovery,
  token       blob check (length(token) = 16),
  worker      text,
  leased_at   integer,
  ends_at     integer,
  lapses      integer not null default 0 check (lapses between 0 and 2),
  check ((token is null) = (leased_at is null) and (token is null) = (ends_at is null))
) strict, without rowid;
create index gate_zero_lease_held_idx on gate_zero_lease (recovery_id) where token is not null;

-- What happened, once and for all. Rows of a batch as a whole name no intake.
create table gate_zero_air (
  air_id        integer primary key check (air_id > 0),
  intake_id     blob check (length(intake_id) = 16),
  recovery_id   blob check (length(recovery_id) = 16),
  batch_id      text,
  event         text not null,
  reason        text,
  attempt_count integer,
  actor         text,
  new_intake_id blob check (length(new_intake_id) = 16),
  at            integer not null,
  check (case
    when event in ('KILL', 'RELEASE', 'FREEZE') then intake_id is null and batch_id is not null
    when event in ('AUTH', 'FAIL', 'REENTER', 'EXHAUSTED', 'LATE_RESULT', 'LAPSE', 'REVOKE') then intake_id is not null
    else false end),
  check ((event = 'REENTER') = (new_intake_id is not null))
) strict;
create index gate_zero_air_intake_idx on gate_zero_air (intake_id, air_id) where intake_id is not null;
create index gate_zero_air_batch_idx on gate_zero_air (batch_id, air_id) where intake_id is null;

-- How many intakes and recoveries a batch has in each status. There is one
-- writer, so the triggers count in place.
create table gate_zero_count (
  batch_id text not null,
  status   text not null,
  n        integer not null,
  primary key (batch_id, status)
) strict, without rowid;

-- What the file must know of the policy to hold Gate Zero to it, in microseconds:
-- the waits after each failed attempt, how long after its completion a batch
-- freezes, and the reasons that an attempt can fail for. It is spec 004's until a
-- policy says otherwise.
create table gate_zero_wait (
  attempt integer primary key check (attempt between 0 and 3), -- 0: the window of a batch
  lasts   integer not null check (lasts > 0)
) strict;
insert into gate_zero_wait values (0, 1209600000000), (1, 86400000000), (2, 259200000000), (3, 604800000000);
create table gate_zero_failure (
  reason text not null primary key
) strict, without rowid;
insert into gate_zero_failure values ('DOMAIN_NOT_FOUND'), ('DOMAIN_NO_IMPRINT'), ('NO_LINKEDIN_COMPANY'), ('STATE_MISMATCH'),
  ('STATE_AMBIGUOUS'), ('STATE_MISSING'), ('API_UNAVAILABLE'), ('TIMEOUT');

-- The guards. A connection of somebody else does not have recursive_triggers on,
-- and so REPLACE would delete rows without a word; hence every guarded table
-- refuses an insert, before it happens, that meets a row.
-- +goose StatementBegin
create trigger gate_zero_batch_insert before insert on gate_zero_batch begin
  select case
    when exists (select 1 from gate_zero_batch where batch_id = new.batch_id)
      then raise(abort, 'this batch exists already')
    when new.completed_at is not null or new.batch_freeze_at is not null or new.frozen_at is not null
      then raise(abort, 'a batch begins open: complete it when its import is done')
    when new.killed_at is not null
      then raise(abort, 'a batch begins with its kill switch off: turn that on when it is there')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_batch_inserted after insert on gate_zero_batch begin
  insert into gate_zero_count select new.batch_id, column1, 0 from (values
    ('PENDING'), ('FAILED'), ('AUTHORIZED'), ('REENTER_SUCCEEDED'), ('ACTIVE'), ('EXHAUSTED'), ('SUCCEEDED'));
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_batch_update before update on gate_zero_batch begin
  select case
    when new.batch_id is not old.batch_id or new.created_at is not old.created_at
      then raise(abort, 'what a batch is and when it was made is permanent')
    when old.completed_at is not null
      and (new.completed_at is not old.completed_at or new.batch_freeze_at is not old.batch_freeze_at)
      then raise(abort, 'the time of this batch runs already')
    when old.completed_at is null and new.completed_at is not null
      and abs(new.batch_freeze_at - new.completed_at - (select lasts from gate_zero_wait where attempt = 0)) > 60000000
      then raise(abort, 'a batch freezes when its window is over, and at no other time')
    when old.frozen_at is not null and new.frozen_at is not old.frozen_at
      then raise(abort, 'this batch is frozen for good')
    when old.frozen_at is null and new.frozen_at is not null and exists (select 1 from gate_zero_recovery
        where coalesce(batch_id, '') = new.batch_id and status = 'ACTIVE')
      then raise(abort, 'recoveries of this batch are ACTIVE')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_batch_delete before delete on gate_zero_batch begin
  select raise(abort, 'a batch is kept for good');
end;
-- +goose StatementEnd

-- Intakes.
-- +goose StatementBegin
create trigger gate_zero_intake_insert before insert on gate_zero_intake begin
  select case
    when exists (select 1 from gate_zero_intake where intake_id = new.intake_id)
      then raise(abort, 'this intake exists already')
    when new.import_key is not null and exists (select 1 from gate_zero_intake
        where coalesce(batch_id, '') = coalesce(new.batch_id, '') and import_key = new.import_key)
      then raise(abort, 'this line of the import exists already')
    when new.batch_id is not null and (select new.previous_intake_id is null and completed_at is not null
        from gate_zero_batch where batch_id = new.batch_id) is not 0
      then raise(abort, 'there is no such batch, or its import is complete')
    when new.previous_intake_id is null and new.status <> 'PENDING'
      then raise(abort, 'an intake begins PENDING')
    when new.previous_intake_id is not null and new.status <> 'AUTHORIZED'
      then raise(abort, 'what takes over after a recovery is AUTHORIZED')
    when new.previous_intake_id is not null and not exists (select 1 from gate_zero_intake
        where intake_id = new.previous_intake_id and status = 'FAILED' and batch_id is new.batch_id)
      then raise(abort, 'an intake can take over only from a failed one of its batch')
    when new.previous_intake_id is not null and exists (select 1 from gate_zero_intake
        where previous_intake_id = new.previous_intake_id)
      then raise(abort, 'another intake took over already')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_intake_inserted after insert on gate_zero_intake when new.batch_id is not null begin
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_intake_update before update on gate_zero_intake begin
  select case
    when new.intake_id is not old.intake_id or new.batch_id is not old.batch_id or new.import_key is not old.import_key
      or new.company_name is not old.company_name or new.domain is not old.domain or new.linkedin_url is not old.linkedin_url
      or new.state is not old.state or new.previous_intake_id is not old.previous_intake_id or new.created_at is not old.created_at
      then raise(abort, 'what an intake is and when it came is permanent')
    when new.status is not old.status
      and not (old.status = 'PENDING' and new.status in ('FAILED', 'AUTHORIZED'))
      and not (old.status = 'FAILED' and new.status = 'REENTER_SUCCEEDED'
        and exists (select 1 from gate_zero_intake where previous_intake_id = old.intake_id)
        and exists (select 1 from gate_zero_recovery where intake_id = old.intake_id and status = 'SUCCEEDED'))
      then raise(abort, 'an intake does not change its status like that')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_intake_moved after update of status on gate_zero_intake when new.status <> old.status begin
  update gate_zero_count set n = n - 1 where batch_id = old.batch_id and status = old.status;
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_intake_delete before delete on gate_zero_intake begin
  select raise(abort, 'an intake is kept for good');
end;
-- +goose StatementEnd

-- Recoveries.
-- +goose StatementBegin
create trigger gate_zero_recovery_insert before insert on gate_zero_recovery begin
  select case
    when exists (select 1 from gate_zero_recovery where recovery_id = new.recovery_id)
      then raise(abort, 'this recovery exists already')
    when exists (select 1 from gate_zero_recovery where intake_id = new.intake_id)
      then raise(abort, 'this intake has a recovery already')
    when not exists (select 1 from gate_zero_intake where intake_id = new.intake_id and status = 'FAILED')
      then raise(abort, 'only a failed intake is recovered')
    when not exists (select 1 from gate_zero_intake where intake_id = new.intake_id and batch_id is new.batch_id)
      then raise(abort, 'a recovery belongs to the batch of its intake')
    when new.attempt_count is not 1
      then raise(abort, 'the first attempt comes first')
    when abs(new.next_eligible_at - new.created_at - (select lasts from gate_zero_wait where attempt = 1)) > 60000000
      then raise(abort, 'a recovery waits as long as the schedule says before it is retried')
    when not exists (select 1 from gate_zero_failure where reason = new.failure_reason)
      then raise(abort, 'unknown failure_reason: the table gate_zero_failure has those that there are')
    when new.status is not case when exists (select 1 from gate_zero_batch where batch_id = new.batch_id
        and (frozen_at is not null or batch_freeze_at <= new.created_at)) then 'EXHAUSTED' else 'ACTIVE' end
      then raise(abort, 'a recovery begins ACTIVE or, in a frozen batch, EXHAUSTED')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_recovery_inserted after insert on gate_zero_recovery begin
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_recovery_update before update on gate_zero_recovery begin
  select case
    when new.recovery_id is not old.recovery_id or new.intake_id is not old.intake_id
      or new.batch_id is not old.batch_id or new.created_at is not old.created_at
      then raise(abort, 'what a recovery is of and when it began is permanent')
    when old.status <> 'ACTIVE'
      then raise(abort, 'this recovery is over for good')
    when new.attempt_count is not old.attempt_count and new.attempt_count is not old.attempt_count + 1
      then raise(abort, 'attempts are counted one by one')
    when (select count(*) from gate_zero_air where intake_id = old.intake_id and event = 'FAIL') < old.attempt_count
      then raise(abort, 'the AIR does not tell of its last attempt: add the FAIL row of that first')
    when new.next_eligible_at is not old.next_eligible_at and new.attempt_count is old.attempt_count
      then raise(abort, 'only a failed attempt moves the time of the next')
    when new.attempt_count is not old.attempt_count and coalesce(abs(new.next_eligible_at - new.updated_at
        - (select lasts from gate_zero_wait where attempt = new.attempt_count)) > 60000000, 1)
      then raise(abort, 'a recovery waits as long as the schedule says before it is retried again')
    when (new.attempt_count is not old.attempt_count or new.failure_reason is not old.failure_reason)
      and not exists (select 1 from gate_zero_failure where reason = new.failure_reason)
      then raise(abort, 'unknown failure_reason: the table gate_zero_failure has those that there are')
    when new.failure_reason is not old.failure_reason and new.attempt_count is old.attempt_count and new.status <> 'EXHAUSTED'
      then raise(abort, 'only a failed attempt has a reason')
    when new.updated_at < old.next_eligible_at and (new.attempt_count is not old.attempt_count or new.status = 'SUCCEEDED'
      or new.failure_reason is not old.failure_reason)
      then raise(abort, 'this recovery is not eligible yet')
    when new.status = 'EXHAUSTED'
      and (new.updated_at < old.next_eligible_at or old.attempt_count < (select max(attempt) from gate_zero_wait))
      and not exists (select 1 from gate_zero_batch where batch_id = new.batch_id and batch_freeze_at <= new.updated_at)
      then raise(abort, 'this recovery has attempts left, and its batch is not frozen')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_recovery_moved after update of status on gate_zero_recovery when new.status <> old.status begin
  update gate_zero_count set n = n - 1 where batch_id = old.batch_id and status = old.status;
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_recovery_delete before delete on gate_zero_recovery begin
  select raise(abort, 'a recovery is kept for good');
end;
-- +goose StatementEnd

-- Leases: one begins, is only ever extended and runs out, so that the AIR can be
-- held to them. That its time is over is the node's to say: the file has no clock
-- of its own that nobody can set.
-- +goose StatementBegin
create trigger gate_zero_lease_insert after insert on gate_zero_lease when new.lapses > 0 or new.ends_at <= new.leased_at begin
  select raise(abort, 'a lease takes time, and none of this recovery has run out yet');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_lease_update before update on gate_zero_lease begin
  select case
    when new.recovery_id is not old.recovery_id
      then raise(abort, 'a lease is of its recovery for good')
    when new.lapses < old.lapses
      then raise(abort, 'lapses are counted until an attempt is used')
    when new.lapses > old.lapses and (new.lapses > old.lapses + 1 or old.token is null or new.token is old.token)
      then raise(abort, 'no lease of this recovery has run out')
    when new.token is old.token and (new.leased_at is not old.leased_at or new.ends_at < old.ends_at)
      then raise(abort, 'a lease is only ever extended')
    when new.token is not old.token and new.ends_at <= new.leased_at
      then raise(abort, 'a lease takes time')
    when old.token is not null and new.token is not null and new.token is not old.token and new.lapses = old.lapses
      then raise(abort, 'a worker holds this recovery')
    when new.token is not null and new.token is not old.token and exists (select 1 from gate_zero_recovery r
        join gate_zero_batch b on b.batch_id = r.batch_id where r.recovery_id = new.recovery_id and b.killed_at is not null)
      then raise(abort, 'its batch is stopped by the kill switch')
  end;
end;
-- +goose StatementEnd

-- The AIR.
-- +goose StatementBegin
create trigger gate_zero_air_insert before insert on gate_zero_air begin
  select case
    when exists (select 1 from gate_zero_air where air_id = new.air_id)
      then raise(abort, 'the AIR is never rewritten')
    when new.intake_id is null and not exists (select 1 from gate_zero_batch where batch_id = new.batch_id
        and case new.event when 'KILL' then killed_at is not null when 'RELEASE' then killed_at is null else frozen_at is not null end)
      then raise(abort, 'the AIR tells of a batch only what is so')
    when new.intake_id is not null and not exists (select 1 from gate_zero_intake i
        left join gate_zero_recovery r on r.intake_id = i.intake_id
        where i.intake_id = new.intake_id and i.batch_id is new.batch_id and case
          when new.event = 'AUTH' and r.recovery_id is null then i.status = 'AUTHORIZED'
          when r.recovery_id is null or new.recovery_id <> r.recovery_id then 0
          when new.event in ('AUTH', 'REENTER') then r.status = 'SUCCEEDED'
          when new.event in ('EXHAUSTED', 'LATE_RESULT') then r.status = 'EXHAUSTED'
          when new.event = 'FAIL' then coalesce(new.attempt_count, 1) <= r.attempt_count and (select count(*) from gate_zero_air f
            where f.intake_id = new.intake_id and f.event = 'FAIL') < r.attempt_count + (r.status = 'EXHAUSTED')
          when new.event = 'LAPSE' then new.attempt_count is r.attempt_count and (select count(*) from gate_zero_air f
            where f.intake_id = new.intake_id and f.event = 'LAPSE' and f.attempt_count = r.attempt_count)
            < coalesce((select lapses from gate_zero_lease where recovery_id = r.recovery_id), 0)
          when new.event = 'REVOKE' then exists (select 1 from gate_zero_batch b where b.batch_id = new.batch_id and b.killed_at is not null)
            and not exists (select 1 from gate_zero_lease where recovery_id = r.recovery_id and token is not null)
          else 1 end)
      then raise(abort, 'the AIR tells of an intake only what is so, once: change its recovery first')
  end;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_air_update before update on gate_zero_air begin
  select raise(abort, 'the AIR is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_air_delete before delete on gate_zero_air begin
  select raise(abort, 'the AIR is never rewritten');
end;
-- +goose StatementEnd
