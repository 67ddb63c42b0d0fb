-- +goose Up
-- +goose StatementBegin
-- Lists of errors that people come back to: private to a key, or shared within a hub. A
-- private view belongs to the first key of a chain of rotations (owner_key), whose later keys
-- have it too. The name of the key (owner) is for display: several keys can have the same.
create table recoup.saved_view (
  view_id    uuid primary key,
  name       text collate "C" not null check (length(name) between 1 and 100),
  tokens     jsonb not null check (jsonb_typeof(tokens) = 'array' and length(tokens::text) <= 16384),
  owner      text collate "C",
  owner_key  uuid references recoup.api_key, -- null: the hub's, or of a server without keys
  hub        text collate "C",
  created_at timestamptz not null,
  changed_at timestamptz not null,
  changed_by text not null,
  constraint saved_view_whose check ((owner is null) <> (hub is null) and (owner_key is null or hub is null)),
  unique (owner_key, name),
  unique (hub, name)
) with (fillfactor = 70);
create index api_key_rotated_idx on recoup.api_key (rotated_to) where rotated_to is not null;
create trigger forbidden_truncate before truncate on recoup.saved_view
  for each statement execute function recoup.forbid();
-- +goose StatementEnd
