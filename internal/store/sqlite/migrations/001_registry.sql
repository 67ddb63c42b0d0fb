-- +goose Up
-- The registry of codes (spec 003). Times are microseconds since 1970, in UTC.
create table error_code (
  code        text primary key
              check (length(code) between 1 and 64 and code glob '[A-Z]*' and code not glob '*[^A-Z0-9_]*'),
  domain      text not null check (domain in ('request', 'auth', 'resource', 'rate', 'runtime', 'data')),
  description text not null,
  retryable   integer not null default 0 check (retryable in (0, 1)),
  http_status integer,
  created_at  integer not null default (cast(strftime('%s', 'now') as integer) * 1000000 + cast(substr(strftime('%f', 'now'), 4) as integer) * 1000),
  updated_at  integer not null default (cast(strftime('%s', 'now') as integer) * 1000000 + cast(substr(strftime('%f', 'now'), 4) as integer) * 1000),
  class       text not null default 'fatal' check (class in ('immediate', 'short_delay', 'long_delay', 'conditional', 'fatal')),
  category    text not null default 'OPERATIONAL' check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  severity    text not null default 'MEDIUM' check (severity in ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW')),
  alert_group text,
  definition  text not null default '{}' check (json_valid(definition)) -- the whole entry: causes, resolution, example, aliases
) strict, without rowid;

-- +goose StatementBegin
create trigger error_code_insert before insert on error_code
when exists (select 1 from error_code where code = new.code) begin
  select raise(abort, 'this code is registered already');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_code_update before update on error_code
when new.code is not old.code or new.created_at is not old.created_at begin
  select raise(abort, 'a code is permanent');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_code_delete before delete on error_code begin
  select raise(abort, 'a code is permanent');
end;
-- +goose StatementEnd

-- What the database must know of the policy to hold errors to it. The rest of
-- the policy is read by nodes.
create table error_table (
  table_name          text primary key,
  hub                 text not null,
  entity_column       text not null,
  default_disposition text not null,
  ttl                 integer,        -- microseconds; null: kept for ever
  blocks              integer not null check (blocks in (0, 1)),
  dead_letter         integer not null default 0 check (dead_letter in (0, 1)),
  archive_name        text,
  retention           integer,        -- microseconds
  policy_version      text not null,
  retired             integer not null default 0 check (retired in (0, 1)), -- no longer in the policy, rows may remain
  entity_required     integer not null default 0 check (entity_required in (0, 1)), -- what has none is kept among the orphans
  orphans             integer not null default 0 check (orphans in (0, 1)) -- which is here
) strict, without rowid;

-- The dispositions that a table allows, as they are stored.
create table error_table_disposition (
  table_name  text not null references error_table,
  disposition text not null check (disposition in ('RETRY', 'PARKED', 'ARCHIVE', 'IGNORE', 'RESOLVED')),
  primary key (table_name, disposition)
) strict, without rowid;

-- +goose StatementBegin
create trigger error_table_insert before insert on error_table
when exists (select 1 from error_table where table_name = new.table_name) begin
  select raise(abort, 'this table is known already');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_table_update before update on error_table
when new.table_name is not old.table_name begin
  select raise(abort, 'a table keeps its name');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_table_delete before delete on error_table begin
  select raise(abort, 'a table is retired, never dropped');
end;
-- +goose StatementEnd
