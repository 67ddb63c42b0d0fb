-- +goose Up
-- +goose StatementBegin
-- Governed errors (spec 000), open and archived. All of them live in one table:
-- static SQL, one set of indexes, one set of guards. The tables that the policy
-- names are views over it (view.go); what guards it is in 005_error_guard.sql.

-- An open error, with its lease. What a column may hold is said by comparisons: for a
-- list of more than two values SQLite looks into an index, at every update.
create table error (
  error_id             blob not null primary key default (randomblob(16)) check (length(error_id) = 16),
  table_name           text not null,
  reported_table       text, -- of an orphan: the table that its report named
  entity_id            text,
  code                 text not null,
  severity             text check (severity = 'MEDIUM' or severity = 'HIGH' or severity = 'LOW' or severity = 'CRITICAL'),
  category             text check (category = 'TRANSIENT' or category = 'OPERATIONAL' or category = 'STRUCTURAL'),
  class                text,
  message              text,
  correlation_id       blob check (length(correlation_id) = 16),
  group_id             blob check (length(group_id) = 16), -- errors of its table, code and normalised message; null: a dead letter, or not admitted yet
  policy_version       text, -- null: written by plain SQL and not admitted yet
  state                text not null default 'ACTIVE'
                       check (state = 'RETRY_PENDING' or state = 'RESOLVED' or state = 'PARKED' or state = 'ACTIVE' or state = 'ESCALATED'),
  disposition          text not null
                       check (disposition = 'RETRY' or disposition = 'RESOLVED' or disposition = 'PARKED' or disposition = 'ARCHIVE' or disposition = 'IGNORE'),
  blocking             integer not null default 0 check (blocking in (0, 1)),
  created_at           integer not null default (cast(strftime('%s', 'now') as integer) * 1000000 + cast(substr(strftime('%f', 'now'), 4) as integer) * 1000),
  updated_at           integer not null default (cast(strftime('%s', 'now') as integer) * 1000000 + cast(substr(strftime('%f', 'now'), 4) as integer) * 1000),
  expires_at           integer,

  -- Retries: how many there were and may be, when the next is due, how the last ended.
  retry_count          integer not null default 0 check (retry_count >= 0),
  max_retries          integer not null default 0,
  last_retry_at        integer,
  next_retry_at        integer,
  retry_exhausted      integer not null default 0 check (retry_exhausted in (0, 1)),
  retry_window_ends_at integer,
  last_failure_code    text,
  streak_family        text,
  streak_count         integer not null default 0,
  last_attempt         blob check (length(last_attempt) = 16),
  last_result          text, -- how it ended

  -- Who retries it at the moment, and until when.
  lease_token          blob check (length(lease_token) = 16),
  lease_worker         text,
  leased_at            integer,
  lease_ends_at        integer,

  -- Parking: since when, by whom and why, and whose it is to review.
  parked_at            integer,
  parked_by            text,
  park_reason          text,
  assigned_to          text,
  last_reviewed_at     integer,

  -- Escalation: how far it has come, and when the next level, review and reminder are due.
  escalation_level     integer not null default 0 check (escalation_level between 0 and 3),
  escalated_at         integer,
  escalated_to         text,
  escalation_reason    text,
  next_escalation_at   integer,
  review_due_at        integer,
  next_reminder_at     integer,
  reminded_at          integer,

  -- Resolution.
  resolved_at          integer,
  resolved_by          text,
  resolution_reason    text,

  -- A newer report of the same failure replaces the open one (spec 000, 7.1).
  replaceable          integer not null default 0 check (replaceable in (0, 1)),

  -- Marks: when it was last what metrics count. The archive has none.
  retried_at           integer,
  exhausted_at         integer,
  last_parked_at       integer,
  unparked_at          integer, -- null while it is in the park queue
  deescalated_at       integer, -- null while it is escalated
  historic             integer not null default 0 check (historic in (0, 1)), -- it stands where a report of the past has put it

  constraint error_retry_budget check (retry_count <= max_retries),
  constraint error_parked_by check (state not in ('PARKED', 'ESCALATED')
    or (parked_at is not null and park_reason is not null and escalated_to is not null and disposition = 'PARKED')),
  constraint error_resolved_by check ((state = 'RESOLVED') = (disposition = 'RESOLVED'))
) strict;
-- By the end of an id, which people type.
create index error_id_end_idx on error (substr(error_id, 14));

-- An index is written when a column of it changes, or one that says what it holds:
-- so claims and results change few. What workers hold is apart from what is due.
create index error_due_idx on error (table_name, next_retry_at) where state = 'RETRY_PENDING' and lease_token is null;
create index error_lease_idx on error (lease_ends_at) where lease_token is not null;
-- Deadlines.
create index error_historic_idx on error (table_name, state, blocking) where historic;
create index error_expiry_idx on error (expires_at) where expires_at is not null;
create index error_window_idx on error (retry_window_ends_at) where state = 'RETRY_PENDING';
create index error_escalation_idx on error (next_escalation_at) where next_escalation_at is not null;
create index error_reminder_idx on error (next_reminder_at) where next_reminder_at is not null;
create index error_resolved_idx on error (resolved_at) where state = 'RESOLVED';
create index error_admission_idx on error (created_at, error_id) where policy_version is null;
-- The gate, and an entity's errors.
create index error_entity_idx on error (entity_id, created_at, error_id) where entity_id is not null;
-- Lists, newest first, and the park queue, oldest first.
create index error_code_idx on error (table_name, code, created_at, error_id);
create index error_list_idx on error (table_name, created_at, error_id);
create index error_group_idx on error (group_id, created_at, error_id) where group_id is not null;
create index error_tier_idx on error (table_name, escalation_level, created_at, error_id) where escalation_level > 0;
create index error_parked_list_idx on error (table_name, created_at, error_id) where parked_at is not null;
create index error_assigned_idx on error (assigned_to, created_at, error_id) where assigned_to is not null;
create index error_park_idx on error (table_name, parked_at, error_id) where state in ('PARKED', 'ESCALATED');
-- At most one open error of a table, entity and code.
create unique index error_open_key on error (coalesce(reported_table, table_name), entity_id, code) where replaceable;

-- What PostgreSQL has tables for, by the same names: what waits for a retry, what workers
-- hold, and what is resolved and waits for the archive.
create view due as select error_id, lease_token, retry_window_ends_at as window_ends_at from error where state = 'RETRY_PENDING';
create view lease as select error_id, lease_ends_at as ends_at, lease_ends_at from error where lease_token is not null;
create view resolved as select resolved_at, error_id from error indexed by error_resolved_idx where state = 'RESOLVED';

-- An archived error: all that it had, and what archiving added (spec 000, 7.3).
create table error_archive (
  error_id             blob not null primary key check (length(error_id) = 16),
  table_name           text not null,
  reported_table       text, -- of an orphan: the table that its report named
  entity_id            text,
  code                 text not null,
  severity             text,
  category             text,
  class                text,
  message              text,
  correlation_id       blob,
  group_id             blob,
  policy_version       text,
  state                text not null check (state = 'ARCHIVED'),
  disposition          text not null,
  blocking             integer not null check (blocking = 0),
  created_at           integer not null,
  updated_at           integer not null,
  expires_at           integer,

  retry_count          integer not null,
  max_retries          integer not null,
  last_retry_at        integer,
  next_retry_at        integer,
  retry_exhausted      integer not null,
  retry_window_ends_at integer,
  last_failure_code    text,
  streak_family        text,
  streak_count         integer not null default 0,
  last_attempt         blob,
  last_result          text,

  parked_at            integer,
  parked_by            text,
  park_reason          text,
  assigned_to          text,
  last_reviewed_at     integer,

  escalation_level     integer not null,
  escalated_at         integer,
  escalated_to         text,
  escalation_reason    text,
  next_escalation_at   integer,
  review_due_at        integer,
  next_reminder_at     integer,
  reminded_at          integer,

  resolved_at          integer,
  resolved_by          text,
  resolution_reason    text,
  replaceable          integer not null check (replaceable = 0),

  archived_at          integer not null,
  archived_by          text not null,
  archive_reason       text not null check (archive_reason = 'TTL_EXPIRED' or archive_reason = 'RESOLVED' or archive_reason = 'SUPERSEDED' or archive_reason = 'MANUAL'),
  final_disposition    text not null,
  superseded_by        blob check (length(superseded_by) = 16),
  purge_at             integer not null, -- the end of the archive's retention

  -- The transition that brought it here, which is the last of its history, and when
  -- its gate opened by that: see error_history and gate_log.
  was_state            text not null,
  was_blocking         integer not null check (was_blocking in (0, 1)),
  end_seq              integer not null check (end_seq > 0),
  end_input            text not null,
  end_reason           text,
  end_policy           text not null, -- by which it was decided
  end_worker           text,
  end_claimed_at       integer,
  end_attempt          blob check (length(end_attempt) = 16),
  end_gate             integer,

  constraint error_archive_kept check (purge_at >= archived_at),
  constraint error_archive_final check (final_disposition = disposition),
  constraint error_archive_superseded check ((archive_reason = 'SUPERSEDED') = (superseded_by is not null)),
  constraint error_archive_resolved check ((archive_reason = 'RESOLVED') = (disposition = 'RESOLVED')),
  constraint error_archive_gate check (was_blocking = (end_gate is not null))
) strict;
-- By the end of an id, which people type.
create index error_archive_id_end_idx on error_archive (substr(error_id, 14));

create index error_archive_table_idx on error_archive (table_name, archived_at, error_id);
create index error_archive_entity_idx on error_archive (entity_id, archived_at, error_id) where entity_id is not null;
create index error_archive_purge_idx on error_archive (purge_at);
-- +goose StatementEnd
