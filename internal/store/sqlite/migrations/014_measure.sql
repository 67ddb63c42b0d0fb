-- +goose Up

-- How long what failed has taken, beside all together: failures that cost time
-- are told apart from those that are quick.
alter table processed_minute add column failed_us integer not null default 0 check (failed_us between 0 and duration_us); -- microseconds
alter table processed_hour add column failed_us integer not null default 0 check (failed_us between 0 and duration_us); -- microseconds

-- Levels: an error that leaves is counted as one less, not taken from the count
-- that has it, so that counts of errors that live about as long can be added up
-- meanwhile.
drop trigger error_moved;
drop trigger error_deleted;

-- +goose StatementBegin
create trigger error_moved after update of state, blocking, expires_at on error
when new.state <> old.state or new.blocking <> old.blocking or new.expires_at is not old.expires_at begin
  insert into error_count
    select old.table_name, old.state, ttl, -1, -old.blocking, -iif(ttl > 0, old.created_at / 1000000, 0), -iif(ttl > 0, old.created_at % 1000000, 0)
    from (select iif(old.state <> 'RESOLVED' and old.expires_at > old.created_at, old.expires_at - old.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
  insert into error_count
    select new.table_name, new.state, ttl, 1, new.blocking, iif(ttl > 0, new.created_at / 1000000, 0), iif(ttl > 0, new.created_at % 1000000, 0)
    from (select iif(new.state <> 'RESOLVED' and new.expires_at > new.created_at, new.expires_at - new.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger error_deleted after delete on error begin
  insert into error_count
    select old.table_name, old.state, ttl, -1, -old.blocking, -iif(ttl > 0, old.created_at / 1000000, 0), -iif(ttl > 0, old.created_at % 1000000, 0)
    from (select iif(old.state <> 'RESOLVED' and old.expires_at > old.created_at, old.expires_at - old.created_at, 0) as ttl) where true
    on conflict (table_name, state, ttl_us) do update set n = n + excluded.n, blocking = blocking + excluded.blocking,
      born_s = born_s + excluded.born_s, born_us = born_us + excluded.born_us;
end;
-- +goose StatementEnd

-- Silences that are long over go with the alerts that are.
drop trigger silence_delete;
-- +goose StatementBegin
create trigger silence_delete before delete on silence
when (select old.until < alert_until from retention) is not true begin
  select raise(abort, 'a silence is deleted only when it is long over');
end;
-- +goose StatementEnd
