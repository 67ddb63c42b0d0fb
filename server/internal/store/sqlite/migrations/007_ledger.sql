-- +goose Up
-- +goose StatementBegin
-- The ledger (spec 003): every failure that was reported, once, for good, and counts
-- of them per hour and per day.

-- Events are facts: nothing changes one, and none is deleted before its month is over.
-- The rows lie in the order of their time, which is how they are listed, counted and
-- purged.
create table error_event (
  event_id         blob not null check (length(event_id) = 16),
  code             text not null, -- of error_code: see the triggers
  correlation_id   blob not null check (length(correlation_id) = 16),
  service          text not null check (service <> ''),
  endpoint         text,
  http_status      integer,
  tenant_hash      text,
  details          text,
  region           text,
  ts               integer not null default (cast(strftime('%s', 'now') as integer) * 1000000 + cast(substr(strftime('%f', 'now'), 4) as integer) * 1000) check (ts >= 0),
  day              integer generated always as (ts - ts % 86400000000) virtual,
  external_service text, -- the provider that failed
  reported_code    text, -- of an unregistered code: the name that was sent
  tenant_key       text, -- which key made tenant_hash
  primary key (ts, event_id),
  constraint error_event_details check (details is null or json_valid(details) and json_type(details) = 'object'
    and length(details) <= 2048 and coalesce(json_type(details, '$.retryable'), 'true') in ('true', 'false')
    and json_remove(details, '$.retryable', '$.field', '$.limit', '$.window_sec', '$.expected_etag', '$.existing_id') = '{}')
) strict, without rowid;
create index error_event_code_idx on error_event (code, ts, event_id);
create index error_event_service_idx on error_event (service, ts, event_id);
create index error_event_correlation_idx on error_event (correlation_id, ts, event_id);

-- Ids of events that carry no time of their own, such as a random UUID, for a day: an
-- event that comes again is recognised by its id, whatever time it is given.
create table event_known (
  event_id blob primary key check (length(event_id) = 16),
  seen_at  integer not null default (cast(unixepoch('subsec') * 1000000 as integer))
) strict, without rowid;
create index event_known_seen_idx on event_known (seen_at);

-- Counts per day (spec 003) and per hour, by the beginning of each. There is one
-- writer, so they are counted in place.
create table error_aggregate_daily (
  day             integer not null,
  service         text not null,
  code            text not null,
  count           integer not null,
  retryable_count integer not null,
  last_seen_at    integer not null,
  primary key (day, service, code)
) strict, without rowid;

create table error_aggregate_hourly (
  hour            integer not null,
  service         text not null,
  code            text not null,
  count           integer not null,
  retryable_count integer not null,
  last_seen_at    integer not null,
  primary key (hour, service, code)
) strict, without rowid;

create index error_aggregate_daily_service_idx on error_aggregate_daily (service, day);
create index error_aggregate_daily_code_idx on error_aggregate_daily (code, day);

-- Nothing is appended to be added up later, as PostgreSQL does: questions that both are
-- asked find nothing here.
create view error_aggregate_delta as
  select 0 as hour, '' as service, '' as code, 0 as count, 0 as retryable_count, 0 as last_seen_at where false;

-- What did not get into the ledger, so that totals stay honest.
create table event_drop (
  day    integer not null,
  reason text not null,
  n      integer not null check (n > 0),
  primary key (day, reason)
) strict, without rowid;

-- Open while a node adds events, whose codes it has checked and which it counts
-- itself, a batch at a time: row by row, by triggers, that costs a third of the rate.
-- For everybody else the triggers do it, and so the counts are always right.
create table event_batch (
  one  integer primary key check (one = 1),
  open integer not null check (open in (0, 1))
) strict;
insert into event_batch values (1, 0);

create trigger error_event_insert before insert on error_event
when not (select open from event_batch) begin
  select case
    when not exists (select 1 from error_code where code = new.code) then raise(abort, 'this code is not registered')
    when exists (select 1 from error_event where ts = new.ts and event_id = new.event_id) then raise(abort, 'this event is known already')
  end;
end;
create trigger error_event_counted after insert on error_event
when not (select open from event_batch) begin
  insert into error_aggregate_hourly select new.ts - new.ts % 3600000000, new.service, new.code, 0, 0, new.ts
    where not exists (select 1 from error_aggregate_hourly
      where hour = new.ts - new.ts % 3600000000 and service = new.service and code = new.code);
  insert into error_aggregate_daily select new.day, new.service, new.code, 0, 0, new.ts
    where not exists (select 1 from error_aggregate_daily where day = new.day and service = new.service and code = new.code);
  update error_aggregate_hourly set count = count + 1, last_seen_at = max(last_seen_at, new.ts), retryable_count = retryable_count
      + coalesce(json_extract(new.details, '$.retryable'), (select retryable from error_code where code = new.code))
    where hour = new.ts - new.ts % 3600000000 and service = new.service and code = new.code;
  update error_aggregate_daily set count = count + 1, last_seen_at = max(last_seen_at, new.ts), retryable_count = retryable_count
      + coalesce(json_extract(new.details, '$.retryable'), (select retryable from error_code where code = new.code))
    where day = new.day and service = new.service and code = new.code;
end;
create trigger error_event_update before update on error_event begin
  select raise(abort, 'an event is a fact');
end;
create trigger error_event_delete before delete on error_event
when (select old.ts < events_until from retention) is not true begin
  select raise(abort, 'the month of this event is not over');
end;
-- +goose StatementEnd
