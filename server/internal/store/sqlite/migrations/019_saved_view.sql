-- +goose Up
-- +goose StatementBegin
-- Lists of errors that people come back to: private to a key, or shared within a hub. A
-- private view belongs to the first key of a chain of rotations (owner_key), whose later keys
-- have it too. The name of the key (owner) is for display: several keys can have the same.
create table saved_view (
  view_id    blob not null primary key check (length(view_id) = 16),
  name       text not null check (length(name) between 1 and 100),
  tokens     text not null check (json_type(tokens) = 'array' and length(tokens) <= 16384),
  owner      text,
  owner_key  blob references api_key, -- null: the hub's, or of a server without keys
  hub        text,
  created_at integer not null,
  changed_at integer not null,
  changed_by text not null,
  constraint saved_view_whose check ((owner is null) <> (hub is null) and (owner_key is null or hub is null)),
  unique (owner_key, name),
  unique (hub, name)
) strict;
create index api_key_rotated_idx on api_key (rotated_to) where rotated_to is not null;
-- +goose StatementEnd
