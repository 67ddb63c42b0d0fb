package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// AsFault gives an error the code and the details that callers see. An error of a service has
// a method Fault that returns them. Other errors are classified by package fault, which discloses
// nothing of their cause.
func AsFault(err error) error {
	var known interface{ Fault() *fault.Error }
	var ours *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours) && ours.Definition().HTTPStatus >= http.StatusInternalServerError:
		return RetryLater(fault.From(err)) // it may have failed while it was committed, too
	case errors.As(err, &ours):
		return err
	case errors.As(err, &known):
		return known.Fault()
	case errors.Is(err, sqldb.ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is nothing of that name or id.")
	case errors.Is(err, store.ErrConflict):
		return fault.Wrap(err, fault.CodeIdempotencyConflict, "The idempotency key was used for another request.")
	case errors.Is(err, store.ErrRefused):
		return fault.Wrap(err, fault.CodeBusinessRuleViolation, "The database refused a change that the rules forbid; nothing was done.")
	case errors.Is(err, store.ErrBusy):
		return RetryLater(fault.Wrap(err, fault.CodeDatabaseBusy, "Lock timeout. Nothing was changed; try again."))
	}
	e := fault.From(err)
	if errors.Is(err, turn.ErrUnfinished) && errors.Is(err, context.DeadlineExceeded) {
		e = fault.Wrap(err, fault.CodeServiceOverloaded, "The node is busy and did not process the request in time. Send it again later, or send smaller batches.")
	} else if e.Code == fault.CodeNetworkTimeout && errors.Is(err, context.DeadlineExceeded) { // this node's own: the network is another's
		e = fault.Wrap(err, fault.CodeDatabaseBusy, "The database did not answer in time. Nothing was changed; try again.")
	}
	return RetryLater(e)
}

// RetryLater sets Retry-After on a temporary failure that has none.
func RetryLater(e *fault.Error) *fault.Error {
	if e.RetryAfter > 0 {
		return e
	}
	switch e.Definition().HTTPStatus {
	case http.StatusServiceUnavailable:
		return e.After(comeBack)
	case http.StatusInsufficientStorage:
		return e.After(comeBackLater)
	}
	return e
}

// When callers are to come back: most of what fails passes in seconds, and somebody
// has to make room on a disk.
const (
	comeBack      = 2 * time.Second
	comeBackLater = 30 * time.Second
)

// Failure returns the failure that the caller gets for an error. A failed read has changed
// nothing, and the failure says so.
func (c *Call) Failure(err error) error {
	if c.Request.Method == http.MethodGet {
		return unread(err)
	}
	return AsFault(err)
}

// unread is the failure of a read. One that was cut off has changed nothing.
func unread(err error) error {
	err = AsFault(err)
	if said, ok := errors.AsType[*fault.Error](err); ok && said.Code == fault.CodeOutcomeUnknown {
		return RetryLater(fault.Wrap(err, fault.CodeDatabaseConnectionError, "The connection to the database was lost. Nothing was changed."))
	}
	return err
}

// ItemFailure returns an error as the JSON of one item of a batch.
func (c *Call) ItemFailure(err error) json.RawMessage {
	e := fault.From(AsFault(err))
	if ctx, ok := fault.FromContext(c.Context()); ok {
		e.RequestID = ctx.RequestID
	}
	e.Timestamp = c.Now
	if e.DocumentationURL == "" && e.Definition().Code == e.Code {
		e.DocumentationURL = c.server.Origin(c.Request) + "/errors/" + string(e.Code)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"error_code":"INTERNAL_ERROR","message":"the answer could not be written"}`)
	}
	return body
}
