-- +goose Up
-- +goose StatementBegin
-- Governed errors (spec 000), open and archived. All of them live in one table:
-- static SQL, one set of indexes, one set of guards. The tables that the policy
-- names are views over it (006_policy_view.sql); what guards it is in
-- 005_error_guard.sql.

-- An open error. What moves with every claim is apart, in recoup.due. No index here
-- has a column that the result of a retry changes, and a page has room for a second
-- version of each of its rows, so that a result touches no index (HOT).
create table recoup.error (
  error_id             uuid primary key default gen_random_uuid(),
  table_name           text collate "C" not null,
  reported_table       text collate "C", -- of an orphan: the table that its report named
  entity_id            text collate "C",
  code                 text collate "C" not null,
  severity             text check (severity in ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW')),
  category             text check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  class                text,
  message              text,
  correlation_id       uuid,
  group_id             uuid, -- errors of its table, code and normalised message; null: a dead letter, or not admitted yet
  policy_version       text, -- null: written by plain SQL and not admitted yet
  state                text not null default 'ACTIVE'
                       check (state in ('ACTIVE', 'RETRY_PENDING', 'PARKED', 'ESCALATED', 'RESOLVED')),
  disposition          text not null
                       check (disposition in ('RETRY', 'PARKED', 'ARCHIVE', 'IGNORE', 'RESOLVED')),
  blocking             boolean not null default false,
  created_at           timestamptz not null default now(),
  updated_at           timestamptz not null default now(),
  expires_at           timestamptz,

  -- Retries: how many there were and may be, when the next is due, how the last ended.
  retry_count          int not null default 0 check (retry_count >= 0),
  max_retries          int not null default 0,
  last_retry_at        timestamptz,
  next_retry_at        timestamptz,
  retry_exhausted      boolean not null default false,
  retry_window_ends_at timestamptz,
  last_failure_code    text,
  streak_family        text,
  streak_count         int not null default 0,
  last_attempt         uuid,
  last_result          text,

  -- Parking: since when, by whom and why, and whose it is to review.
  parked_at            timestamptz,
  parked_by            text,
  park_reason          text,
  assigned_to          text,
  last_reviewed_at     timestamptz,

  -- Escalation: how far it has come, and when the next level, review and reminder are due.
  escalation_level     smallint not null default 0 check (escalation_level between 0 and 3),
  escalated_at         timestamptz,
  escalated_to         text,
  escalation_reason    text,
  next_escalation_at   timestamptz,
  review_due_at        timestamptz,
  next_reminder_at     timestamptz,
  reminded_at          timestamptz,

  -- Resolution.
  resolved_at          timestamptz,
  resolved_by          text,
  resolution_reason    text,

  -- A newer report of the same failure replaces the open one (spec 000, 7.1). One
  -- that is resolved holds its key until it is archived, or until such a report
  -- takes it.
  replaceable          boolean not null default false,

  constraint error_id_given check (error_id <> '00000000-0000-0000-0000-000000000000'),
  constraint error_blocks check (not blocking or entity_id is not null and disposition in ('RETRY', 'PARKED')),
  constraint error_retry_budget check (retry_count <= max_retries),
  constraint error_parked_by check (state not in ('PARKED', 'ESCALATED')
    or (parked_at is not null and park_reason is not null and escalated_to is not null and disposition = 'PARKED')),
  constraint error_resolved_by check ((state = 'RESOLVED') = (disposition = 'RESOLVED'))
) with (fillfactor = 45, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
-- By the end of an id, which people type.
create index error_id_end_idx on recoup.error (substr(uuid_send(error_id), 14));

-- Deadlines. A resolved error keeps its entries until it is archived, and keeps the
-- time of a reminder that nobody gets any more.
create index error_expiry_idx on recoup.error (expires_at);
create index error_escalation_idx on recoup.error (next_escalation_at) where next_escalation_at is not null;
create index error_reminder_idx on recoup.error (next_reminder_at) where next_reminder_at is not null;
create index error_admission_idx on recoup.error (created_at, error_id) where policy_version is null;
-- The gate, and an entity's errors.
create index error_entity_idx on recoup.error (entity_id, created_at, error_id) where entity_id is not null;
-- Lists, newest first, and the park queue, oldest first.
create index error_code_idx on recoup.error (table_name, code, created_at, error_id);
create index error_list_idx on recoup.error (table_name, created_at, error_id);
create index error_group_idx on recoup.error (group_id, created_at, error_id) where group_id is not null;
create index error_tier_idx on recoup.error (table_name, escalation_level, created_at, error_id) where escalation_level > 0;
create index error_parked_list_idx on recoup.error (table_name, created_at, error_id) where parked_at is not null;
create index error_assigned_idx on recoup.error (assigned_to, created_at, error_id) where assigned_to is not null;
create index error_park_idx on recoup.error (table_name, parked_at, error_id) where parked_at is not null;
-- At most one open error of a table, entity and code.
create unique index error_open_key on recoup.error (coalesce(reported_table, table_name), entity_id, code) where replaceable;

-- What waits for a retry or is being retried: the errors that are RETRY_PENDING.
-- A claim writes only here, and touches no index: due_at stays as it was while a
-- lease is held. Whoever needs both rows of an error locks this one first.
create table recoup.due (
  error_id       uuid primary key,
  table_name     text collate "C" not null,
  policy_version text not null,
  due_at         timestamptz not null,
  window_ends_at timestamptz,
  expires_at     timestamptz,
  lease_token    uuid,
  lease_worker   text,
  leased_at      timestamptz,
  lease_ends_at  timestamptz,
  constraint due_lease check (num_nulls(lease_token, leased_at, lease_ends_at) in (0, 3))
) with (fillfactor = 40, autovacuum_vacuum_scale_factor = 0.02, autovacuum_analyze_scale_factor = 0.05);
create index due_idx on recoup.due (table_name, due_at);
create index due_window_idx on recoup.due (window_ends_at) where window_ends_at is not null;

-- What each claim has leased, so that leases that have run out are found without an
-- index that every claim would have to write. A row outlives its leases.
create table recoup.lease (
  leased_at timestamptz not null,
  ends_at   timestamptz not null, -- the first of them, unless it was extended
  errors    uuid[] not null
);
create index lease_ends_idx on recoup.lease (ends_at);
alter table recoup.lease alter errors set storage external; -- ids do not compress

-- What is resolved and waits for the archive, in the order of time.
create table recoup.resolved (
  resolved_at timestamptz not null,
  error_id    uuid not null
) with (autovacuum_vacuum_scale_factor = 0.02);
create index resolved_idx on recoup.resolved (resolved_at);

-- An archived error: all that it had, and what archiving added (spec 000, 7.3).
create table recoup.error_archive (
  like recoup.error including defaults,
  archived_at       timestamptz not null,
  archived_by       text not null,
  archive_reason    text not null check (archive_reason in ('TTL_EXPIRED', 'MANUAL', 'RESOLVED', 'SUPERSEDED')),
  final_disposition text not null,
  superseded_by     uuid,                 -- the newer report that replaced it
  purge_at          timestamptz not null, -- the end of the archive's retention

  -- The transition that brought it here, which is the last of its history, and when
  -- its gate opened by that: see recoup.error_history and recoup.gate_log.
  was_state      text not null,
  was_blocking   boolean not null,
  end_seq        bigint not null,
  end_input      text not null,
  end_reason     text,
  end_policy     text not null, -- by which it was decided
  end_worker     text,
  end_claimed_at timestamptz,
  end_attempt    uuid,
  end_gate       bigint,
  primary key (error_id),
  check (state = 'ARCHIVED'), check (not blocking),
  constraint error_archive_replaceable check (not replaceable),
  constraint error_archive_kept check (purge_at >= archived_at),
  constraint error_archive_final check (final_disposition = disposition),
  constraint error_archive_superseded check ((archive_reason = 'SUPERSEDED') = (superseded_by is not null)),
  constraint error_archive_gate check (was_blocking = (end_gate is not null)),
  constraint error_archive_resolved check ((archive_reason = 'RESOLVED') = (disposition = 'RESOLVED'))
);
-- By the end of an id, which people type.
create index error_archive_id_end_idx on recoup.error_archive (substr(uuid_send(error_id), 14));
create index error_archive_table_idx on recoup.error_archive (table_name, archived_at, error_id);
create index error_archive_entity_idx on recoup.error_archive (entity_id, archived_at, error_id) where entity_id is not null;
create index error_archive_purge_idx on recoup.error_archive (purge_at);

-- Marks: when an error was last what metrics count. The archive has none. No index has one.
alter table recoup.error
  add column retried_at     timestamptz,
  add column exhausted_at   timestamptz,
  add column last_parked_at timestamptz,
  add column unparked_at    timestamptz, -- null while it is in the park queue
  add column deescalated_at timestamptz, -- null while it is escalated
  add column historic       boolean not null default false; -- it stands where a report of the past has put it
create index error_historic_idx on recoup.error (table_name, state, blocking) where historic;
-- +goose StatementEnd
