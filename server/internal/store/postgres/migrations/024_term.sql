-- +goose Up
-- +goose StatementBegin
-- hold_term refuses a leader whose term is over. It is the last statement before a commit:
-- the term is held until then, so that no other can begin meanwhile, and never while the
-- leader thinks. Its state is its own, so that nobody takes it for a row that a guard
-- refuses.
create or replace function recoup.hold_term(leader text, term bigint) returns void language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  perform from recoup.leader l where l.name = leader and l.number = term and l.holder is not null for share;
  if not found then
    raise exception using errcode = 'RC003', message = 'this term is over: somebody else leads';
  end if;
end $$;

-- What a binary must know of the schema to work on it, from a migration on: the number of
-- its own last one. A migration that nodes of the version before can go on beside says so
-- with a row; without one they refuse to start.
create table recoup.schema_needs (
  version bigint primary key,
  needs   bigint not null check (needs between 1 and version)
);
insert into recoup.schema_needs values (24, 24);
-- +goose StatementEnd
