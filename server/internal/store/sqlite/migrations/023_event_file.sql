-- +goose Up
-- +goose StatementBegin
-- The past as files: of each day, the file that has its events, and how many they are. A
-- file that is written again because events came late takes the place of the older one.
create table event_file (
  day        integer primary key check (day % 86400000000 = 0),
  place      text not null,
  file       text not null,
  version    integer not null check (version > 0),
  events     integer not null check (events >= 0),
  bytes      integer not null check (bytes > 0),
  sha256     text not null check (length(sha256) = 64),
  first_ts   integer,
  last_ts    integer,
  written_at integer not null
) strict;
create trigger event_file_delete before delete on event_file begin
  select raise(abort, 'what is known of a file is kept');
end;

-- Whether events are written to files before their month is dropped, and where.
create table event_filing (
  name  text primary key check (name = 'events'),
  place text not null check (place <> ''),
  since integer not null
) strict;
-- +goose StatementEnd
