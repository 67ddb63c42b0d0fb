package fault

import (
	"fmt"

	"github.com/recoup-dev/recoup"
)

// phase is what a database call was about when it failed, as far as that
// changes what its failure means.
type phase int

const (
	acquiring phase = iota + 1
	committing
)

type duringError struct {
	phase phase
	err   error
}

func (e *duringError) Error() string { return fmt.Sprint(e.err) } // also of a nil pointer
func (e *duringError) Unwrap() error { return e.err }

// OnCommit marks err as one that COMMIT returned, and keeps nil nil. Unless the
// database said itself that it rolled back, nobody knows whether the
// transaction took effect: [Classify] says OUTCOME_UNKNOWN.
func OnCommit(err error) error { return during(committing, err) }

// OnAcquire marks err as one that came while a connection was taken from a
// pool or opened, and keeps nil nil. Nothing was sent, so [Classify] says
// DATABASE_CONNECTION_ERROR, with details.error_type "pool_exhausted" where
// the wait for a free connection ran into its deadline.
func OnAcquire(err error) error { return during(acquiring, err) }

func during(p phase, err error) error {
	if err == nil {
		return nil
	}
	return &duringError{p, err}
}

// noteSQL goes by the methods that drivers share, so that no driver is
// imported: pgconn.PgError has SQLState, and pgconn's errors SafeToRetry.
func (f *facts) noteSQL(node any) {
	if e, ok := node.(interface{ SQLState() string }); ok && f.state == "" {
		if state := e.SQLState(); wellFormedState(state) {
			f.state = state
		}
	}
	if e, ok := node.(interface{ SafeToRetry() bool }); ok {
		f.notSent = f.notSent || e.SafeToRetry()
	}
}

// wellFormedState guards the one text that is copied into a verdict.
func wellFormedState(s string) bool {
	if len(s) != 5 {
		return false
	}
	for i := range len(s) {
		if c := s[i]; (c < '0' || c > '9') && (c < 'A' || c > 'Z') {
			return false
		}
	}
	return true
}

// rolledBack reports whether a failed COMMIT is known to have changed nothing:
// it was never sent, or the database answered that a conflict or a deferred
// constraint made it roll back.
func (f *facts) rolledBack() bool {
	return f.notSent || f.state == "40001" || f.state == "40P01" || f.state != "" && f.state[:2] == "23"
}

// acquiring says in a word why there is no connection.
func (f *facts) acquiring() string {
	if f.timeout && !f.transport && f.dns == nil {
		return "pool_exhausted"
	}
	if _, reason := f.network(); reason != "" {
		return reason
	}
	return "connection_failed"
}

func (r *Registry) ofState(state string) Verdict {
	code, reason := codeOfState(state)
	return r.of(code).with("sqlstate", state).with("error_type", reason)
}

// codeOfState translates SQLSTATE. What is not listed is fatal, but for a
// connection exception, after which the outcome is unknown.
func codeOfState(state string) (recoup.Code, string) {
	switch state {
	case "57P03":
		return CodeDatabaseConnectionError, "cannot_connect_now"
	case "53300":
		return CodeDatabaseConnectionError, "too_many_connections"
	case "08001":
		return CodeDatabaseConnectionError, "unable_to_connect"
	case "08004":
		return CodeDatabaseConnectionError, "connection_rejected"
	case "40001":
		return CodeTransactionConflict, "serialization_failure"
	case "40P01":
		return CodeTransactionConflict, "deadlock_detected"
	case "55P03":
		return CodeDatabaseBusy, "lock_not_available"
	case "55006":
		return CodeDatabaseBusy, "object_in_use"
	case "53200":
		return CodeDatabaseBusy, "out_of_memory"
	case "57P01":
		return CodeOutcomeUnknown, "admin_shutdown"
	case "57P02":
		return CodeOutcomeUnknown, "crash_shutdown"
	case "23505":
		return CodeDuplicateWrite, "unique_violation"
	case "23P01":
		return CodeConflict, "exclusion_violation"
	case "57014":
		return CodeQueryCancelled, "query_canceled"
	case "53100":
		return CodeStorageFull, "disk_full"
	case "58030":
		return CodeStorageFull, "io_error"
	}
	switch state[:2] {
	case "08":
		return CodeOutcomeUnknown, "connection_lost"
	case "22":
		return CodeSchemaInvalid, "data_exception"
	case "23":
		return CodeConstraintViolation, "constraint_violation"
	}
	return CodeDatabaseError, ""
}
