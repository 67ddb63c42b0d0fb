-- +goose Up
-- +goose StatementBegin
-- Lists of errors that people come back to: of a person, who alone sees them, or shared
-- within a hub.
create table recoup.saved_view (
  view_id    uuid primary key,
  name       text collate "C" not null check (length(name) between 1 and 100),
  tokens     jsonb not null check (jsonb_typeof(tokens) = 'array' and length(tokens::text) <= 16384),
  owner      text collate "C",
  hub        text collate "C",
  created_at timestamptz not null,
  changed_at timestamptz not null,
  changed_by text not null,
  constraint saved_view_whose check ((owner is null) <> (hub is null)),
  unique (owner, name),
  unique (hub, name)
) with (fillfactor = 70);
create trigger forbidden_truncate before truncate on recoup.saved_view
  for each statement execute function recoup.forbid();
-- +goose StatementEnd
