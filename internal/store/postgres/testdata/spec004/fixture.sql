-- Six failed intakes of a batch. The recoveries of four have waited for one to
-- four days; two of the six are exhausted, and that of the last waits still.
insert into cl.gate_zero_batch (batch_id) values ('2025_annual_outreach');
insert into cl.gate_zero_intake (intake_id, batch_id, company_name)
  select ('00000000-0000-7000-8000-00000000000' || n)::uuid, '2025_annual_outreach', 'company ' || n from generate_series(1, 6) n;
update cl.gate_zero_intake set status = 'FAILED';
insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason, created_at, updated_at, next_eligible_at)
  select replace(intake_id::text, '7000', '7001')::uuid, intake_id, batch_id, 'TIMEOUT', now() - interval '9 days', now() - interval '9 days',
    now() - right(company_name, 1)::int * interval '1 day'
  from cl.gate_zero_intake where company_name <> 'company 6';
insert into cl.gate_zero_recovery (recovery_id, intake_id, batch_id, failure_reason)
  select replace(intake_id::text, '7000', '7001')::uuid, intake_id, batch_id, 'DNS_ERROR' from cl.gate_zero_intake where company_name = 'company 6';
update cl.gate_zero_recovery set status = 'EXHAUSTED', updated_at = now()
  where intake_id in (select intake_id from cl.gate_zero_intake where company_name in ('company 4', 'company 5'));
