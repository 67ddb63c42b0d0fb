-- +goose Up
-- What workers and people need to find at Gate Zero: the intakes that nobody has
-- verified yet, and how many recoveries have failed for which reason.
create index gate_zero_intake_list_idx on cl.gate_zero_intake (coalesce(batch_id, ''), status, intake_id);

-- Who verifies a pending intake at the moment. It only keeps two workers from
-- doing the same: what counts is the first result, whoever brings it.
create table cl.gate_zero_turn (
  intake_id uuid primary key,
  worker    text,
  ends_at   timestamptz not null
);

-- How many recoveries there are by status and last reason, with a batch or
-- without, as deltas that the leader folds.
create table cl.gate_zero_reason (
  status text not null,
  reason text not null,
  n      bigint not null
);
insert into cl.gate_zero_reason select status, failure_reason, count(*) from cl.gate_zero_recovery group by 1, 2;

-- +goose StatementBegin
create function cl.reasons_added() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into cl.gate_zero_reason select status, failure_reason, count(*) from added group by 1, 2;
  return null;
end $$;

create function cl.reasons_changed() returns trigger language plpgsql
security definer set search_path = pg_catalog, pg_temp set jit = off as $$
begin
  insert into cl.gate_zero_reason
    select status, failure_reason, sum(d) from (
      select status, failure_reason, 1 as d from changed union all select status, failure_reason, -1 from was) m
    group by 1, 2 having sum(d) <> 0;
  return null;
end $$;
-- +goose StatementEnd

create trigger reason_insert after insert on cl.gate_zero_recovery referencing new table as added
  for each statement execute function cl.reasons_added();
create trigger reason_update after update on cl.gate_zero_recovery referencing old table as was new table as changed
  for each statement execute function cl.reasons_changed();
