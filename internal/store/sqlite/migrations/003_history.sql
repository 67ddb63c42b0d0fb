-- +goose Up
-- What happened to each error, by whom and why. Rows outlive their error, which
-- moves to the archive, so there is no foreign key.
create table error_history (
  seq            integer primary key check (seq > 0),
  error_id       blob not null check (length(error_id) = 16),
  at             integer not null,
  input          text not null,
  actor          text not null,
  reason         text,
  before         text check (before is null or json_valid(before)),
  after          text not null check (json_valid(after)),
  policy_version text not null,
  worker         text,
  claimed_at     integer,
  attempt        blob check (length(attempt) = 16)
) strict;
create index error_history_idx on error_history (error_id, at);
create index error_history_at_idx on error_history (at);

-- The count of an entity's failures in a family of codes (spec 000, 9.2).
create table entity_streak (
  family    text not null,
  entity_id text not null,
  count     integer not null check (count > 0),
  primary key (family, entity_id)
) strict, without rowid;

-- How many errors a table has in each state. There is one writer, so the
-- triggers count in place.
create table error_count (
  table_name text not null,
  state      text not null,
  n          integer not null,
  primary key (table_name, state)
) strict, without rowid;

-- +goose StatementBegin
create trigger error_table_counted after insert on error_table begin
  insert into error_count select new.table_name, column1, 0
    from (values ('ACTIVE'), ('RETRY_PENDING'), ('PARKED'), ('ESCALATED'), ('RESOLVED'));
end;
-- +goose StatementEnd

-- What people are to be told, written in the commit that caused it.
create table outbox (
  notice_id    blob not null primary key default (randomblob(16)) check (length(notice_id) = 16),
  kind         text not null,
  recipient    text not null,
  error_id     blob check (length(error_id) = 16),
  created_at   integer not null,
  due_at       integer,               -- null: delivered or given up
  attempts     integer not null default 0,
  delivered_at integer
) strict;
create index outbox_due_idx on outbox (due_at) where due_at is not null;

-- How far back the running purge may delete; null, and so nothing may be
-- deleted, whenever none is running. Whoever owns the file can write to it: it
-- keeps mistakes away, not intent.
create table retention (
  one           integer primary key check (one = 1),
  archive_until integer,
  history_until integer
) strict;
insert into retention (one) values (1);

-- +goose StatementBegin
create trigger error_history_insert before insert on error_history
when exists (select 1 from error_history where seq = new.seq) begin
  select raise(abort, 'history is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_history_update before update on error_history begin
  select raise(abort, 'history is never rewritten');
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_history_delete before delete on error_history
when (select old.at < history_until from retention) is not true begin
  select raise(abort, 'history is kept as long as an error can be');
end;
-- +goose StatementEnd
