-- +goose Up
-- +goose StatementBegin
-- The registry of codes and the policy, and what all later files go by.
--
-- Times are microseconds since 1970, in UTC. Ids are 16 bytes. Booleans are 0 or 1.
--
-- The file refuses what the rules forbid, to every connection: triggers and checks
-- stand in it; it decides nothing. A connection of somebody else does not have
-- recursive_triggers on, and so REPLACE would delete rows without a word; hence every
-- guarded table refuses an insert, before it happens, that meets a row. In a trigger
-- before the insert a rowid that the statement leaves open reads as -1; the triggers
-- after it refuse a row that truly has such a number. Of several triggers of one act,
-- the one that was made last runs first.

-- The text of each migration that was applied, as a checksum. Each file records its
-- own at its end; a file whose migrations were others is refused (migrate.go).
create table schema_checksum (
  version integer primary key,
  sum     text not null check (length(sum) = 64) -- SHA-256, in hex
) strict;

-- The registry of codes (spec 003). A code is never deleted or renamed: what was
-- recorded under it still carries it.
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

create trigger error_code_insert before insert on error_code
when exists (select 1 from error_code where code = new.code) begin
  select raise(abort, 'this code is registered already');
end;
create trigger error_code_update before update on error_code
when new.code is not old.code or new.created_at is not old.created_at begin
  select raise(abort, 'a code is permanent');
end;
create trigger error_code_delete before delete on error_code begin
  select raise(abort, 'a code is permanent');
end;

-- Every policy that was ever in force, as it was written; the last one is in force.
create table policy_version (
  number   integer primary key check (number > 0),
  version  text not null unique, -- the file's own, which errors record
  hash     blob not null check (length(hash) = 32),
  text     text not null,
  added_at integer not null,
  added_by text not null,
  reason   text
) strict;

create trigger policy_version_insert before insert on policy_version begin
  select case
    when new.number is not 1 + coalesce((select max(number) from policy_version), 0)
      then raise(abort, 'policies are numbered one by one')
    when exists (select 1 from policy_version where version = new.version)
      then raise(abort, 'this version is known already')
  end;
end;
create trigger policy_version_update before update on policy_version begin
  select raise(abort, 'a policy that was in force is never rewritten');
end;
create trigger policy_version_delete before delete on policy_version begin
  select raise(abort, 'a policy that was in force is never rewritten');
end;

-- What the guards must know of the policy: the governed tables. Nodes read the rest
-- from the policy itself.
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

create trigger error_table_insert before insert on error_table
when exists (select 1 from error_table where table_name = new.table_name) begin
  select raise(abort, 'this table is known already');
end;
create trigger error_table_update before update on error_table
when new.table_name is not old.table_name begin
  select raise(abort, 'a table keeps its name');
end;
create trigger error_table_delete before delete on error_table begin
  select raise(abort, 'a table is retired, never dropped');
end;

-- How far back the running purge may delete of each; null, and so nothing may be
-- deleted, whenever none is running. Whoever owns the file can write to it: it keeps
-- mistakes away, not intent.
create table retention (
  one           integer primary key check (one = 1),
  archive_until integer,
  history_until integer,
  events_until  integer,
  replays_until integer,
  alert_until   integer -- alerts and silences
) strict;
insert into retention (one) values (1);
-- +goose StatementEnd
