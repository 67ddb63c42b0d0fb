-- +goose Up

-- How long what failed has taken, beside all together: failures that cost time
-- are told apart from those that are quick.
alter table recoup.processed_minute add column failed_us bigint not null default 0, -- microseconds
  add constraint processed_minute_failed_us check (failed_us between 0 and duration_us);
alter table recoup.processed_hour add column failed_us bigint not null default 0, -- microseconds
  add constraint processed_hour_failed_us check (failed_us between 0 and duration_us);
