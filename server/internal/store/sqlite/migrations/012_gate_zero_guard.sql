-- +goose Up
-- +goose StatementBegin
-- What no writer of Gate Zero can do, and what follows from each write.

-- Batches.
create trigger gate_zero_batch_insert before insert on gate_zero_batch begin
  select case
    when exists (select 1 from gate_zero_batch where batch_id = new.batch_id)
      then raise(abort, 'this batch exists already')
    when new.completed_at is not null or new.batch_freeze_at is not null or new.frozen_at is not null
      then raise(abort, 'a batch begins open: complete it when its import is done')
    when new.killed_at is not null
      then raise(abort, 'a batch begins with its kill switch off: turn that on when it is there')
  end;
end;
create trigger gate_zero_batch_inserted after insert on gate_zero_batch begin
  insert into gate_zero_count select new.batch_id, column1, 0 from (values
    ('PENDING'), ('FAILED'), ('AUTHORIZED'), ('REENTER_SUCCEEDED'), ('ACTIVE'), ('EXHAUSTED'), ('SUCCEEDED'));
end;
create trigger gate_zero_batch_update before update on gate_zero_batch begin
  select case
    when new.batch_id is not old.batch_id or new.created_at is not old.created_at
      then raise(abort, 'what a batch is and when it was made is permanent')
    when old.completed_at is not null
      and (new.completed_at is not old.completed_at or new.batch_freeze_at is not old.batch_freeze_at)
      then raise(abort, 'the time of this batch runs already')
    when old.completed_at is null and new.completed_at is not null
      and abs(new.batch_freeze_at - new.completed_at - (select lasts from gate_zero_wait where attempt = 0)) > 60000000
      then raise(abort, 'a batch freezes when its window is over, and at no other time')
    when old.frozen_at is not null and new.frozen_at is not old.frozen_at
      then raise(abort, 'this batch is frozen for good')
    when old.frozen_at is null and new.frozen_at is not null and exists (select 1 from gate_zero_recovery
        where coalesce(batch_id, '') = new.batch_id and status = 'ACTIVE')
      then raise(abort, 'recoveries of this batch are ACTIVE')
  end;
end;
create trigger gate_zero_batch_delete before delete on gate_zero_batch begin
  select raise(abort, 'a batch is kept for good');
end;

-- Intakes.
-- An import is held to this by its first row; the others agree with that in all that
-- is asked here but their keys, which are unique, and it counts them itself.
create trigger gate_zero_intake_insert before insert on gate_zero_intake when (select batch from tally) is not 1 begin
  select case
    when exists (select 1 from gate_zero_intake where intake_id = new.intake_id)
      then raise(abort, 'this intake exists already')
    when new.import_key is not null and exists (select 1 from gate_zero_intake
        where coalesce(batch_id, '') = coalesce(new.batch_id, '') and import_key = new.import_key)
      then raise(abort, 'this line of the import exists already')
    when new.batch_id is not null and (select new.previous_intake_id is null and completed_at is not null
        from gate_zero_batch where batch_id = new.batch_id) is not 0
      then raise(abort, 'there is no such batch, or its import is complete')
    when new.previous_intake_id is null and new.status <> 'PENDING'
      then raise(abort, 'an intake begins PENDING')
    when new.previous_intake_id is not null and new.status <> 'AUTHORIZED'
      then raise(abort, 'what takes over after a recovery is AUTHORIZED')
    when new.previous_intake_id is not null and not exists (select 1 from gate_zero_intake
        where intake_id = new.previous_intake_id and status = 'FAILED' and batch_id is new.batch_id)
      then raise(abort, 'an intake can take over only from a failed one of its batch')
    when new.previous_intake_id is not null and exists (select 1 from gate_zero_intake
        where previous_intake_id = new.previous_intake_id)
      then raise(abort, 'another intake took over already')
  end;
end;
create trigger gate_zero_intake_inserted after insert on gate_zero_intake
when new.batch_id is not null and (select batch from tally) is not 1 begin
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
create trigger gate_zero_intake_update before update on gate_zero_intake begin
  select case
    when new.intake_id is not old.intake_id or new.batch_id is not old.batch_id or new.import_key is not old.import_key
      or new.company_name is not old.company_name or new.domain is not old.domain or new.linkedin_url is not old.linkedin_url
      or new.state is not old.state or new.previous_intake_id is not old.previous_intake_id or new.created_at is not old.created_at
      then raise(abort, 'what an intake is and when it came is permanent')
    when new.status is not old.status
      and not (old.status = 'PENDING' and new.status in ('FAILED', 'AUTHORIZED'))
      and not (old.status = 'FAILED' and new.status = 'REENTER_SUCCEEDED'
        and exists (select 1 from gate_zero_intake where previous_intake_id = old.intake_id)
        and exists (select 1 from gate_zero_recovery where intake_id = old.intake_id and status = 'SUCCEEDED'))
      then raise(abort, 'an intake does not change its status like that')
  end;
end;
create trigger gate_zero_intake_moved after update of status on gate_zero_intake when new.status <> old.status begin
  update gate_zero_count set n = n - 1 where batch_id = old.batch_id and status = old.status;
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
create trigger gate_zero_intake_delete before delete on gate_zero_intake begin
  select raise(abort, 'an intake is kept for good');
end;

-- Recoveries.
create trigger gate_zero_recovery_insert before insert on gate_zero_recovery begin
  select case
    when exists (select 1 from gate_zero_recovery where recovery_id = new.recovery_id)
      then raise(abort, 'this recovery exists already')
    when exists (select 1 from gate_zero_recovery where intake_id = new.intake_id)
      then raise(abort, 'this intake has a recovery already')
    when not exists (select 1 from gate_zero_intake where intake_id = new.intake_id and status = 'FAILED')
      then raise(abort, 'only a failed intake is recovered')
    when not exists (select 1 from gate_zero_intake where intake_id = new.intake_id and batch_id is new.batch_id)
      then raise(abort, 'a recovery belongs to the batch of its intake')
    when new.attempt_count is not 1
      then raise(abort, 'the first attempt comes first')
    when abs(new.next_eligible_at - new.created_at - (select lasts from gate_zero_wait where attempt = 1)) > 60000000
      then raise(abort, 'a recovery waits as long as the schedule says before it is retried')
    when not exists (select 1 from gate_zero_failure where reason = new.failure_reason)
      then raise(abort, 'unknown failure_reason: the table gate_zero_failure has those that there are')
    when new.status is not case when exists (select 1 from gate_zero_batch where batch_id = new.batch_id
        and (frozen_at is not null or batch_freeze_at <= new.created_at)) then 'EXHAUSTED' else 'ACTIVE' end
      then raise(abort, 'a recovery begins ACTIVE or, in a frozen batch, EXHAUSTED')
  end;
end;
create trigger gate_zero_recovery_inserted after insert on gate_zero_recovery begin
  insert into gate_zero_reason values (new.status, new.failure_reason, 1) on conflict do update set n = n + 1;
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
create trigger gate_zero_recovery_update before update on gate_zero_recovery begin
  select case
    when new.recovery_id is not old.recovery_id or new.intake_id is not old.intake_id
      or new.batch_id is not old.batch_id or new.created_at is not old.created_at
      then raise(abort, 'what a recovery is of and when it began is permanent')
    when old.status <> 'ACTIVE'
      then raise(abort, 'this recovery is over for good')
    when new.attempt_count is not old.attempt_count and new.attempt_count is not old.attempt_count + 1
      then raise(abort, 'attempts are counted one by one')
    when (select count(*) from gate_zero_air where intake_id = old.intake_id and event = 'FAIL') < old.attempt_count
      then raise(abort, 'the AIR does not tell of its last attempt: add the FAIL row of that first')
    when new.next_eligible_at is not old.next_eligible_at and new.attempt_count is old.attempt_count
      then raise(abort, 'only a failed attempt moves the time of the next')
    when new.attempt_count is not old.attempt_count and coalesce(abs(new.next_eligible_at - new.updated_at
        - (select lasts from gate_zero_wait where attempt = new.attempt_count)) > 60000000, 1)
      then raise(abort, 'a recovery waits as long as the schedule says before it is retried again')
    when (new.attempt_count is not old.attempt_count or new.failure_reason is not old.failure_reason)
      and not exists (select 1 from gate_zero_failure where reason = new.failure_reason)
      then raise(abort, 'unknown failure_reason: the table gate_zero_failure has those that there are')
    when new.failure_reason is not old.failure_reason and new.attempt_count is old.attempt_count and new.status <> 'EXHAUSTED'
      then raise(abort, 'only a failed attempt has a reason')
    when new.updated_at < old.next_eligible_at and (new.attempt_count is not old.attempt_count or new.status = 'SUCCEEDED'
      or new.failure_reason is not old.failure_reason)
      then raise(abort, 'this recovery is not eligible yet')
    when new.status = 'EXHAUSTED'
      and (new.updated_at < old.next_eligible_at or old.attempt_count < (select max(attempt) from gate_zero_wait))
      and not exists (select 1 from gate_zero_batch where batch_id = new.batch_id and batch_freeze_at <= new.updated_at)
      then raise(abort, 'this recovery has attempts left, and its batch is not frozen')
  end;
end;
create trigger gate_zero_recovery_moved after update of status on gate_zero_recovery when new.status <> old.status begin
  update gate_zero_count set n = n - 1 where batch_id = old.batch_id and status = old.status;
  update gate_zero_count set n = n + 1 where batch_id = new.batch_id and status = new.status;
end;
create trigger gate_zero_reason_moved after update of status, failure_reason on gate_zero_recovery
when new.status <> old.status or new.failure_reason <> old.failure_reason begin
  update gate_zero_reason set n = n - 1 where status = old.status and reason = old.failure_reason;
  insert into gate_zero_reason values (new.status, new.failure_reason, 1) on conflict do update set n = n + 1;
end;
create trigger gate_zero_recovery_delete before delete on gate_zero_recovery begin
  select raise(abort, 'a recovery is kept for good');
end;

-- Leases: one begins, is only ever extended and expires, so that the AIR can be held
-- to them. That its time is over is the node's to say: the file has no clock of its
-- own that nobody can set.
create trigger gate_zero_lease_insert after insert on gate_zero_lease when new.lapses > 0 or new.ends_at <= new.leased_at begin
  select raise(abort, 'a lease takes time, and none of this recovery has run out yet');
end;
create trigger gate_zero_lease_update before update on gate_zero_lease begin
  select case
    when new.recovery_id is not old.recovery_id
      then raise(abort, 'a lease is of its recovery for good')
    when new.lapses < old.lapses
      then raise(abort, 'lapses are counted until an attempt is used')
    when new.lapses > old.lapses and (new.lapses > old.lapses + 1 or old.token is null or new.token is old.token)
      then raise(abort, 'no lease of this recovery has run out')
    when new.token is old.token and (new.leased_at is not old.leased_at or new.ends_at < old.ends_at)
      then raise(abort, 'a lease is only ever extended')
    when new.token is not old.token and new.ends_at <= new.leased_at
      then raise(abort, 'a lease takes time')
    when old.token is not null and new.token is not null and new.token is not old.token and new.lapses = old.lapses
      then raise(abort, 'a worker holds this recovery')
    when new.token is not null and new.token is not old.token and exists (select 1 from gate_zero_recovery r
        join gate_zero_batch b on b.batch_id = r.batch_id where r.recovery_id = new.recovery_id and b.killed_at is not null)
      then raise(abort, 'its batch is stopped by the kill switch')
  end;
end;

-- The AIR records only what is so, once.
create trigger gate_zero_air_insert before insert on gate_zero_air begin
  select case
    when exists (select 1 from gate_zero_air where air_id = new.air_id)
      then raise(abort, 'the AIR is never rewritten')
    when new.intake_id is null and not exists (select 1 from gate_zero_batch where batch_id = new.batch_id
        and case new.event when 'KILL' then killed_at is not null when 'RELEASE' then killed_at is null else frozen_at is not null end)
      then raise(abort, 'the AIR tells of a batch only what is so')
    when new.intake_id is not null and not exists (select 1 from gate_zero_intake i
        left join gate_zero_recovery r on r.intake_id = i.intake_id
        where i.intake_id = new.intake_id and i.batch_id is new.batch_id and case
          when new.event = 'AUTH' and r.recovery_id is null then i.status = 'AUTHORIZED'
          when r.recovery_id is null or new.recovery_id <> r.recovery_id then 0
          when new.event in ('AUTH', 'REENTER') then r.status = 'SUCCEEDED'
          when new.event in ('EXHAUSTED', 'LATE_RESULT') then r.status = 'EXHAUSTED'
          when new.event = 'FAIL' then coalesce(new.attempt_count, 1) <= r.attempt_count and (select count(*) from gate_zero_air f
            where f.intake_id = new.intake_id and f.event = 'FAIL') < r.attempt_count + (r.status = 'EXHAUSTED')
          when new.event = 'LAPSE' then new.attempt_count is r.attempt_count and (select count(*) from gate_zero_air f
            where f.intake_id = new.intake_id and f.event = 'LAPSE' and f.attempt_count = r.attempt_count)
            < coalesce((select lapses from gate_zero_lease where recovery_id = r.recovery_id), 0)
          when new.event = 'REVOKE' then exists (select 1 from gate_zero_batch b where b.batch_id = new.batch_id and b.killed_at is not null)
            and not exists (select 1 from gate_zero_lease where recovery_id = r.recovery_id and token is not null)
          else 1 end)
      then raise(abort, 'the AIR tells of an intake only what is so, once: change its recovery first')
  end;
end;
create trigger gate_zero_air_update before update on gate_zero_air begin
  select raise(abort, 'the AIR is never rewritten');
end;
create trigger gate_zero_air_delete before delete on gate_zero_air begin
  select raise(abort, 'the AIR is never rewritten');
end;
-- +goose StatementEnd
