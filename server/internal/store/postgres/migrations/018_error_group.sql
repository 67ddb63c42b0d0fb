-- +goose Up
-- +goose StatementBegin
-- Groups of errors: those of one table and code whose messages differ in numbers, ids and
-- quoted text only. What an error belongs to is in its row (002_error.sql); how many there
-- are is kept as other counts are: statements append what they changed, and the leader folds
-- it into the groups, so that a report or a result waits for nobody.
create table recoup.error_group (
  group_id      uuid primary key,
  table_name    text collate "C" not null,
  code          text collate "C" not null,
  example       text, -- the message of one of the first
  owner         text,
  note          text,
  first_seen_at timestamptz not null,
  last_seen_at  timestamptz not null,
  total         bigint not null, -- how many have come, repeats too
  active        bigint not null,
  retry_pending bigint not null,
  parked        bigint not null,
  escalated     bigint not null,
  resolved      bigint not null, -- and not archived yet
  open          bigint not null generated always as (active + retry_pending + parked + escalated) stored
) with (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.05);
create index error_group_id_end_idx on recoup.error_group (substr(uuid_send(group_id), 14));
create index error_group_open_idx on recoup.error_group (table_name, open, group_id);
create index error_group_seen_idx on recoup.error_group (table_name, last_seen_at, group_id);
create index error_group_code_open_idx on recoup.error_group (table_name, code, open, group_id);
create index error_group_code_seen_idx on recoup.error_group (table_name, code, last_seen_at, group_id);
create index error_group_purge_idx on recoup.error_group (last_seen_at) where active = 0 and retry_pending = 0 and parked = 0 and escalated = 0 and resolved = 0;

-- How many came in an hour.
create table recoup.error_group_hour (
  group_id uuid not null,
  hour     timestamptz not null,
  n        bigint not null,
  primary key (group_id, hour)
) with (fillfactor = 70);
create index error_group_hour_idx on recoup.error_group_hour (hour);

-- What is not folded yet: by how many each state has changed, and what arrived.
create table recoup.error_group_delta (
  group_id      uuid not null,
  active        bigint,
  retry_pending bigint,
  parked        bigint,
  escalated     bigint,
  resolved      bigint,
  arrived       bigint,
  first_at      timestamptz, -- of what arrived, within one hour
  last_at       timestamptz,
  example       uuid -- one of what arrived
);
-- +goose StatementEnd
