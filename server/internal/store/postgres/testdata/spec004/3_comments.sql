COMMENT ON TABLE cl.gate_zero_recovery IS
'Failed intake records awaiting retry. Tracks throttle state (attempt_count, next_eligible_at) and failure reason. Terminal states: ACTIVE (retryable) or EXHAUSTED (no more retries).';

COMMENT ON COLUMN cl.gate_zero_recovery.recovery_id IS
'Unique identifier for this recovery record. Auto-generated UUID.';

COMMENT ON COLUMN cl.gate_zero_recovery.intake_id IS
'Reference to original gate_zero_intake record. One intake → one recovery.';

COMMENT ON COLUMN cl.gate_zero_recovery.batch_id IS
'Inherited from intake. Used for batch-level operations.';

COMMENT ON COLUMN cl.gate_zero_recovery.failure_reason IS
'Reason code from last failed attempt. Updated on each retry.';

COMMENT ON COLUMN cl.gate_zero_recovery.attempt_count IS
'Number of verification attempts. Starts at 1. Max 3.';

COMMENT ON COLUMN cl.gate_zero_recovery.next_eligible_at IS
'Earliest timestamp when retry is permitted. Enforced gate.';

COMMENT ON COLUMN cl.gate_zero_recovery.status IS
'Recovery status: ACTIVE (retryable) or EXHAUSTED (terminal).';

COMMENT ON COLUMN cl.gate_zero_recovery.created_at IS
'Timestamp when recovery record was created.';

COMMENT ON COLUMN cl.gate_zero_recovery.updated_at IS
'Timestamp of last update.';
