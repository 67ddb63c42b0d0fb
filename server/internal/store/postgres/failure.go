package postgres

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/pgsession"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// The states of SQL that mean something to a store. RC001 to RC003 are our own: what
// the guards raise, what is done out of turn, and what is done after a leader's term.
const (
	guardRaised           = "RC001"
	outOfTurn             = "RC002"
	termOver              = "RC003"
	checkViolation        = "23514"
	notNullViolation      = "23502"
	uniqueViolation       = "23505"
	lockNotAvailable      = "55P03"
	serializationFailure  = "40001"
	deadlockDetected      = "40P01"
	duplicateSchema       = "42P06"
	duplicateTable        = "42P07"
	undefinedTable        = "42P01"
	diskFull              = "53100"
	outOfMemory           = "53200" // of the server, also where its table of locks is full
	ioError               = "58030"
	queryCanceled         = "57014"
	insufficientPrivilege = "42501"
	readOnly              = "25006"
	dataCorrupted         = "XX001"
	indexCorrupted        = "XX002"

	// connectionFailure is what a session that ended without a word of the server
	// is known by.
	connectionFailure = "08006"
)

// Failure is a failure of the database as far as it may be shown: what was being
// done, the state and the server's message. The server's details, which quote
// rows, and whatever names the connection stay behind.
type Failure struct {
	Doing   string
	State   string // empty: it did not come from the server
	Message string
	notSent bool
	lost    bool  // the session is over
	cause   error // a sentinel, or the end of a context
}

func (f *Failure) Error() string {
	if f.State == "" {
		return fmt.Sprintf("%s: %s", f.Doing, f.Message)
	}
	return fmt.Sprintf("%s: %s (SQLSTATE %s)", f.Doing, f.Message, f.State)
}

// SQLState returns the state by which package fault classifies the failure.
func (f *Failure) SQLState() string {
	if f.State == "" && f.lost {
		return connectionFailure
	}
	return f.State
}

// Said returns the server's message alone.
func (f *Failure) Said() string { return f.Message }

// SafeToRetry reports whether nothing had been sent yet.
func (f *Failure) SafeToRetry() bool { return f.notSent }

func (f *Failure) Unwrap() error { return f.cause }

// failure turns what the driver returned into what a verb may return. What is the
// matter with the database itself gets its code of the contract here: a caller's
// request is as good as it was, and may be sent again.
func failure(doing string, err error) error {
	var server *pgconn.PgError
	var connect *pgconn.ConnectError
	f := &Failure{Doing: doing, notSent: pgconn.SafeToRetry(err)}
	switch {
	case err == nil:
		return nil
	case ours(err):
		return fmt.Errorf("%s: %w", doing, err)
	case errors.As(err, &server):
		f.State, f.Message, f.cause, f.lost = server.Code, pgsession.BriefText(server.Message), meaning(server.Code), !rolledBack(err)
	case errors.Is(err, context.Canceled):
		f.Message, f.cause = "cancelled", context.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		f.Message, f.cause, f.lost = "no answer in time", context.DeadlineExceeded, true
	default:
		f.Message, f.lost = "the connection to the database failed: "+pgsession.BriefText(root(err)), true
	}
	if errors.As(err, &connect) {
		return onAcquire(f)
	}
	return named(f)
}

// named gives a fault of the database itself its code.
func named(f *Failure) error {
	switch f.State {
	case diskFull, ioError:
		return fault.Wrap(f, fault.CodeStorageFull, "The database has no space left, or cannot write to its disk. Nothing was changed.")
	case insufficientPrivilege:
		return fault.Wrap(f, fault.CodeTemporaryUnavailable, "This node lacks a privilege in its database. Nothing was changed; 'recoup migrate up' grants what nodes need.").
			With("error_type", "insufficient_privilege")
	case readOnly:
		return fault.Wrap(f, fault.CodeTemporaryUnavailable, "The database is read-only: a standby, or a primary that was replaced. Nothing was changed.").
			With("error_type", "read_only")
	case dataCorrupted, indexCorrupted:
		return fault.Wrap(f, fault.CodeTemporaryUnavailable, "The database reports damaged data. Nothing was changed; an operator has to repair it.").
			With("error_type", "data_corrupted")
	case queryCanceled:
		return fault.Wrap(f, fault.CodeDatabaseBusy, "The database took too long. Nothing was changed; try again.").
			With("error_type", "statement_timeout")
	}
	return f
}

// rolledBack reports whether the server itself said that a transaction failed, and
// goes on: what it had done is undone. After a fatal error, or none, it is unknown.
func rolledBack(err error) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.SeverityUnlocalized == "ERROR"
}

// onAcquire is the failure of a session that never began. Whatever the server has
// against it, a password or a limit, is nothing that a caller could do better.
func onAcquire(err error) error {
	var f *Failure
	if !errors.As(err, &f) {
		return fault.OnAcquire(err)
	}
	f.lost = false
	if f.State == "" || fault.Classify(f).Code == fault.CodeDatabaseConnectionError {
		return fault.OnAcquire(f)
	}
	return fault.Wrap(f, fault.CodeDatabaseConnectionError, "The database refused a connection to this node. Nothing was changed.").
		With("error_type", "connection_rejected")
}

// beforeCommit is the failure of a transaction whose commit was never sent: if its
// session is over, so is all that it did.
func beforeCommit(err error) error {
	var f *Failure
	if errors.As(err, &f) && f.lost {
		return fault.Wrap(err, fault.CodeDatabaseConnectionError, "The connection to the database was lost. Nothing was changed.").
			With("error_type", "connection_lost")
	}
	return err
}

// ours reports whether an error was made here, and discloses nothing it must not.
func ours(err error) bool {
	var repeat *store.Repeat
	var obstacles *ObstacleError
	var rights *RightsError
	var owner *pgsession.OwnerError
	var foreign *pgsession.ForeignError
	if errors.As(err, &repeat) || errors.As(err, &obstacles) || errors.As(err, &rights) || errors.As(err, &owner) || errors.As(err, &foreign) {
		return true
	}
	for _, known := range []error{store.ErrSchemaNewer, store.ErrSchemaOlder, store.ErrSchemaForeign, sqldb.ErrNotFound, store.ErrBlocked, store.ErrConflict, store.ErrRefused, store.ErrTermOver, store.ErrLeaseLost, ErrNotOwner, ErrBadURL, ErrStatementMode, pgsession.ErrRole} {
		if errors.Is(err, known) {
			return true
		}
	}
	return false
}

// root is the innermost error: of a failed connection it is the system's word
// without the address it was for.
func root(err error) string {
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return err.Error()
		}
		err = inner
	}
}

func meaning(state string) error {
	switch state {
	case guardRaised, checkViolation, notNullViolation:
		return store.ErrRefused
	case uniqueViolation:
		return sqldb.ErrDuplicate
	case outOfTurn:
		return store.ErrOutOfTurn
	case termOver:
		return store.ErrTermOver
	case lockNotAvailable, serializationFailure, deadlockDetected:
		return store.ErrBusy
	}
	return nil
}

// state returns the server's SQLSTATE, or nothing.
func state(err error) string {
	var server *pgconn.PgError
	if errors.As(err, &server) {
		return server.Code
	}
	return ""
}

func busy(err error) bool { return errors.Is(meaning(state(err)), store.ErrBusy) }

// racing reports whether another node made the same object at the same moment.
func racing(err error) bool {
	switch state(err) {
	case uniqueViolation, duplicateSchema, duplicateTable:
		return true
	}
	return false
}

// reportedTwice reports whether two first reports of one key or with one id met, two
// first requests with one receipt, or two that bring the same work. Of reports with one
// id the earlier may have gone to the archive meanwhile, of which the guard tells.
func reportedTwice(err error) bool {
	var server *pgconn.PgError
	if !errors.As(err, &server) {
		return false
	}
	switch server.ConstraintName {
	case "error_open_key", "error_pkey", "due_pkey", "idempotency_pkey", "dead_letter_open_key", "work_pkey":
		return server.Code == uniqueViolation
	case "error_archive_pkey":
		return server.Code == guardRaised
	}
	return false
}

// partitionMissing reports whether a table has no partition for a month yet.
func partitionMissing(err error, table string) bool {
	var server *pgconn.PgError
	return errors.As(err, &server) && server.Code == checkViolation && server.ConstraintName == "" &&
		server.TableName == table
}
