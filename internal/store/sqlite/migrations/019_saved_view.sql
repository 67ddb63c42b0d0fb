-- +goose Up
-- +goose StatementBegin
-- Lists of errors that people come back to: of a person, who alone sees them, or shared
-- within a hub.
create table saved_view (
  view_id    blob not null primary key check (length(view_id) = 16),
  name       text not null check (length(name) between 1 and 100),
  tokens     text not null check (json_type(tokens) = 'array' and length(tokens) <= 16384),
  owner      text,
  hub        text,
  created_at integer not null,
  changed_at integer not null,
  changed_by text not null,
  constraint saved_view_whose check ((owner is null) <> (hub is null)),
  unique (owner, name),
  unique (hub, name)
) strict;
-- +goose StatementEnd
