package sqlite

import (
	"database/sql/driver"
	"strings"

	"recoup/internal/store"
)

// The columns of Gate Zero's tables. The functions below return the fields they
// belong to, in the same order.
const (
	batchColumns    = `batch_id, created_at, completed_at, batch_freeze_at, frozen_at, killed_at, killed_by, kill_reason`
	intakeColumns   = `intake_id, batch_id, import_key, company_name, domain, linkedin_url, state, status, previous_intake_id, created_at, updated_at`
	recoveryColumns = `recovery_id, intake_id, batch_id, failure_reason, attempt_count, next_eligible_at, status, created_at, updated_at`
	leaseColumns    = `token, worker, leased_at, ends_at, lapses`
	airColumns      = `intake_id, recovery_id, batch_id, event, reason, attempt_count, actor, new_intake_id, at`
)

func batchFields(b *store.Batch) []any {
	return []any{
		text[string]{&b.ID}, stamp{&b.CreatedAt}, stamp{&b.CompletedAt}, stamp{&b.FreezeAt}, stamp{&b.FrozenAt},
		stamp{&b.KilledAt}, text[string]{&b.KilledBy}, text[string]{&b.KillReason},
	}
}

func intakeFields(i *store.Intake) []any {
	return []any{
		id{&i.ID}, text[string]{&i.BatchID}, text[string]{&i.ImportKey}, text[string]{&i.CompanyName}, text[string]{&i.Domain},
		text[string]{&i.LinkedInURL}, text[string]{&i.State}, text[store.IntakeStatus]{&i.Status}, id{&i.PreviousID},
		stamp{&i.CreatedAt}, stamp{&i.UpdatedAt},
	}
}

// intakeStatusFields are what may change of an intake, after its key.
func intakeStatusFields(i *store.Intake) []any {
	return []any{id{&i.ID}, text[store.IntakeStatus]{&i.Status}, stamp{&i.UpdatedAt}}
}

func recoveryFields(r *store.Recovery) []any {
	return []any{
		id{&r.ID}, id{&r.IntakeID}, text[string]{&r.BatchID}, text[string]{&r.FailureReason}, optional{&r.AttemptCount},
		stamp{&r.NextEligibleAt}, text[store.RecoveryStatus]{&r.Status}, stamp{&r.CreatedAt}, stamp{&r.UpdatedAt},
	}
}

func leaseFields(l *store.RecoveryLease) []any {
	return []any{id{&l.LeaseToken}, text[string]{&l.LeaseWorker}, stamp{&l.LeasedAt}, stamp{&l.LeaseEndsAt}, optional{&l.Lapses}}
}

// heldFields are those of a lease with the recovery it is of.
func heldFields(l *store.LeaseOf) []any {
	return append([]any{id{&l.RecoveryID}}, leaseFields(&l.RecoveryLease)...)
}

func airFields(a *store.AIR) []any {
	return []any{
		id{&a.IntakeID}, id{&a.RecoveryID}, text[string]{&a.BatchID}, text[store.AIREvent]{&a.Event}, text[string]{&a.Reason},
		optional{&a.Attempt}, text[string]{&a.Actor}, id{&a.NewIntakeID}, stamp{&a.At},
	}
}

// caseFields are the fields of selectCase.
func caseFields(c *store.Case) []any {
	list := batchFields(&c.Batch)
	list = append(list, intakeFields(&c.Intake)...)
	list = append(list, recoveryFields(&c.Recovery)...)
	return append(list, leaseFields(&c.Lease)...)
}

// optional is a number that may be missing from an outer join.
type optional struct{ to *int }

func (f optional) Value() (driver.Value, error) { return number(f).Value() }

func (f optional) Scan(src any) error {
	if src == nil {
		*f.to = 0
		return nil
	}
	return number(f).Scan(src)
}

// of names the columns of one table in a join.
func of(table, columns string) string {
	return table + "." + strings.ReplaceAll(columns, ", ", ", "+table+".")
}

// addTo returns the statement that writes one row with these columns.
func addTo(table, columns string) string {
	return "insert into " + table + " (" + columns + ") values (?" + strings.Repeat(", ?", strings.Count(columns, ",")) + ")"
}
