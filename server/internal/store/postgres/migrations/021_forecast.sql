-- +goose Up
-- +goose StatementBegin
-- What forecasts are made of: what leaves the park queue, what comes into the queue of
-- staged work and leaves it, and the deadlines of what is parked, in the order of time.
alter table recoup.activity_minute
  add column park_left bigint not null default 0, -- for whatever reason
  add column park_cleared bigint not null default 0, -- because somebody unparked, resolved, archived or verified it
  add column park_reviewed bigint not null default 0, -- review deadlines that were met or fell away with that
  add column resolved bigint not null default 0, -- without a retry
  add constraint activity_minute_park check (least(park_left, park_cleared, park_reviewed, resolved) >= 0);
alter table recoup.activity_hour
  add column park_left bigint not null default 0,
  add column park_cleared bigint not null default 0,
  add column park_reviewed bigint not null default 0,
  add column resolved bigint not null default 0,
  add constraint activity_hour_park check (least(park_left, park_cleared, park_reviewed, resolved) >= 0);
alter table recoup.activity_delta
  add column park_left bigint not null default 0,
  add column park_cleared bigint not null default 0,
  add column park_reviewed bigint not null default 0,
  add column resolved bigint not null default 0,
  add constraint activity_delta_park check (least(park_left, park_cleared, park_reviewed, resolved) >= 0);

-- How much work came into the queue of a pipeline, and left it.
create table recoup.staged_minute (
  minute   timestamptz not null,
  pipeline text collate "C" not null,
  queued   bigint not null,
  finished bigint not null,
  primary key (minute, pipeline),
  constraint staged_minute_counts check (least(queued, finished) >= 0)
) with (fillfactor = 70);
create table recoup.staged_delta (like recoup.staged_minute including constraints);
create index staged_delta_idx on recoup.staged_delta using brin (minute);

-- Review deadlines that are open, and when what is parked expires. A resolved error keeps
-- its expiry until it is archived. Neither time is changed by the result of a retry.
create index error_review_idx on recoup.error (review_due_at, table_name) where review_due_at is not null;
create index error_park_expiry_idx on recoup.error (expires_at, table_name) where parked_at is not null and expires_at is not null;
-- +goose StatementEnd
