-- +goose Up
-- What the service needs beside the failures themselves: what was answered, who
-- may ask, who did what, which policy was in force, who leads, what is to be
-- delivered, and how much was processed.

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

-- Who may use the service. Secrets are not here, only their hashes.
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
create index api_key_list_idx on recoup.api_key (created_at, key_id);

-- +goose StatementBegin
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
-- +goose StatementEnd
create trigger guard before insert or update on recoup.api_key
  for each row execute function recoup.api_key_guard();
create trigger forbidden before delete on recoup.api_key
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.api_key
  for each statement execute function recoup.forbid();

-- Who did what, when and why. Written in the commit of the act.
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

-- +goose StatementBegin
-- timely_rows refuses rows that tell of another time than now: what was done is
-- written down when it is done, and never later or for later.
create function recoup.timely_rows() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp as $$
begin
  if exists (select from (select min(at) as first, max(at) as last from added) a
      where not recoup.recent(a.first) or not recoup.recent(a.last)) then
    raise exception using errcode = 'RC001', message = format('a row of %s.%s tells of now, and of no other time', tg_table_schema, tg_table_name);
  end if;
  return null;
end $$;
-- +goose StatementEnd
create trigger guard_insert after insert on recoup.audit referencing new table as added
  for each statement execute function recoup.timely_rows();
create trigger guard_insert after insert on recoup.error_history referencing new table as added
  for each statement execute function recoup.timely_rows();

create trigger forbidden before update or delete on recoup.audit
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.audit
  for each statement execute function recoup.forbid();

-- Every policy that was ever in force. The last one is.
create table recoup.policy_version (
  number   bigint primary key,
  version  text collate "C" not null unique, -- the file's own, which errors record
  hash     bytea not null check (length(hash) = 32),
  text     text not null,
  added_at timestamptz not null,
  added_by text not null,
  reason   text
);

-- +goose StatementBegin
create function recoup.policy_version_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if new.number is distinct from 1 + coalesce((select max(number) from recoup.policy_version), 0) then
    raise exception using errcode = 'RC001', message = 'policies are numbered one by one';
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger guard before insert on recoup.policy_version
  for each row execute function recoup.policy_version_guard();
create trigger forbidden before update or delete on recoup.policy_version
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.policy_version
  for each statement execute function recoup.forbid();

-- What tenants are hashed and payloads are sealed with, itself sealed by nodes.
-- A deleted key leaves its name behind: what it was used for still carries it.
create table recoup.platform_key (
  key_id     text collate "C" primary key,
  purpose    text collate "C" not null,
  secret     bytea,
  created_at timestamptz not null,
  deleted_at timestamptz,
  constraint platform_key_secret check ((secret is null) = (deleted_at is not null))
);
create index platform_key_purpose_idx on recoup.platform_key (purpose, created_at, key_id) where deleted_at is null;

-- +goose StatementBegin
create function recoup.platform_key_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if new.deleted_at is not null then
      raise exception using errcode = 'RC001', message = 'a key begins with a secret';
    end if;
    return new;
  end if;
  if old.deleted_at is not null or new.deleted_at is null
    or (new.key_id, new.purpose, new.created_at) is distinct from (old.key_id, old.purpose, old.created_at) then
    raise exception using errcode = 'RC001', message = 'of a platform key only the secret can be deleted, once';
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger guard before insert or update on recoup.platform_key
  for each row execute function recoup.platform_key_guard();
create trigger forbidden before delete on recoup.platform_key
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.platform_key
  for each statement execute function recoup.forbid();

-- Who leads, and how often that has changed: the number fences off a leader that
-- slept.
create table recoup.leader (
  name    text collate "C" primary key,
  number  bigint not null check (number >= 0), -- 0: nobody has led yet
  holder  text, -- null: the last one has resigned
  ends_at timestamptz,
  constraint leader_held check ((holder is null) = (ends_at is null))
) with (fillfactor = 50);

-- +goose StatementBegin
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
-- +goose StatementEnd
create trigger guard before update on recoup.leader
  for each row execute function recoup.leader_guard();
create trigger forbidden before delete on recoup.leader
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.leader
  for each statement execute function recoup.forbid();

-- How the leader's regular work went the last time.
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

-- +goose StatementBegin
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
-- +goose StatementEnd
create trigger guard before insert or update on recoup.job
  for each row execute function recoup.job_guard();
create trigger forbidden before delete on recoup.job
  for each statement execute function recoup.forbid();
create trigger forbidden_truncate before truncate on recoup.job
  for each statement execute function recoup.forbid();

-- Notices wait, or are delivered, or are given up.
alter table recoup.outbox
  add column given_up_at timestamptz,
  add column last_error  text,
  add column body        json,
  add column dedup_key   text collate "C", -- of what is told once
  add constraint outbox_end check (num_nonnulls(due_at, delivered_at, given_up_at) = 1),
  add constraint outbox_attempts check (attempts >= 0);
create unique index outbox_dedup_key on recoup.outbox (dedup_key) where dedup_key is not null;
create index outbox_end_idx on recoup.outbox (coalesce(delivered_at, given_up_at)) where due_at is null;

-- +goose StatementBegin
create function recoup.outbox_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
declare
  bad text;
begin
  if tg_op = 'DELETE' then
    if old.due_at is not null then
      raise exception using errcode = 'RC001', message = 'a notice that waits is not deleted';
    end if;
    return old;
  end if;
  bad := case
    when old.due_at is null then 'this notice is delivered or given up'
    when (new.notice_id, new.kind, new.recipient, new.error_id, new.created_at, new.dedup_key, new.body::text)
      is distinct from (old.notice_id, old.kind, old.recipient, old.error_id, old.created_at, old.dedup_key, old.body::text)
      then 'what a notice says is permanent'
    when new.attempts not in (old.attempts, old.attempts + 1) then 'attempts are counted one by one'
  end;
  if bad is not null then
    raise exception using errcode = 'RC001', message = bad;
  end if;
  return new;
end $$;
-- +goose StatementEnd
create trigger guard before update or delete on recoup.outbox
  for each row execute function recoup.outbox_guard();
create trigger forbidden_truncate before truncate on recoup.outbox
  for each statement execute function recoup.forbid();

-- How much was done, by minute and by hour: a sum over days reads hours, and
-- minutes only at its edges.
create table recoup.processed_minute (
  minute      timestamptz not null,
  table_name  text collate "C" not null,
  service     text collate "C" not null,
  n           bigint not null check (n >= 0),
  failed      bigint not null check (failed between 0 and n),
  duration_us bigint not null check (duration_us >= 0), -- microseconds
  primary key (minute, table_name, service)
) with (fillfactor = 70);
create table recoup.processed_hour (
  hour        timestamptz not null,
  table_name  text collate "C" not null,
  service     text collate "C" not null,
  n           bigint not null check (n >= 0),
  failed      bigint not null check (failed between 0 and n),
  duration_us bigint not null check (duration_us >= 0), -- microseconds
  primary key (hour, table_name, service)
) with (fillfactor = 50);

-- +goose StatementBegin
-- wake tells whoever listens on the channel recoup that there is something to be
-- looked at. Equal ones of a transaction are told once. It is for what is rare,
-- because transactions that notify commit one after the other: of single reports
-- by eight writers at once it took between a quarter and half of the rate. What reports and steps
-- bring about, nodes tell by themselves, after the commit.
create function recoup.wake() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform pg_notify('recoup', tg_argv[0]);
  return null;
end $$;
-- +goose StatementEnd
create trigger wake after insert on recoup.policy_version
  for each statement execute function recoup.wake('policy');
-- What plain SQL has written waits to be admitted. Rows of reports are admitted.
create trigger wake after insert on recoup.error
  for each row when (new.policy_version is null) execute function recoup.wake('errors');
