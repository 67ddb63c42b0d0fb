SELECT COUNT(*) > 0 AS is_blocked
FROM {error_table}
WHERE outreach_id = $1
  AND disposition IN ('RETRY', 'PARKED')
  AND archived_at IS NULL;
