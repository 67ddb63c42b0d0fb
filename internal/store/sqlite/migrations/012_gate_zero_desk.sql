-- +goose Up
-- What workers and people need to find at Gate Zero: the intakes that nobody has
-- verified yet, and how many recoveries have failed for which reason.
create index gate_zero_intake_list_idx on gate_zero_intake (coalesce(batch_id, ''), status, intake_id);

-- Who verifies a pending intake at the moment. It only keeps two workers from
-- doing the same: what counts is the first result, whoever brings it.
create table gate_zero_turn (
  intake_id blob not null primary key check (length(intake_id) = 16),
  worker    text,
  ends_at   integer not null
) strict, without rowid;

-- How many recoveries there are by status and last reason, with a batch or
-- without.
create table gate_zero_reason (
  status text not null,
  reason text not null,
  n      integer not null,
  primary key (status, reason)
) strict, without rowid;
insert into gate_zero_reason select status, failure_reason, count(*) from gate_zero_recovery group by 1, 2;

-- +goose StatementBegin
create trigger gate_zero_reason_inserted after insert on gate_zero_recovery begin
  insert into gate_zero_reason values (new.status, new.failure_reason, 1) on conflict do update set n = n + 1;
end;
-- +goose StatementEnd
-- +goose StatementBegin
create trigger gate_zero_reason_moved after update of status, failure_reason on gate_zero_recovery
when new.status <> old.status or new.failure_reason <> old.failure_reason begin
  update gate_zero_reason set n = n - 1 where status = old.status and reason = old.failure_reason;
  insert into gate_zero_reason values (new.status, new.failure_reason, 1) on conflict do update set n = n + 1;
end;
-- +goose StatementEnd
