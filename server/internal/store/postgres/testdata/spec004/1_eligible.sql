SELECT r.recovery_id, r.intake_id, r.attempt_count, i.company_name
FROM cl.gate_zero_recovery r
JOIN cl.gate_zero_intake i ON r.intake_id = i.intake_id
WHERE r.status = 'ACTIVE'
  AND r.next_eligible_at <= now()
ORDER BY r.next_eligible_at ASC
