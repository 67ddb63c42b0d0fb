-- Six failed intakes of a batch. The recoveries of three have been eligible for one
-- to three days; two of the six are exhausted, and that of the last waits still.
insert into cl.gate_zero_batch (batch_id) values ('2025_annual_outreach');
insert into cl.gate_zero_intake (intake_id, batch_id, company_name)
  select ('00000000-0000-7000-8000-00000000000' || n)::uuid, '2025_annual_outreach', 'company ' || n from generate_series(1, 6) n;
update cl.gate_zero_intake set status = 'FAILED';
insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, created_at, updated_at, next_eligible_at)
  select replace(intake_id::text, '7000', '7001')::uuid, intake_id, batch_id, 'TIMEOUT', t, t, t + interval '24 hours'
  from (select *, now() - case when right(company_name, 1) < '4' then right(company_name, 1)::int + 1 else 12 end * interval '24 hours' as t
    from cl.gate_zero_intake where company_name <> 'company 6') i;
insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason)
  select replace(intake_id::text, '7000', '7001')::uuid, intake_id, batch_id, 'DOMAIN_NOT_FOUND' from cl.gate_zero_intake where company_name = 'company 6';
update cl.gate_zero_recovery set attempt_count = 2, updated_at = next_eligible_at, next_eligible_at = next_eligible_at + interval '72 hours'
  where created_at < now() - interval '11 days';
update cl.gate_zero_recovery set attempt_count = 3, updated_at = next_eligible_at, next_eligible_at = next_eligible_at + interval '168 hours'
  where created_at < now() - interval '11 days';
update cl.gate_zero_recovery set status = 'EXHAUSTED', updated_at = now() where created_at < now() - interval '11 days';
