SELECT r.intake_id, r.failure_reason, r.attempt_count
FROM cl.gate_zero_recovery r
WHERE r.status = 'EXHAUSTED'
  AND r.batch_id = '2025_annual_outreach'
