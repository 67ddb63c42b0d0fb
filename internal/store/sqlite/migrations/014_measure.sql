-- +goose Up

-- How long what failed has taken, beside all together: failures that cost time
-- are told apart from those that are quick.
alter table processed_minute add column failed_us integer not null default 0 check (failed_us between 0 and duration_us); -- microseconds
alter table processed_hour add column failed_us integer not null default 0 check (failed_us between 0 and duration_us); -- microseconds

-- Silences that are long over go with the alerts that are.
drop trigger silence_delete;
-- +goose StatementBegin
create trigger silence_delete before delete on silence
when (select old.until < alert_until from retention) is not true begin
  select raise(abort, 'a silence is deleted only when it is long over');
end;
-- +goose StatementEnd
