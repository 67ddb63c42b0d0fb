-- +goose Up
-- +goose StatementBegin
-- What the console keeps for the people who use it.

-- Who is signed in: each session belongs to the API key that it was made with, and can
-- do what that key can, for as long as the key can. The token that a browser has is not
-- here, only its hash.
create table session (
  session_hash blob not null primary key check (length(session_hash) = 32),
  key_hash     blob not null references api_key (key_hash),
  created_at   integer not null,
  seen_at      integer not null,
  ends_at      integer not null,
  constraint session_times check (seen_at >= created_at and ends_at > created_at)
) strict, without rowid;
create index session_end_idx on session (ends_at);
create index session_key_idx on session (key_hash, created_at);

-- A session is of a key, never of another, and lasts no longer than it was to.
create trigger session_insert before insert on session begin
  select case
    when exists (select 1 from session where session_hash = new.session_hash)
      then raise(abort, 'this session exists already')
    when not exists (select 1 from api_key where key_hash = new.key_hash)
      then raise(abort, 'a session belongs to a key')
  end;
end;
create trigger session_update before update on session
when new.session_hash is not old.session_hash or new.key_hash is not old.key_hash or new.created_at is not old.created_at
  or new.ends_at is not old.ends_at or new.seen_at < old.seen_at begin
  select raise(abort, 'of a session only changes when it was seen last, and that goes forward');
end;
-- +goose StatementEnd
