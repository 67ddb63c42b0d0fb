-- +goose Up
-- +goose StatementBegin
-- Groups of errors: those of one table and code whose messages differ in numbers, ids and
-- quoted text only. What an error belongs to is in its row (002_error.sql); how many there
-- are is appended by whoever writes errors, and folded into the groups by the leader.
create table error_group (
  group_id      blob not null primary key check (length(group_id) = 16),
  table_name    text not null,
  code          text not null,
  example       text, -- the message of one of the first
  owner         text,
  note          text,
  first_seen_at integer not null,
  last_seen_at  integer not null,
  total         integer not null, -- how many have come, repeats too
  active        integer not null,
  retry_pending integer not null,
  parked        integer not null,
  escalated     integer not null,
  resolved      integer not null, -- and not archived yet
  open          integer not null generated always as (active + retry_pending + parked + escalated) stored
) strict;
create index error_group_id_end_idx on error_group (substr(group_id, 14));
create index error_group_open_idx on error_group (table_name, open, group_id);
create index error_group_seen_idx on error_group (table_name, last_seen_at, group_id);
create index error_group_code_open_idx on error_group (table_name, code, open, group_id);
create index error_group_code_seen_idx on error_group (table_name, code, last_seen_at, group_id);
create index error_group_purge_idx on error_group (last_seen_at) where active = 0 and retry_pending = 0 and parked = 0 and escalated = 0 and resolved = 0;

-- How many came in an hour.
create table error_group_hour (
  group_id blob not null,
  hour     integer not null,
  n        integer not null,
  primary key (group_id, hour)
) strict, without rowid;
create index error_group_hour_idx on error_group_hour (hour);

-- What is not folded yet: by how many each state has changed, and what arrived.
create table error_group_delta (
  group_id      blob not null,
  active        integer,
  retry_pending integer,
  parked        integer,
  escalated     integer,
  resolved      integer,
  arrived       integer,
  first_at      integer, -- of what arrived, within one hour
  last_at       integer,
  example       blob -- one of what arrived
) strict;
-- +goose StatementEnd
