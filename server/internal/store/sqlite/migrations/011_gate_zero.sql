-- +goose Up
-- +goose StatementBegin
-- Gate Zero (spec 004): company candidates, their verification, and the recovery of
-- those that failed it. The guards are in 012_gate_zero_guard.sql; they check what
-- intakes and recoveries refer to, on any connection.

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

-- A candidate.
create table gate_zero_intake (
  intake_id          blob not null primary key check (length(intake_id) = 16),
  batch_id           text,
  import_key         text, -- its line or key in the import
  company_name       text not null check (company_name <> ''),
  domain             text,
  linkedin_url       text,
  state              text,
  status             text not null default 'PENDING'
                     check (status = 'PENDING' or status = 'AUTHORIZED' or status = 'FAILED' or status = 'REENTER_SUCCEEDED'),
  previous_intake_id blob, -- the failed intake that this one took over from
  created_at         integer not null,
  updated_at         integer not null
) strict, without rowid;
-- By the end of an id, which people type.
create index gate_zero_intake_id_end_idx on gate_zero_intake (substr(intake_id, 14));
create unique index gate_zero_intake_import_key on gate_zero_intake (coalesce(batch_id, ''), import_key)
  where import_key is not null;
create unique index gate_zero_intake_previous_key on gate_zero_intake (previous_intake_id)
  where previous_intake_id is not null;
-- The intakes that nobody has verified yet.
create index gate_zero_intake_list_idx on gate_zero_intake (coalesce(batch_id, ''), status, intake_id);

-- Who verifies a pending intake at the moment. It only keeps two workers from
-- doing the same: what counts is the first result, whoever brings it.
create table gate_zero_turn (
  intake_id blob not null primary key check (length(intake_id) = 16),
  worker    text,
  ends_at   integer not null
) strict, without rowid;

-- A failed intake that waits for its next attempt.
create table gate_zero_recovery (
  recovery_id      blob not null primary key default (randomblob(16)) check (length(recovery_id) = 16),
  intake_id        blob not null unique,
  batch_id         text,
  failure_reason   text not null check (failure_reason <> ''),
  attempt_count    integer not null default 1 check (attempt_count between 1 and 3),
  next_eligible_at integer not null,
  status           text not null default 'ACTIVE' check (status = 'ACTIVE' or status = 'SUCCEEDED' or status = 'EXHAUSTED'),
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

-- The AIR: what happened, recorded once and for all. Rows of a batch as a whole name no intake.
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

-- How many recoveries there are by status and last reason, with a batch or without.
create table gate_zero_reason (
  status text not null,
  reason text not null,
  n      integer not null,
  primary key (status, reason)
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
-- +goose StatementEnd
