-- +goose Up
-- +goose StatementBegin
-- What forecasts are made of: what leaves the park queue, what comes into the queue of
-- staged work and leaves it, and the deadlines of what is parked, in the order of time.
alter table activity_minute add column park_left integer not null default 0 check (park_left >= 0); -- for whatever reason
alter table activity_minute add column park_cleared integer not null default 0 check (park_cleared >= 0); -- because somebody unparked, resolved, archived or verified it
alter table activity_minute add column park_reviewed integer not null default 0 check (park_reviewed >= 0); -- review deadlines that were met or fell away with that
alter table activity_minute add column resolved integer not null default 0 check (resolved >= 0); -- without a retry
alter table activity_hour add column park_left integer not null default 0 check (park_left >= 0);
alter table activity_hour add column park_cleared integer not null default 0 check (park_cleared >= 0);
alter table activity_hour add column park_reviewed integer not null default 0 check (park_reviewed >= 0);
alter table activity_hour add column resolved integer not null default 0 check (resolved >= 0);
drop view activity_delta;
create view activity_delta as select 0 as minute, '' as table_name, 0 as reported, 0 as parked, 0 as escalated, 0 as attempts,
  0 as succeeded, 0 as expired, 0 as archived, 0 as retried, 0 as exhausted, 0 as not_parked, 0 as last_parked, 0 as unparked,
  0 as deescalated, 0 as park_left, 0 as park_cleared, 0 as park_reviewed, 0 as resolved where false;

-- How much work came into the queue of a pipeline, and left it.
create table staged_minute (
  minute   integer not null,
  pipeline text not null,
  queued   integer not null,
  finished integer not null,
  primary key (minute, pipeline),
  check (min(queued, finished) >= 0)
) strict, without rowid;
create view staged_delta as select 0 as minute, '' as pipeline, 0 as queued, 0 as finished where false;

-- Review deadlines that are open, and when what is parked expires. A resolved error keeps
-- its expiry until it is archived. SQLite reads what the condition names, too.
create index error_review_idx on error (review_due_at, table_name) where review_due_at is not null;
create index error_park_expiry_idx on error (expires_at, table_name, parked_at) where parked_at is not null and expires_at is not null;
-- +goose StatementEnd
