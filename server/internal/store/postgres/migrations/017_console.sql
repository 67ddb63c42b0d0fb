-- +goose Up
-- +goose StatementBegin
-- What the console keeps for the people who use it.

-- Who is signed in: each session belongs to the API key that it was made with, and can
-- do what that key can, for as long as the key can. The token that a browser has is not
-- here, only its hash.
create table recoup.session (
  session_hash bytea primary key check (length(session_hash) = 32),
  key_hash     bytea not null references recoup.api_key (key_hash),
  created_at   timestamptz not null,
  seen_at      timestamptz not null,
  ends_at      timestamptz not null,
  constraint session_times check (seen_at >= created_at and ends_at > created_at)
) with (fillfactor = 70);
create index session_end_idx on recoup.session (ends_at);
create index session_key_idx on recoup.session (key_hash, created_at);

-- session_guard keeps a session what it is: of a key, never of another, and no longer than it was to be.
create function recoup.session_guard() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if tg_op = 'INSERT' then
    if not exists (select from recoup.api_key k where k.key_hash = new.key_hash) then
      raise exception using errcode = 'RC001', message = 'a session belongs to a key';
    end if;
    return new;
  end if;
  if (new.session_hash, new.key_hash, new.created_at, new.ends_at) is distinct from (old.session_hash, old.key_hash, old.created_at, old.ends_at)
    or new.seen_at < old.seen_at then
    raise exception using errcode = 'RC001', message = 'of a session only changes when it was seen last, and that goes forward';
  end if;
  return new;
end $$;
create trigger guard before insert or update on recoup.session
  for each row execute function recoup.session_guard();
create trigger forbidden_truncate before truncate on recoup.session
  for each statement execute function recoup.forbid();

-- What happened lately, for pages that show it live. Rows are only ever added, in about
-- this order, so that the ranges of pages tell: writers pay next to nothing for it.
create index transition_at_idx on recoup.transition using brin (at) with (pages_per_range = 32, autosummarize = on);
-- +goose StatementEnd
