-- +goose Up
-- +goose StatementBegin
-- Gate Zero (spec 004): company candidates, their verification, and the recovery of
-- those that failed it. The guards are in 012_gate_zero_guard.sql. What intakes and
-- recoveries refer to is checked by them: a check per statement costs less than
-- foreign keys, and nothing of it is ever deleted.
create schema if not exists cl;
comment on schema cl is 'Gate Zero: intakes, their verification and recovery';

-- A batch is an import. Fourteen days after it is complete it freezes.
create table cl.gate_zero_batch (
  batch_id        text primary key check (batch_id <> ''),
  created_at      timestamptz not null default now(),
  completed_at    timestamptz,
  batch_freeze_at timestamptz, -- from then on nothing in it is retried
  frozen_at       timestamptz, -- nothing in it is ACTIVE any more
  killed_at       timestamptz, -- the kill switch is on
  killed_by       text,
  kill_reason     text,
  constraint gate_zero_batch_window check ((completed_at is null) = (batch_freeze_at is null) and batch_freeze_at >= completed_at),
  constraint gate_zero_batch_frozen check (frozen_at is null or batch_freeze_at is not null and frozen_at >= batch_freeze_at),
  constraint gate_zero_batch_killed check ((killed_at is null) = (killed_by is null))
);
create index gate_zero_batch_list_idx on cl.gate_zero_batch (created_at, batch_id);
create index gate_zero_batch_killed_idx on cl.gate_zero_batch (batch_id) where killed_at is not null;
create index gate_zero_batch_open_idx on cl.gate_zero_batch (batch_freeze_at) where frozen_at is null;

-- A candidate.
create table cl.gate_zero_intake (
  intake_id          uuid primary key default gen_random_uuid(),
  batch_id           text,
  import_key         text, -- its line or key in the import
  company_name       text not null check (company_name <> ''),
  domain             text,
  linkedin_url       text,
  state              text,
  status             text not null default 'PENDING'
                     check (status in ('PENDING', 'FAILED', 'AUTHORIZED', 'REENTER_SUCCEEDED')),
  previous_intake_id uuid, -- the failed intake that this one took over from
  created_at         timestamptz not null default now(),
  updated_at         timestamptz not null default now()
) with (fillfactor = 90);
-- By the end of an id, which people type.
create index gate_zero_intake_id_end_idx on cl.gate_zero_intake (substr(uuid_send(intake_id), 14));
create unique index gate_zero_intake_import_key on cl.gate_zero_intake (coalesce(batch_id, ''), import_key)
  where import_key is not null;
create unique index gate_zero_intake_previous_key on cl.gate_zero_intake (previous_intake_id)
  where previous_intake_id is not null;
-- The intakes that nobody has verified yet.
create index gate_zero_intake_list_idx on cl.gate_zero_intake (coalesce(batch_id, ''), status, intake_id);

-- Who verifies a pending intake at the moment. It only keeps two workers from
-- doing the same: what counts is the first result, whoever brings it.
create table cl.gate_zero_turn (
  intake_id uuid primary key,
  worker    text,
  ends_at   timestamptz not null
);

-- A failed intake that waits for its next attempt: the specification's table, with
-- the specification's comments.
create table cl.gate_zero_recovery (
  recovery_id      uuid not null default gen_random_uuid() primary key,
  intake_id        uuid not null unique,
  batch_id         text,
  failure_reason   text not null check (failure_reason <> ''),
  attempt_count    integer not null default 1 check (attempt_count between 1 and 3),
  next_eligible_at timestamptz not null default now() + interval '24 hours',
  status           text not null default 'ACTIVE' check (status in ('ACTIVE', 'EXHAUSTED', 'SUCCEEDED')),
  created_at       timestamptz not null default now(),
  updated_at       timestamptz not null default now()
);
COMMENT ON TABLE cl.gate_zero_recovery IS
'Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure reason. Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries).';
COMMENT ON COLUMN cl.gate_zero_recovery.recovery_id IS
'Unique identifier for this recovery record. Auto-generated UUID.';
COMMENT ON COLUMN cl.gate_zero_recovery.intake_id IS
'Reference to original gate_zero_intake record. One intake → one recovery.';
COMMENT ON COLUMN cl.gate_zero_recovery.batch_id IS
'Inherited from intake. Used for batch-level operations.';
COMMENT ON COLUMN cl.gate_zero_recovery.failure_reason IS
'Reason code from last failed attempt. Updated on each retry.';
COMMENT ON COLUMN cl.gate_zero_recovery.attempt_count IS
'Number of verification attempts. Starts at 1. Max 3.';
COMMENT ON COLUMN cl.gate_zero_recovery.next_eligible_at IS
'Earliest timestamp when retry is permitted. Enforced gate.';
COMMENT ON COLUMN cl.gate_zero_recovery.status IS
'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).';
COMMENT ON COLUMN cl.gate_zero_recovery.created_at IS
'Timestamp when recovery record was created.';
COMMENT ON COLUMN cl.gate_zero_recovery.updated_at IS
'Timestamp of last update.';
-- A claim serves batch by batch, so that what a kill switch holds back is not in
-- the way of the others; what has no batch is one batch more.
create index gate_zero_recovery_claim_idx on cl.gate_zero_recovery (coalesce(batch_id, ''), next_eligible_at, recovery_id)
  where status = 'ACTIVE';
create index gate_zero_recovery_eligible_idx on cl.gate_zero_recovery (next_eligible_at, recovery_id) where status = 'ACTIVE';
create index gate_zero_recovery_exhausted_idx on cl.gate_zero_recovery (updated_at, recovery_id) where status = 'EXHAUSTED';
create index gate_zero_recovery_batch_idx on cl.gate_zero_recovery (batch_id, updated_at, recovery_id) where status = 'EXHAUSTED';

-- Who retries a recovery at the moment, and how often a worker was lost since
-- its last attempt. It is no part of the recovery, which only results change.
create table cl.gate_zero_lease (
  recovery_id uuid primary key references cl.gate_zero_recovery,
  token       uuid,
  worker      text,
  leased_at   timestamptz,
  ends_at     timestamptz,
  lapses      integer not null default 0 check (lapses between 0 and 2),
  constraint gate_zero_lease_whole check (num_nulls(token, leased_at, ends_at) in (0, 3))
) with (fillfactor = 70);
create index gate_zero_lease_held_idx on cl.gate_zero_lease (recovery_id) where token is not null;

-- The AIR: what happened, recorded once and for all. Rows of a batch as a whole name no intake.
create table cl.gate_zero_air (
  air_id        bigint generated always as identity primary key,
  intake_id     uuid,
  recovery_id   uuid,
  batch_id      text,
  event         text not null,
  reason        text,
  attempt_count integer,
  actor         text,
  new_intake_id uuid,
  at            timestamptz not null default now(),
  constraint gate_zero_air_event check (case
    when event in ('KILL', 'RELEASE', 'FREEZE') then intake_id is null and batch_id is not null
    when event in ('AUTH', 'FAIL', 'REENTER', 'EXHAUSTED', 'LATE_RESULT', 'LAPSE', 'REVOKE') then intake_id is not null
    else false end),
  constraint gate_zero_air_reenter check ((event = 'REENTER') = (new_intake_id is not null))
);
create index gate_zero_air_intake_idx on cl.gate_zero_air (intake_id, air_id) where intake_id is not null;
create index gate_zero_air_batch_idx on cl.gate_zero_air (batch_id, air_id) where intake_id is null;

-- The recoveries whose lease the kill switch has taken away, until the AIR records
-- it, in the same transaction.
create unlogged table cl.gate_zero_revoked (recovery_id uuid primary key);

-- Counts, as deltas that the leader folds; a reader adds up what is there. How many
-- intakes and recoveries a batch has in each status:
create table cl.gate_zero_count (
  batch_id text not null,
  status   text not null,
  n        bigint not null
);
create index gate_zero_count_idx on cl.gate_zero_count (batch_id);

-- How many recoveries there are by status and last reason, with a batch or without:
create table cl.gate_zero_reason (
  status text not null,
  reason text not null,
  n      bigint not null
);

-- What the database must know of the policy to hold Gate Zero to it: the waits
-- after each failed attempt, the reasons that an attempt can fail for, and how long
-- after its completion a batch freezes. It is spec 004's until a policy says
-- otherwise.
create table cl.gate_zero_policy (
  one             boolean primary key default true check (one),
  waits           interval[] not null default '{24:00:00,72:00:00,168:00:00}' check (cardinality(waits) between 1 and 3),
  reasons         text[] not null default '{DOMAIN_NOT_FOUND,DOMAIN_NO_IMPRINT,NO_LINKEDIN_COMPANY,STATE_MISMATCH,STATE_AMBIGUOUS,STATE_MISSING,API_UNAVAILABLE,TIMEOUT}',
  recovery_window interval not null default '336:00:00',
  policy_version  text -- whose it is; null: the specification's
);
insert into cl.gate_zero_policy default values;

-- gate_policy is the policy in force; its waits are asked for by attempt.
create function cl.gate_policy() returns cl.gate_zero_policy language sql stable
security definer set search_path = pg_catalog, pg_temp as $$select p from cl.gate_zero_policy p$$;
-- +goose StatementEnd
