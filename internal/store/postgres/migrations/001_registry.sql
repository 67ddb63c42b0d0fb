-- +goose Up
create schema if not exists recoup;
comment on schema recoup is 'Recoup: recorded failures and their lifecycle';

-- clock is the time by which acts are judged. It goes on within a transaction,
-- so that one that waited for a lock does not act on the time before its wait.
-- It is a function of one expression, which costs nothing, and nobody but its
-- owner can replace it, which is how tests set the clock.
create function recoup.clock() returns timestamptz language sql volatile as 'select clock_timestamp()';

-- tolerance is how far from the clock a time may be that a writer brings along: as
-- long as a transaction takes, or a node's clock goes wrong. Tests that live in a
-- time of their own replace it, as they do the clock.
create function recoup.tolerance() returns interval language sql stable as $$select interval '1 minute'$$;

-- timely reports whether a time is now.
create function recoup.timely(at timestamptz) returns boolean language sql volatile as $$
  select at between recoup.clock() - recoup.tolerance() and recoup.clock() + recoup.tolerance()
$$;

-- recent reports whether a time is about now: what nodes write down of themselves
-- must not be lost to a clock of theirs that has jumped and is not yet corrected.
create function recoup.recent(at timestamptz) returns boolean language sql volatile as $$
  select at between recoup.clock() - greatest(recoup.tolerance(), interval '15 minutes')
    and recoup.clock() + greatest(recoup.tolerance(), interval '15 minutes')
$$;

-- +goose StatementBegin
-- forbid refuses a statement outright. RC001 is the state that Recoup's own
-- guards raise; clients recognise it by that, never by its text.
create function recoup.forbid() returns trigger language plpgsql as $$
begin
  raise exception using errcode = 'RC001',
    message = format('%s on %s.%s is forbidden', tg_op, tg_table_schema, tg_table_name);
end $$;
-- +goose StatementEnd

-- The registry of codes (spec 003).
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

create trigger forbidden before delete on recoup.error_code
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.error_code
  for each statement execute function recoup.forbid();
-- +goose StatementBegin
create function recoup.error_code_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.code is distinct from old.code or new.created_at is distinct from old.created_at then
    raise exception using errcode = 'RC001', message = format('the code %s is permanent', old.code);
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger guard before update on recoup.error_code
  for each row execute function recoup.error_code_guard();

-- How long the ledger keeps events and counts, as the policy has it.
create table recoup.ledger_policy (
  one              boolean primary key default true check (one),
  event_retention  interval not null default '2160:00:00' check (event_retention > interval '0'),
  rollup_retention interval not null default '17520:00:00' check (rollup_retention > interval '0'),
  policy_version   text -- whose it is; null: the default
);
insert into recoup.ledger_policy default values;

-- What the database must know of the policy to hold errors to it. The rest of
-- the policy is read by nodes.
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
  orphans             boolean not null default false  -- which is here
);
