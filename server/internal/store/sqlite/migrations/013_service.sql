-- +goose Up
-- +goose StatementBegin
-- What the service needs beside the failures themselves: answers to repeated
-- requests, API keys, the audit, keys for encryption, the leader and its jobs, and
-- how much was processed.

-- What was answered to a request, so that the same request again gets the same
-- answer and does nothing. Written in the commit that did what was asked for.
create table idempotency (
  scope        text not null,
  key          text not null,
  request_hash blob not null check (length(request_hash) = 32),
  answer       blob,
  created_at   integer not null,
  expires_at   integer not null,
  primary key (scope, key)
) strict, without rowid;
create index idempotency_expiry_idx on idempotency (expires_at);

create trigger idempotency_insert before insert on idempotency
when exists (select 1 from idempotency where scope = new.scope and key = new.key) begin
  select raise(abort, 'this request is answered already');
end;
create trigger idempotency_update before update on idempotency begin
  select raise(abort, 'an answer is never rewritten');
end;

-- API keys. Secrets are not here, only their hashes.
create table api_key (
  key_id       blob not null primary key check (length(key_id) = 16),
  name         text not null,
  role         text not null check (role in ('ingest', 'worker', 'operator', 'admin', 'reader')),
  hubs         text not null default '[]' check (json_valid(hubs) and json_type(hubs) = 'array'), -- none: all
  hint         text, -- its first characters
  key_hash     blob not null unique check (length(key_hash) = 32),
  created_at   integer not null,
  created_by   text not null,
  expires_at   integer, -- null: never
  revoked_at   integer,
  revoked_by   text,
  last_used_at integer,
  rotated_to   blob references api_key, -- the key that takes over
  constraint api_key_revoked check ((revoked_at is null) = (revoked_by is null))
) strict, without rowid;
-- By the end of an id, which people type.
create index api_key_id_end_idx on api_key (substr(key_id, 14));
create index api_key_list_idx on api_key (created_at, key_id);

create trigger api_key_insert before insert on api_key begin
  select case
    when exists (select 1 from api_key where key_id = new.key_id) or exists (select 1 from api_key where key_hash = new.key_hash)
      then raise(abort, 'this key exists already')
    when new.revoked_at is not null or new.last_used_at is not null or new.rotated_to is not null
      then raise(abort, 'a key begins unused and valid')
  end;
end;
create trigger api_key_update before update on api_key begin
  select case
    when new.key_id is not old.key_id or new.role is not old.role or new.hubs is not old.hubs or new.hint is not old.hint
      or new.key_hash is not old.key_hash or new.created_at is not old.created_at or new.created_by is not old.created_by
      then raise(abort, 'what a key is and who made it is permanent')
    when old.revoked_at is not null and (new.name is not old.name or new.expires_at is not old.expires_at
      or new.revoked_at is not old.revoked_at or new.revoked_by is not old.revoked_by or new.rotated_to is not old.rotated_to)
      then raise(abort, 'a revoked key never comes back')
    when new.expires_at is not old.expires_at and (new.expires_at is null or new.expires_at > old.expires_at)
      then raise(abort, 'a key does not live longer')
    when old.rotated_to is not null and new.rotated_to is not old.rotated_to
      then raise(abort, 'a key has one successor')
    when old.last_used_at is not null and (new.last_used_at is null or new.last_used_at < old.last_used_at)
      then raise(abort, 'a key was used last when it was used last')
  end;
end;
create trigger api_key_delete before delete on api_key begin
  select raise(abort, 'a key is revoked, never deleted');
end;

-- The audit: who did what, when and why. Written in the commit of the act.
create table audit (
  seq     integer primary key check (seq > 0),
  at      integer not null,
  actor   text not null,
  key_id  blob check (length(key_id) = 16), -- the API key that the actor used
  act     text not null,
  target  text,
  reason  text,
  details text check (details is null or json_valid(details))
) strict;
create index audit_at_idx on audit (at, seq);
create index audit_actor_idx on audit (actor, at, seq);
create index audit_act_idx on audit (act, at, seq);
create index audit_target_idx on audit (target, at, seq) where target is not null;

create trigger audit_insert before insert on audit
when exists (select 1 from audit where seq = new.seq) begin
  select raise(abort, 'the audit is never rewritten');
end;
create trigger audit_update before update on audit begin
  select raise(abort, 'the audit is never rewritten');
end;
create trigger audit_delete before delete on audit begin
  select raise(abort, 'the audit is never rewritten');
end;

-- The keys that payloads are encrypted and tenants are hashed with. They can
-- themselves be encrypted by a master key that is not in the file, and then say by
-- which. A deleted key leaves its name behind: what it was used for still carries it.
create table platform_key (
  key_id     text not null primary key,
  purpose    text not null,
  secret     blob,
  created_at integer not null,
  deleted_at integer,
  wrapped_by text, -- the master key; null: the secret is in plaintext
  constraint platform_key_secret check ((secret is null) = (deleted_at is not null))
) strict;
create index platform_key_purpose_idx on platform_key (purpose, created_at, key_id) where deleted_at is null;

-- All live keys that are encrypted are encrypted by the same master key, and from the
-- first of them on no plaintext one is added: else no node could use them all.
create trigger platform_key_insert before insert on platform_key begin
  select case
    when exists (select 1 from platform_key where key_id = new.key_id) or exists (select 1 from platform_key where rowid = new.rowid)
      then raise(abort, 'this key exists already, or did')
    when new.deleted_at is not null
      then raise(abort, 'a key begins with a secret')
    when exists (select 1 from platform_key where deleted_at is null and wrapped_by <> coalesce(new.wrapped_by, ''))
      then raise(abort, 'live platform keys are wrapped by another key')
  end;
end;
create trigger platform_key_inserted after insert on platform_key when new.rowid < 1 begin
  select raise(abort, 'a row number is positive');
end;
create trigger platform_key_update before update on platform_key
when old.deleted_at is not null or new.key_id is not old.key_id or new.rowid is not old.rowid
  or new.purpose is not old.purpose or new.created_at is not old.created_at
  or new.deleted_at is null and (new.wrapped_by is null or old.wrapped_by is not null
    or exists (select 1 from platform_key where deleted_at is null and wrapped_by <> new.wrapped_by))
  or new.deleted_at is not null and new.wrapped_by is not old.wrapped_by begin
  select raise(abort, 'of a platform key the secret can be deleted, and before that wrapped by another key, once each');
end;
create trigger platform_key_delete before delete on platform_key begin
  select raise(abort, 'of a platform key only the secret can be deleted, once');
end;

-- The leader, and how often it has changed: the number fences off a leader that was
-- paused and comes back.
create table leader (
  name    text not null primary key,
  number  integer not null check (number >= 0), -- 0: nobody has led yet
  holder  text, -- null: the last one has resigned
  ends_at integer,
  constraint leader_held check ((holder is null) = (ends_at is null))
) strict, without rowid;

create trigger leader_insert before insert on leader
when exists (select 1 from leader where name = new.name) begin
  select raise(abort, 'terms are numbered one by one');
end;
create trigger leader_update before update on leader begin
  select case
    when new.name is not old.name
      then raise(abort, 'a leadership keeps its name')
    when new.number not in (old.number, old.number + 1)
      then raise(abort, 'terms are numbered one by one')
    when new.number = old.number and new.holder is not old.holder and new.holder is not null
      then raise(abort, 'another leader begins another term')
    when new.number > old.number and new.holder is null
      then raise(abort, 'a term begins with a leader')
  end;
end;
create trigger leader_delete before delete on leader begin
  select raise(abort, 'terms are numbered one by one');
end;

-- How each scheduled job went the last time.
create table job (
  name        text not null primary key,
  leader      text not null,
  term        integer not null,
  started_at  integer,
  finished_at integer,
  row_count   integer not null default 0,
  lag_us      integer not null default 0, -- microseconds
  cursor      text,
  error       text,
  runs        integer not null default 0,
  failures    integer not null default 0 check (failures between 0 and runs)
) strict, without rowid;

create trigger job_insert before insert on job
when not exists (select 1 from leader where name = new.leader and number = new.term and holder is not null) begin
  select raise(abort, 'this term is over: somebody else leads');
end;
create trigger job_update before update on job begin
  select case
    when new.name is not old.name
      then raise(abort, 'a job keeps its name')
    when not exists (select 1 from leader where name = new.leader and number = new.term and holder is not null)
      then raise(abort, 'this term is over: somebody else leads')
  end;
end;
create trigger job_delete before delete on job begin
  select raise(abort, 'what is known of a job is kept');
end;

-- Which workers have claimed lately from an error table or a lane (pipeline/stage), as
-- each node has seen it. A node writes its own rows, every few seconds at most.
create table worker_heartbeat (
  queue         text not null,
  node          text not null,
  last_claim_at integer not null,
  workers       text not null check (json_valid(workers)),
  primary key (queue, node)
) strict, without rowid;
create index worker_heartbeat_idx on worker_heartbeat (last_claim_at);

-- How much was processed, by minute and by hour: a sum over days reads hours, and
-- minutes only at its edges.
create table processed_minute (
  minute      integer not null,
  table_name  text not null,
  service     text not null,
  n           integer not null check (n >= 0),
  failed      integer not null check (failed between 0 and n),
  duration_us integer not null check (duration_us >= 0), -- microseconds
  failed_us   integer not null default 0 check (failed_us between 0 and duration_us), -- of them, what failed has taken
  primary key (minute, table_name, service)
) strict, without rowid;
create table processed_hour (
  hour        integer not null,
  table_name  text not null,
  service     text not null,
  n           integer not null check (n >= 0),
  failed      integer not null check (failed between 0 and n),
  duration_us integer not null check (duration_us >= 0),
  failed_us   integer not null default 0 check (failed_us between 0 and duration_us),
  primary key (hour, table_name, service)
) strict, without rowid;
-- +goose StatementEnd
