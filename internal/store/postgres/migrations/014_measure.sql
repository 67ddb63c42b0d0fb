-- +goose Up

-- How long what failed has taken, beside all together: failures that cost time
-- are told apart from those that are quick.
alter table recoup.processed_minute add column failed_us bigint not null default 0, -- microseconds
  add constraint processed_minute_failed_us check (failed_us between 0 and duration_us);
alter table recoup.processed_hour add column failed_us bigint not null default 0, -- microseconds
  add constraint processed_hour_failed_us check (failed_us between 0 and duration_us);

-- A silence is deleted when it is long over, and only as far as purge_silences says
-- for the moment; nodes may not delete from the table at all.
drop trigger forbidden on recoup.silence;
-- +goose StatementBegin
create function recoup.silence_delete() returns trigger language plpgsql
set search_path = pg_catalog, pg_temp as $$
begin
  if old.until < nullif(current_setting('recoup.silences_until', true), '')::timestamptz then
    return old;
  end if;
  raise exception using errcode = 'RC001', message = 'a silence is deleted only when it is long over';
end $$;

-- purge_silences deletes a batch of silences that are long over. The order of the
-- list leads to the oldest.
create function recoup.purge_silences(as_of timestamptz, batch int) returns int
language plpgsql security definer set search_path = pg_catalog, pg_temp as $$
declare n int;
begin
  as_of := least(as_of, recoup.clock() + recoup.tolerance() - interval '365 days');
  perform set_config('recoup.silences_until', as_of::text, true);
  with old as (select silence_id from recoup.silence where created_at < as_of and until < as_of order by created_at, silence_id limit batch)
  delete from recoup.silence s using old where s.silence_id = old.silence_id;
  get diagnostics n = row_count;
  perform set_config('recoup.silences_until', '', true);
  return n;
end $$;
-- +goose StatementEnd
create trigger guard_delete before delete on recoup.silence
  for each row execute function recoup.silence_delete();
