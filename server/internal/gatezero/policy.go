package gatezero

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// CheckPolicy refuses a policy without the rules of Gate Zero while companies are there,
// which could never leave then.
func CheckPolicy(ctx context.Context, db sqldb.Reader, next *policy.Policy) error {
	if next.Gate.Exists() {
		return nil
	}
	figures, err := readFigures(ctx, db)
	if err != nil {
		return err
	}
	n := figures.Intakes[recoup.IntakePending]
	for _, r := range figures.Recoveries {
		if r.Status == recoup.RecoveryActive {
			n += r.N
		}
	}
	if n == 0 {
		return nil
	}
	message := "The policy has no gate block, but %d companies are still in Gate Zero: keep the block until they have passed or their batches are frozen."
	if n == 1 {
		message = "The policy has no gate block, but %d company is still in Gate Zero: keep the block until it has passed or its batch is frozen."
	}
	return fault.New(fault.CodeBusinessRuleViolation, message, n).With("in_gate_zero", n)
}
