package fault_test

import (
	"context"
	"database/sql/driver"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// sqlError has the methods of pgconn.PgError, and a text that must not leak.
type sqlError string

func (e sqlError) Error() string    { return "Key (email)=(jane@example.com) already exists" }
func (e sqlError) SQLState() string { return string(e) }

// unsentError has the method of pgconn's errors.
type unsentError struct {
	safe bool
	err  error
}

func (e unsentError) Error() string     { return e.err.Error() }
func (e unsentError) Unwrap() error     { return e.err }
func (e unsentError) SafeToRetry() bool { return e.safe }

func TestClassifySQLState(t *testing.T) {
	const (
		immediate, short   = recoup.ClassImmediate, recoup.ClassShortDelay
		conditional, fatal = recoup.ClassConditional, recoup.ClassFatal
		request, once      = fault.ScopeRequest, fault.ScopeIdempotentOnly
		transaction, long  = fault.ScopeTransaction, recoup.ClassLongDelay
	)
	for state, want := range map[string]expect{
		// Refused before anything was done: retryable.
		"57P03": {"DATABASE_CONNECTION_ERROR", short, request, "cannot_connect_now"},
		"53300": {"DATABASE_CONNECTION_ERROR", short, request, "too_many_connections"},
		"08001": {"DATABASE_CONNECTION_ERROR", short, request, "unable_to_connect"},
		"08004": {"DATABASE_CONNECTION_ERROR", short, request, "connection_rejected"},
		// Rolled back: retryable, the whole transaction.
		"40001": {"TRANSACTION_CONFLICT", immediate, transaction, "serialization_failure"},
		"40P01": {"TRANSACTION_CONFLICT", immediate, transaction, "deadlock_detected"},
		// Busy: retryable after a delay.
		"55P03": {"DATABASE_BUSY", short, transaction, "lock_not_available"},
		"55006": {"DATABASE_BUSY", short, transaction, "object_in_use"},
		"53200": {"DATABASE_BUSY", short, transaction, "out_of_memory"},
		// The outcome is unknown: only with an idempotency key.
		"57P01": {"OUTCOME_UNKNOWN", conditional, once, "admin_shutdown"},
		"57P02": {"OUTCOME_UNKNOWN", conditional, once, "crash_shutdown"},
		"08000": {"OUTCOME_UNKNOWN", conditional, once, "connection_lost"},
		"08003": {"OUTCOME_UNKNOWN", conditional, once, "connection_lost"},
		"08006": {"OUTCOME_UNKNOWN", conditional, once, "connection_lost"},
		"08007": {"OUTCOME_UNKNOWN", conditional, once, "connection_lost"},
		// Conditional.
		"23505": {"DUPLICATE_WRITE", conditional, once, "unique_violation"},
		"23P01": {"CONFLICT", conditional, request, "exclusion_violation"},
		"57014": {"QUERY_CANCELLED", conditional, once, "query_canceled"},
		"53100": {"STORAGE_FULL", long, request, "disk_full"},
		"58030": {"STORAGE_FULL", long, request, "io_error"},
		// Fatal.
		"22001": {"SCHEMA_INVALID", fatal, request, "data_exception"},
		"22P02": {"SCHEMA_INVALID", fatal, request, "data_exception"},
		"23502": {"CONSTRAINT_VIOLATION", fatal, request, "constraint_violation"},
		"23503": {"CONSTRAINT_VIOLATION", fatal, request, "constraint_violation"},
		"23514": {"CONSTRAINT_VIOLATION", fatal, request, "constraint_violation"},
		"28P01": {"DATABASE_ERROR", fatal, request, ""},
		"42P01": {"DATABASE_ERROR", fatal, request, ""},
		"42501": {"DATABASE_ERROR", fatal, request, ""},
		"XX000": {"DATABASE_ERROR", fatal, request, ""},
		// Not in any list.
		"0A000": {"DATABASE_ERROR", fatal, request, ""},
		"25P02": {"DATABASE_ERROR", fatal, request, ""},
	} {
		want.check(t, state, sqlError(state))
		v := fault.Classify(sqlError(state))
		if v.Details["sqlstate"] != state {
			t.Errorf("%s: details = %v", state, v.Details)
		}
		if page := state == "53100" || state == "58030"; v.Page != page {
			t.Errorf("%s: page is %t", state, v.Page)
		}
		if strings.Contains(fmt.Sprint(v), "jane") {
			t.Errorf("%s: the text of the database got into %v", state, v)
		}
	}
}

func TestOnlyWellFormedStatesCount(t *testing.T) {
	for _, state := range []string{"", "4000", "400011", "40p01", "'; --", "4000\n"} {
		if v := fault.Classify(sqlError(state)); v.Code != fault.CodeInternalError || v.Details != nil {
			t.Errorf("state %q = %+v", state, v)
		}
	}
}

func TestNothingWasSent(t *testing.T) {
	want := expect{"DATABASE_CONNECTION_ERROR", recoup.ClassShortDelay, fault.ScopeRequest, "not_sent"}
	want.check(t, "safe to retry", unsentError{true, io.ErrClosedPipe})
	want.check(t, "bad connection", driver.ErrBadConn)
	expect{"CONNECTION_RESET", recoup.ClassImmediate, fault.ScopeIdempotentOnly, "connection_reset"}.
		check(t, "not safe to retry", unsentError{false, syscall.ECONNRESET})
	expect{"REQUEST_CANCELLED", recoup.ClassFatal, fault.ScopeRequest, ""}.
		check(t, "safe, and cancelled", unsentError{true, context.Canceled})
}

func TestOnCommit(t *testing.T) {
	unknown := expect{"OUTCOME_UNKNOWN", recoup.ClassConditional, fault.ScopeIdempotentOnly, ""}
	for name, err := range map[string]error{
		"connection lost": sqlError("08006"),
		"shut down":       sqlError("57P01"),
		"disk full":       sqlError("53100"),
		"timed out":       os.ErrDeadlineExceeded,
		"cancelled":       context.Canceled,
		"cut off":         io.ErrUnexpectedEOF,
		"anything":        io.ErrClosedPipe,
	} {
		unknown.check(t, name, fault.OnCommit(err))
	}
	// What the database rolled back itself, or never heard of, is known.
	for name, c := range map[string]struct {
		err  error
		want expect
	}{
		"conflict":            {sqlError("40001"), expect{"TRANSACTION_CONFLICT", recoup.ClassImmediate, fault.ScopeTransaction, "serialization_failure"}},
		"deadlock":            {sqlError("40P01"), expect{"TRANSACTION_CONFLICT", recoup.ClassImmediate, fault.ScopeTransaction, "deadlock_detected"}},
		"deferred constraint": {sqlError("23503"), expect{"CONSTRAINT_VIOLATION", recoup.ClassFatal, fault.ScopeRequest, "constraint_violation"}},
		"never sent":          {unsentError{true, io.ErrClosedPipe}, expect{"DATABASE_CONNECTION_ERROR", recoup.ClassShortDelay, fault.ScopeTransaction, "not_sent"}},
	} {
		c.want.check(t, name, fault.OnCommit(c.err))
	}
	if fault.OnCommit(nil) != nil || fault.OnAcquire(nil) != nil {
		t.Error("a success was marked as a failure")
	}
}

func TestOnAcquire(t *testing.T) {
	for name, c := range map[string]struct {
		err    error
		reason string
	}{
		"no connection became free": {context.DeadlineExceeded, "pool_exhausted"},
		"dial timed out":            {&net.OpError{Op: "dial", Err: os.ErrDeadlineExceeded}, "connection_timeout"},
		"refused":                   {&net.OpError{Op: "dial", Err: syscall.ECONNREFUSED}, "connection_refused"},
		"name server":               {&net.DNSError{IsTimeout: true}, "dns_timeout"},
		"anything":                  {io.ErrClosedPipe, "connection_failed"},
		"server is full":            {sqlError("53300"), "too_many_connections"},
	} {
		expect{"DATABASE_CONNECTION_ERROR", recoup.ClassShortDelay, fault.ScopeRequest, c.reason}.check(t, name, fault.OnAcquire(c.err))
	}
	expect{"DATABASE_ERROR", recoup.ClassFatal, fault.ScopeRequest, ""}.check(t, "wrong password", fault.OnAcquire(sqlError("28P01")))
	expect{"REQUEST_CANCELLED", recoup.ClassFatal, fault.ScopeRequest, ""}.check(t, "cancelled", fault.OnAcquire(context.Canceled))
}
