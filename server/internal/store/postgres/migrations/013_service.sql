-- +goose Up
-- +goose StatementBegin
-- What the service needs beside the failures themselves: answers to repeated
-- requests, API keys, the audit, keys for encryption, the leader and its jobs, and
-- how much was processed.

-- What was answered to a request, so that the same request again gets the same
-- answer and does nothing. Written in the commit that did what was asked for.
create table recoup.idempotency (
  scope        text collate "C" not null,
  key          text collate "C" not null,
  request_hash bytea not null check (length(request_hash) = 32),
  answer       bytea,
  created_at   timestamptz not null,
  expires_at   timestamptz not null,
  constraint idempotency_pkey primary key (scope, key)
);
create index idempotency_expiry_idx on recoup.idempotency (expires_at);
create trigger forbidden before update on recoup.idempotency
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.idempotency
  for each statement execute function recoup.forbid();

-- API keys. Secrets are not here, only their hashes.
create table recoup.api_key (
  key_id       uuid primary key,
  name         text not null,
  role         text not null check (role in ('ingest', 'worker', 'operator', 'admin', 'reader')),
  hubs         jsonb not null default '[]' check (jsonb_typeof(hubs) = 'array'), -- none: all
  hint         text, -- its first characters
  key_hash     bytea not null unique check (length(key_hash) = 32),
  created_at   timestamptz not null,
  created_by   text not null,
  expires_at   timestamptz, -- null: never
  revoked_at   timestamptz,
  revoked_by   text,
  last_used_at timestamptz,
  rotated_to   uuid references recoup.api_key, -- the key that takes over
  constraint api_key_revoked check ((revoked_at is null) = (revoked_by is null))
) with (fillfactor = 70);
-- By the end of an id, which people type.
create index api_key_id_end_idx on recoup.api_key (substr(uuid_send(key_id), 14));
create index api_key_list_idx on recoup.api_key (created_at, key_id);

-- api_key_guard keeps a key what it is, and lets it come to an end only once.
create function recoup.api_key_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  if tg_op = 'INSERT' then
    if num_nonnulls(new.revoked_at, new.last_used_at, new.rotated_to) > 0 then
      raise exception using errcode = 'RC001', message = 'a key begins unused and valid';
    end if;
    if not recoup.recent(new.created_at) then
      raise exception using errcode = 'RC001', message = 'a key is created now, and at no other time';
    end if;
    return new;
  end if;
  bad := case
    when (new.key_id, new.role, new.hubs, new.hint, new.key_hash, new.created_at, new.created_by)
      is distinct from (old.key_id, old.role, old.hubs, old.hint, old.key_hash, old.created_at, old.created_by)
      then 'what a key is and who made it is permanent'
    when old.revoked_at is not null and (new.name, new.expires_at, new.revoked_at, new.revoked_by, new.rotated_to)
      is distinct from (old.name, old.expires_at, old.revoked_at, old.revoked_by, old.rotated_to)
      then 'a revoked key never comes back'
    when new.expires_at is distinct from old.expires_at and (new.expires_at is null or new.expires_at > old.expires_at)
      then 'a key does not live longer'
    when old.rotated_to is not null and new.rotated_to is distinct from old.rotated_to
      then 'a key has one successor'
    when old.last_used_at is not null and (new.last_used_at is null or new.last_used_at < old.last_used_at)
      then 'a key was used last when it was used last'
  end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;
create trigger guard before insert or update on recoup.api_key
  for each row execute function recoup.api_key_guard();
create trigger forbidden before delete on recoup.api_key
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.api_key
  for each statement execute function recoup.forbid();

-- The audit: who did what, when and why. Written in the commit of the act.
create table recoup.audit (
  seq     bigint generated always as identity primary key,
  at      timestamptz not null,
  actor   text collate "C" not null,
  key_id  uuid, -- the API key that the actor used
  act     text collate "C" not null,
  target  text collate "C",
  reason  text,
  details json
);
create index audit_at_idx on recoup.audit (at, seq);
create index audit_actor_idx on recoup.audit (actor, at, seq);
create index audit_act_idx on recoup.audit (act, at, seq);
create index audit_target_idx on recoup.audit (target, at, seq) where target is not null;
create trigger guard_insert after insert on recoup.audit referencing new table as added
  for each statement execute function recoup.timely_rows();
create trigger forbidden before update or delete on recoup.audit
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.audit
  for each statement execute function recoup.forbid();

-- The keys that payloads are encrypted and tenants are hashed with. They can
-- themselves be encrypted by a master key that is not in the database, and then say
-- by which. A deleted key leaves its name behind: what it was used for still carries it.
create table recoup.platform_key (
  key_id     text collate "C" primary key,
  purpose    text collate "C" not null,
  secret     bytea,
  created_at timestamptz not null,
  deleted_at timestamptz,
  wrapped_by text collate "C", -- the master key; null: the secret is in plaintext
  constraint platform_key_secret check ((secret is null) = (deleted_at is not null))
);
create index platform_key_purpose_idx on recoup.platform_key (purpose, created_at, key_id) where deleted_at is null;

-- platform_key_guard: all live keys that are encrypted are encrypted by the same
-- master key, and from the first of them on no plaintext one is added: else no node
-- could use them all.
create or replace function recoup.platform_key_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.deleted_at is null and exists (
    select from recoup.platform_key where deleted_at is null and key_id <> new.key_id and wrapped_by <> coalesce(new.wrapped_by, '')) then
    raise exception using errcode = 'RC001', message = 'live platform keys are wrapped by another key';
  end if;
  if tg_op = 'INSERT' then
    if new.deleted_at is not null then
      raise exception using errcode = 'RC001', message = 'a key begins with a secret';
    end if;
    return new;
  end if;
  if old.deleted_at is not null
    or (new.key_id, new.purpose, new.created_at) is distinct from (old.key_id, old.purpose, old.created_at)
    or new.deleted_at is null and (new.wrapped_by is null or old.wrapped_by is not null)
    or new.deleted_at is not null and new.wrapped_by is distinct from old.wrapped_by then
    raise exception using errcode = 'RC001', message = 'of a platform key the secret can be deleted, and before that wrapped by another key, once each';
  end if;
  return new;
end $$;
create trigger guard before insert or update on recoup.platform_key
  for each row execute function recoup.platform_key_guard();
create trigger forbidden before delete on recoup.platform_key
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.platform_key
  for each statement execute function recoup.forbid();

-- The leader, and how often it has changed: the number fences off a leader that was
-- paused and comes back.
create table recoup.leader (
  name    text collate "C" primary key,
  number  bigint not null check (number >= 0), -- 0: nobody has led yet
  holder  text, -- null: the last one has resigned
  ends_at timestamptz,
  constraint leader_held check ((holder is null) = (ends_at is null))
) with (fillfactor = 50);

create function recoup.leader_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  bad := case
    when new.name <> old.name then 'a leadership keeps its name'
    when new.number not in (old.number, old.number + 1) then 'terms are numbered one by one'
    when new.number = old.number and new.holder is distinct from old.holder and new.holder is not null
      then 'another leader begins another term'
    when new.number > old.number and new.holder is null then 'a term begins with a leader'
  end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;
create trigger guard before update on recoup.leader
  for each row execute function recoup.leader_guard();
create trigger forbidden before delete on recoup.leader
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.leader
  for each statement execute function recoup.forbid();

-- hold_term refuses a leader whose term is over. The term is held until the
-- commit, so that no other can begin meanwhile, and what the leader writes in it
-- is written one after the other.
create function recoup.hold_term(leader text, term bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform from recoup.leader l where l.name = leader and l.number = term and l.holder is not null for no key update;
  if not found then
    raise exception using errcode = 'RC001', message = 'this term is over: somebody else leads';
  end if;
end $$;

-- How each scheduled job went the last time.
create table recoup.job (
  name        text collate "C" primary key,
  leader      text collate "C" not null,
  term        bigint not null,
  started_at  timestamptz,
  finished_at timestamptz,
  row_count   bigint not null default 0,
  lag_us      bigint not null default 0, -- microseconds
  cursor      text,
  error       text,
  runs        bigint not null default 0,
  failures    bigint not null default 0 check (failures between 0 and runs)
) with (fillfactor = 50);

-- job_guard refuses what a leader writes whose term is over. The term is held
-- until the commit, so that no other can begin meanwhile.
create function recoup.job_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'UPDATE' and new.name <> old.name then
    raise exception using errcode = 'RC001', message = 'a job keeps its name';
  end if;
  perform from recoup.leader l where l.name = new.leader and l.number = new.term and l.holder is not null for share;
  if not found then
    raise exception using errcode = 'RC001', message = 'this term is over: somebody else leads';
  end if;
  return new;
end $$;
create trigger guard before insert or update on recoup.job
  for each row execute function recoup.job_guard();
create trigger forbidden before delete on recoup.job
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.job
  for each statement execute function recoup.forbid();

-- Which workers have claimed lately from an error table or a lane (pipeline/stage), as
-- each node has seen it. A node writes its own rows, every few seconds at most.
create table recoup.worker_heartbeat (
  queue         text collate "C" not null,
  node          text collate "C" not null,
  last_claim_at timestamptz not null,
  workers       jsonb not null,
  primary key (queue, node)
) with (fillfactor = 50);
create index worker_heartbeat_idx on recoup.worker_heartbeat (last_claim_at);

-- How much was processed, by minute and by hour: a sum over days reads hours, and
-- minutes only at its edges.
create table recoup.processed_minute (
  minute      timestamptz not null,
  table_name  text collate "C" not null,
  service     text collate "C" not null,
  n           bigint not null check (n >= 0),
  failed      bigint not null check (failed between 0 and n),
  duration_us bigint not null check (duration_us >= 0), -- microseconds
  failed_us   bigint not null default 0,                -- of them, what failed has taken
  primary key (minute, table_name, service),
  constraint processed_minute_failed_us check (failed_us between 0 and duration_us)
) with (fillfactor = 70);
create table recoup.processed_hour (
  hour        timestamptz not null,
  table_name  text collate "C" not null,
  service     text collate "C" not null,
  n           bigint not null check (n >= 0),
  failed      bigint not null check (failed between 0 and n),
  duration_us bigint not null check (duration_us >= 0),
  failed_us   bigint not null default 0,
  primary key (hour, table_name, service),
  constraint processed_hour_failed_us check (failed_us between 0 and duration_us)
) with (fillfactor = 50);
-- +goose StatementEnd
