-- +goose Up
-- +goose StatementBegin
-- The registry of codes and the policy, and the tools that all later files use.
--
-- The rules of the house, for every file: the database refuses what the rules
-- forbid, whoever asks; it decides nothing. Guards raise RC001, and clients
-- recognise them by that, never by the text. Functions that act for the caller run
-- as the schema's owner with a fixed search_path, pg_temp last. Functions in SQL that
-- are inlined into their caller have none, and name every function and operator with
-- its schema. A trigger function that runs as the owner refuses any table but its own:
-- the columns of another one may have types whose casts run a stranger's code. Who may
-- do what is granted in grants.sql and grants_app.sql, after every migration. The schema is created
-- before: CREATE SCHEMA IF NOT EXISTS needs CREATE on the database even if the schema exists.
comment on schema recoup is 'Recoup: recorded failures and their lifecycle';

-- The text of each migration that was applied, as a checksum. Each file records its
-- own at its end; a database whose files were others is refused (migrate.go).
create table recoup.schema_checksum (
  version bigint primary key,
  sum     text not null check (length(sum) = 64) -- SHA-256, in hex
);

-- Time.

-- clock is the time by which acts are judged. It goes on within a transaction,
-- so that one that waited for a lock does not act on the time before its wait.
-- It is a function of one expression, which costs nothing, and nobody but its
-- owner can replace it, which is how tests set the clock.
create function recoup.clock() returns timestamptz language sql volatile as 'select pg_catalog.clock_timestamp()';

-- tolerance is how far from the clock a time may be that a writer brings along: as
-- long as a transaction takes, or a node's clock goes wrong. Tests that live in a
-- time of their own replace it, as they do the clock.
create function recoup.tolerance() returns interval language sql stable as $$select interval '1 minute'$$;

-- timely reports whether a time is now.
create function recoup.timely(at timestamptz) returns boolean language sql volatile as $$
  select at operator(pg_catalog.>=) (recoup.clock() operator(pg_catalog.-) recoup.tolerance())
    and at operator(pg_catalog.<=) (recoup.clock() operator(pg_catalog.+) recoup.tolerance())
$$;

-- recent reports whether a time is about now: what nodes write down of themselves
-- must not be lost to a clock of theirs that has jumped and is not yet corrected.
create function recoup.recent(at timestamptz) returns boolean language sql volatile as $$
  select at operator(pg_catalog.>=) (recoup.clock() operator(pg_catalog.-) greatest(recoup.tolerance(), interval '15 minutes'))
    and at operator(pg_catalog.<=) (recoup.clock() operator(pg_catalog.+) greatest(recoup.tolerance(), interval '15 minutes'))
$$;

-- Guards.

-- forbid refuses a statement outright.
create function recoup.forbid() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC001',
    message = format('%s on %s.%s is forbidden', tg_op, tg_table_schema, tg_table_name);
end $$;

-- refuse raises what a guard has found, if it has found something.
create function recoup.refuse(what text) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if what is not null then
    raise exception using errcode = 'RC001', message = what;
  end if;
end $$;

-- refuse_table refuses a trigger of Recoup on a table that is not Recoup's.
create function recoup.refuse_table(relation oid) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  raise exception using errcode = 'RC001',
    message = format('trigger functions of Recoup are only for its own tables, and %s is none of them: drop the trigger', relation::regclass);
end $$;

-- timely_rows refuses rows that are dated other than now: what is done is recorded
-- when it is done.
create function recoup.timely_rows() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if tg_relid not in ('recoup.audit'::regclass, 'recoup.transition'::regclass) then
    perform recoup.refuse_table(tg_relid);
  end if;
  if exists (select from (select min(at) as first, max(at) as last from added) a
      where not recoup.recent(a.first) or not recoup.recent(a.last)) then
    raise exception using errcode = 'RC001', message = format('a row of %s.%s tells of now, and of no other time', tg_table_schema, tg_table_name);
  end if;
  return null;
end $$;

-- wake notifies whoever listens on the channel recoup. Equal notifications of a
-- transaction arrive once. It is for what is rare, because transactions that notify
-- commit one after the other: single reports by eight writers lost a quarter to half
-- of their rate to it. What reports and steps cause, nodes announce by themselves,
-- after the commit. A full queue of notifications fails every transaction that notifies, and
-- any role can fill it; from half on nothing is added, and nodes find what there is by polling.
create function recoup.wake() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if pg_notification_queue_usage() < 0.5 then
    perform pg_notify('recoup', tg_argv[0]);
  end if;
  return null;
end $$;

-- withhold_functions takes new functions from everyone but the owner, until grants.sql
-- gives them to the roles that need them: PostgreSQL lets every role execute a function
-- that was just made. Each migration ends with it.
create function recoup.withhold_functions() returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare fresh regprocedure;
begin
  for fresh in select p.oid from pg_proc p join pg_namespace n on n.oid = p.pronamespace
      where n.nspname in ('recoup', 'cl') and p.proacl is null and p.proowner = (select nspowner from pg_namespace where nspname = 'recoup') loop
    execute format('revoke execute on function %s from public', fresh);
  end loop;
end $$;

-- Locks.

-- What nodes do one after the other, because there may be no row to lock. No role but
-- the owner has any privilege here: advisory locks can be taken by any role that can
-- connect.
create table recoup.turn_lock (
  turn    int primary key,
  purpose text not null
);
insert into recoup.turn_lock values
  (1, 'the first key'), (2, 'policies'), (3, 'platform keys'), (4, 'switches of providers'), (5, 'views'), (6, 'operations'),
  (101, 'tables of the policy'), (102, 'partitions of events');

-- lock_turn waits until no other transaction has the turn, or, if it is shared, until none
-- has it alone. The lock is held until the transaction ends.
create function recoup.lock_turn(number int, shared boolean) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
begin
  if shared then
    perform from recoup.turn_lock where turn = number for share;
  else
    perform from recoup.turn_lock where turn = number for update;
  end if;
  if not found then
    raise exception using errcode = 'RC001', message = format('there is no turn %s', number);
  end if;
end $$;

-- Locks on names, of which there are too many for a row each: advisory locks whose
-- numbers follow from a secret of this database. A role that watches pg_locks learns
-- the numbers of single names while they are locked, and no others.
create table recoup.lock_secret (
  one    boolean primary key default true check (one),
  secret bytea not null check (length(secret) = 32)
);
insert into recoup.lock_secret (secret) values (sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));

-- lock_names takes the locks of names of a kind, in order, until the transaction ends.
create function recoup.lock_names(kind text, names text[]) returns void
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare
  salt bytea := (select secret || convert_to(kind || ' ', 'UTF8') from recoup.lock_secret);
begin
  perform pg_advisory_xact_lock(n.number) from (
    select distinct ('x' || encode(substr(sha256(salt || convert_to(name, 'UTF8')), 1, 8), 'hex'))::bit(64)::bigint as number
      from unnest(names) as name order by 1) n;
end $$;

-- The registry of codes (spec 003). A code is never deleted or renamed: what was
-- recorded under it still carries it.
create table recoup.error_code (
  code        text collate "C" primary key check (code ~ '^[A-Z][A-Z0-9_]{0,63}$'),
  domain      text not null check (domain in ('request', 'auth', 'resource', 'rate', 'runtime', 'data')),
  description text not null,
  retryable   boolean not null default false,
  http_status int,
  created_at  timestamptz not null default now(),
  updated_at  timestamptz not null default now(),
  class       text not null default 'fatal' check (class in ('immediate', 'short_delay', 'long_delay', 'conditional', 'fatal')),
  category    text not null default 'OPERATIONAL' check (category in ('TRANSIENT', 'OPERATIONAL', 'STRUCTURAL')),
  severity    text not null default 'MEDIUM' check (severity in ('CRITICAL', 'HIGH', 'MEDIUM', 'LOW')),
  alert_group text,
  definition  jsonb not null default '{}' -- the whole entry: causes, resolution, example, aliases
);

create function recoup.error_code_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.code is distinct from old.code or new.created_at is distinct from old.created_at then
    raise exception using errcode = 'RC001', message = format('the code %s is permanent', old.code);
  end if;
  return new;
end $$;
create trigger guard before update on recoup.error_code
  for each row execute function recoup.error_code_guard();
create trigger forbidden before delete on recoup.error_code
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_code
  for each statement execute function recoup.forbid();

-- Every policy that was ever in force, as it was written; the last one is in force.
create table recoup.policy_version (
  number   bigint primary key,
  version  text collate "C" not null unique, -- the file's own, which errors record
  hash     bytea not null check (length(hash) = 32),
  text     text not null,
  added_at timestamptz not null,
  added_by text not null,
  reason   text
);

create function recoup.policy_version_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.number is distinct from 1 + coalesce((select max(number) from recoup.policy_version), 0) then
    raise exception using errcode = 'RC001', message = 'policies are numbered one by one';
  end if;
  if not recoup.recent(new.added_at) then
    raise exception using errcode = 'RC001', message = 'a policy is added now, and at no other time';
  end if;
  return new;
end $$;
create trigger guard before insert on recoup.policy_version
  for each row execute function recoup.policy_version_guard();
create trigger forbidden before update or delete on recoup.policy_version
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.policy_version
  for each statement execute function recoup.forbid();
create trigger wake after insert on recoup.policy_version
  for each statement execute function recoup.wake('policy');

-- What the guards must know of the policy: the governed tables. Nodes read the rest
-- from the policy itself. Only sync_table and retire_tables write here.
create table recoup.error_table (
  table_name          text collate "C" primary key,
  hub                 text not null,
  entity_column       text not null,
  dispositions        text[] not null, -- allowed ones, as they are stored
  default_disposition text not null,
  ttl                 interval,        -- null: kept for ever
  blocks              boolean not null,
  dead_letter         boolean not null default false,
  archive_name        text,
  retention           interval,
  policy_version      text not null,
  retired             boolean not null default false, -- no longer in the policy, rows may remain
  hub_name            text not null default '',       -- as people know the hub
  entity_required     boolean not null default false, -- what has none is kept among the orphans
  orphans             boolean not null default false, -- which is here
  source_rules        jsonb                           -- of rows, where the table is an adopted one (decision 0087)
);

-- The shortest retention that a policy in force has ever given to the archive of a table. An
-- error that an older policy admitted is archived by that policy, of which error_table has
-- no row any more. Only sync_table writes here.
create table recoup.shortest_retention (
  table_name text collate "C" primary key references recoup.error_table,
  retention  interval not null
);

-- The names of the policy that something else has: their errors are governed and
-- kept, only not under that name. sync_name renews it.
create table recoup.name_taken (
  name       text collate "C" primary key, -- of a table, or of its archive
  table_name text not null references recoup.error_table,
  kind       text not null,                -- of what has it: table, view, sequence, …; or why no view could be made
  owner      text,
  since      timestamptz not null default now()
);

-- How long the ledger keeps events and counts (sync_ledger).
create table recoup.ledger_policy (
  one              boolean primary key default true check (one),
  event_retention  interval not null default '2160:00:00' check (event_retention > interval '0'),
  rollup_retention interval not null default '17520:00:00' check (rollup_retention > interval '0'),
  policy_version   text -- whose it is; null: the default
);
insert into recoup.ledger_policy default values;
-- +goose StatementEnd
