package gatezero

import (
	"time"

	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// SyncPolicy brings what the guards of the database go by in line with the policy. A policy
// without rules of Gate Zero leaves it as it is.
func SyncPolicy(tx sqldb.Tx, p *policy.Policy) error {
	gate := &p.Gate
	switch {
	case !gate.Exists():
		return nil
	case tx.Dialect() == sqldb.SQLite:
		return syncRows(tx, gate)
	}
	return tx.Do("select cl.sync_gate($1, $2, $3, $4)", p.Version, waits(gate), reasons(*gate), gate.RecoveryWindow)
}

// syncRows writes the rows by which the guards go on SQLite. The window of a batch is that of
// the attempt zero.
func syncRows(tx sqldb.Tx, gate *policy.GateZero) error {
	var lasts, failures [][]any
	for attempt, wait := range append([]time.Duration{gate.RecoveryWindow}, waits(gate)...) {
		lasts = append(lasts, []any{attempt, wait.Microseconds()})
	}
	for _, reason := range reasons(*gate) {
		failures = append(failures, []any{reason})
	}
	return sqldb.InOrder(
		func() error { return tx.Do("delete from cl.gate_zero_wait") },
		func() error {
			_, err := tx.Change("insert into cl.gate_zero_wait (attempt, lasts) values ($1, $2)", lasts...)
			return err
		},
		func() error { return tx.Do("delete from cl.gate_zero_failure") },
		func() error {
			_, err := tx.Change("insert into cl.gate_zero_failure (reason) values ($1)", failures...)
			return err
		},
	)
}

// waits lists how long a recovery waits after each of its attempts.
func waits(gate *policy.GateZero) []time.Duration {
	list := make([]time.Duration, gate.MaxAttempts)
	for i := range list {
		list[i] = gate.Schedule.Delay(i+1, nil)
	}
	return list
}

// reasons lists why a company can fail.
func reasons(gate policy.GateZero) []string {
	list := make([]string, len(gate.Reasons))
	for i := range gate.Reasons {
		list[i] = gate.Reasons[i].Name
	}
	return list
}
