-- +goose Up
-- +goose StatementBegin
-- Batches of events that were written, by their ids: one that comes by the bus and
-- directly, or twice by the bus, is written once. Ids begin with their time, by which
-- old ones are forgotten.
create table recoup.bus_batch (
  batch_id uuid primary key
);
create trigger forbidden_truncate before truncate on recoup.bus_batch
  for each statement execute function recoup.forbid();

-- Sequences of a stream that were written or put in quarantine. A gap between them is
-- something that the bus has lost, or still holds.
create table recoup.bus_range (
  stream     text collate "C" not null, -- its name and when it was made
  first_seq  bigint not null check (first_seq > 0),
  last_seq   bigint not null,
  written_at timestamptz not null default recoup.clock(), -- of the first of it
  primary key (stream, first_seq, last_seq),
  constraint bus_range_order check (last_seq >= first_seq)
);
create trigger forbidden_truncate before truncate on recoup.bus_range
  for each statement execute function recoup.forbid();
-- +goose StatementEnd
