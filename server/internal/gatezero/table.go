package gatezero

import (
	"encoding/json"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// batchTable describes the rows of batches.
var batchTable = sqldb.Table[recoup.IntakeBatch]{Name: "cl.gate_zero_batch", Columns: []sqldb.Column[recoup.IntakeBatch]{
	sqldb.Text("batch_id", func(b *recoup.IntakeBatch) *string { return &b.ID }).Key(),
	sqldb.Time("created_at", func(b *recoup.IntakeBatch) *time.Time { return &b.CreatedAt }),
	sqldb.Time("completed_at", func(b *recoup.IntakeBatch) *time.Time { return &b.CompletedAt }),
	sqldb.Time("batch_freeze_at", func(b *recoup.IntakeBatch) *time.Time { return &b.FreezeAt }),
	sqldb.Time("frozen_at", func(b *recoup.IntakeBatch) *time.Time { return &b.FrozenAt }),
	sqldb.Time("killed_at", func(b *recoup.IntakeBatch) *time.Time { return &b.KilledAt }),
	sqldb.Text("killed_by", func(b *recoup.IntakeBatch) *string { return &b.KilledBy }),
	sqldb.Text("kill_reason", func(b *recoup.IntakeBatch) *string { return &b.KillReason }),
}}

// intakeTable describes the rows of intakes.
var intakeTable = sqldb.Table[recoup.Intake]{Name: "cl.gate_zero_intake", Columns: []sqldb.Column[recoup.Intake]{
	sqldb.ID("intake_id", func(i *recoup.Intake) *recoup.ID { return &i.ID }).Key(),
	sqldb.Text("batch_id", func(i *recoup.Intake) *string { return &i.BatchID }).Fixed(),
	sqldb.Text("import_key", func(i *recoup.Intake) *string { return &i.ImportKey }).Fixed(),
	sqldb.Text("company_name", func(i *recoup.Intake) *string { return &i.CompanyName }).Fixed(),
	sqldb.Text("domain", func(i *recoup.Intake) *string { return &i.Domain }).Fixed(),
	sqldb.Text("linkedin_url", func(i *recoup.Intake) *string { return &i.LinkedInURL }).Fixed(),
	sqldb.Text("state", func(i *recoup.Intake) *string { return &i.State }).Fixed(),
	sqldb.Text("status", func(i *recoup.Intake) *string { return (*string)(&i.Status) }),
	sqldb.ID("previous_intake_id", func(i *recoup.Intake) *recoup.ID { return &i.PreviousID }).Fixed(),
	sqldb.Time("created_at", func(i *recoup.Intake) *time.Time { return &i.CreatedAt }).Fixed(),
	sqldb.Time("updated_at", func(i *recoup.Intake) *time.Time { return &i.UpdatedAt }),
}}

// recoveryTable describes the rows of recoveries.
var recoveryTable = sqldb.Table[recoup.Recovery]{Name: "cl.gate_zero_recovery", Columns: []sqldb.Column[recoup.Recovery]{
	sqldb.ID("recovery_id", func(r *recoup.Recovery) *recoup.ID { return &r.ID }).Key(),
	sqldb.ID("intake_id", func(r *recoup.Recovery) *recoup.ID { return &r.IntakeID }),
	sqldb.Text("batch_id", func(r *recoup.Recovery) *string { return &r.BatchID }),
	sqldb.Text("failure_reason", func(r *recoup.Recovery) *string { return &r.FailureReason }),
	sqldb.Int("attempt_count", func(r *recoup.Recovery) *int { return &r.AttemptCount }),
	sqldb.Time("next_eligible_at", func(r *recoup.Recovery) *time.Time { return &r.NextEligibleAt }),
	sqldb.Text("status", func(r *recoup.Recovery) *string { return (*string)(&r.Status) }),
	sqldb.Time("created_at", func(r *recoup.Recovery) *time.Time { return &r.CreatedAt }),
	sqldb.Time("updated_at", func(r *recoup.Recovery) *time.Time { return &r.UpdatedAt }),
}}

// leaseColumns describes the columns of leases, but for the recovery that one is of.
var leaseColumns = []sqldb.Column[RecoveryLease]{
	sqldb.ID("token", func(r *RecoveryLease) *recoup.ID { return &r.LeaseToken }),
	sqldb.Text("worker", func(r *RecoveryLease) *string { return &r.LeaseWorker }),
	sqldb.Time("leased_at", func(r *RecoveryLease) *time.Time { return &r.LeasedAt }),
	sqldb.Time("ends_at", func(r *RecoveryLease) *time.Time { return &r.LeaseEndsAt }),
	sqldb.Int("lapses", func(r *RecoveryLease) *int { return &r.Lapses }),
}

// leaseOf is a lease and the recovery it is of.
type leaseOf struct {
	RecoveryID recoup.ID
	RecoveryLease
}

// leaseTable describes the rows of leases.
var leaseTable = sqldb.Table[leaseOf]{Name: "cl.gate_zero_lease", Columns: append([]sqldb.Column[leaseOf]{
	sqldb.ID("recovery_id", func(l *leaseOf) *recoup.ID { return &l.RecoveryID }).Key(),
}, sqldb.Within("", leaseColumns, func(l *leaseOf) *RecoveryLease { return &l.RecoveryLease })...)}

// intakeLease is a worker's hold on an intake that it verifies.
type intakeLease struct {
	intake recoup.ID
	worker string
	ends   time.Time
}

// intakeLeaseTable describes the rows of leases of intakes.
var intakeLeaseTable = sqldb.Table[intakeLease]{Name: "cl.gate_zero_turn", Columns: []sqldb.Column[intakeLease]{
	sqldb.ID("intake_id", func(t *intakeLease) *recoup.ID { return &t.intake }).Key(),
	sqldb.Text("worker", func(t *intakeLease) *string { return &t.worker }),
	sqldb.Time("ends_at", func(t *intakeLease) *time.Time { return &t.ends }),
}}

// airTable describes the rows of the AIR.
var airTable = sqldb.Table[recoup.IntakeEvent]{Name: "cl.gate_zero_air", Columns: []sqldb.Column[recoup.IntakeEvent]{
	sqldb.ID("intake_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.IntakeID }),
	sqldb.ID("recovery_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.RecoveryID }),
	sqldb.Text("batch_id", func(a *recoup.IntakeEvent) *string { return &a.BatchID }),
	sqldb.Text("event", func(a *recoup.IntakeEvent) *string { return (*string)(&a.Event) }),
	sqldb.Text("reason", func(a *recoup.IntakeEvent) *string { return &a.Reason }),
	sqldb.Int("attempt_count", func(a *recoup.IntakeEvent) *int { return &a.AttemptCount }),
	sqldb.Text("actor", func(a *recoup.IntakeEvent) *string { return &a.Actor }),
	sqldb.ID("new_intake_id", func(a *recoup.IntakeEvent) *recoup.ID { return &a.NewIntakeID }),
	sqldb.Time("at", func(a *recoup.IntakeEvent) *time.Time { return &a.At }),
}}

// caseColumns describes the columns of cases, as a join of the batch b, the intake i, the
// recovery r and the lease l reads them.
var caseColumns = slices.Concat(
	sqldb.Within("b.", batchTable.Columns, func(c *Case) *recoup.IntakeBatch { return &c.Batch }),
	sqldb.Within("i.", intakeTable.Columns, func(c *Case) *recoup.Intake { return &c.Intake }),
	sqldb.Within("r.", recoveryTable.Columns, func(c *Case) *recoup.Recovery { return &c.Recovery }),
	sqldb.Within("l.", leaseColumns, func(c *Case) *RecoveryLease { return &c.Lease }))

// batchCounts reads the counts of a batch, which are an object of all statuses.
type batchCounts recoup.IntakeBatchSummary

// UnmarshalJSON separates the statuses of intakes from those of recoveries, which
// share no name.
func (c *batchCounts) UnmarshalJSON(value []byte) error {
	c.Intakes, c.Recoveries = map[recoup.IntakeStatus]int64{}, map[recoup.RecoveryStatus]int64{}
	var counts map[string]int64
	err := json.Unmarshal(value, &counts)
	for status, n := range counts {
		switch r := recoup.RecoveryStatus(status); r {
		case recoup.RecoveryActive, recoup.RecoveryExhausted, recoup.RecoverySucceeded:
			c.Recoveries[r] = n
		default:
			c.Intakes[recoup.IntakeStatus(status)] = n
		}
	}
	return err
}
