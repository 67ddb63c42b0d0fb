package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/recovery"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/turn"
)

// failure gives an error the code and the details that callers see. What is not
// known here is classified by package fault, which discloses nothing of its cause.
func failure(err error) error {
	var refusal *lifecycle.Refusal
	var gate *recovery.Refusal
	var ours *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours) && ours.Definition().HTTPStatus >= http.StatusInternalServerError:
		return patient(fault.From(err)) // it may have failed while it was committed, too
	case errors.As(err, &ours):
		return err
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &gate):
		return gate.Fault()
	case errors.Is(err, sqldb.ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is nothing of that name or id.")
	case errors.Is(err, engine.ErrForbidden):
		return fault.Wrap(err, fault.CodeInsufficientPermissions, "The key is not for the hub that this belongs to: use a key for that hub, or for all hubs.")
	case errors.Is(err, store.ErrConflict):
		return fault.Wrap(err, fault.CodeIdempotencyConflict, "The idempotency key was used for another request.")
	case errors.Is(err, store.ErrRefused):
		return fault.Wrap(err, fault.CodeBusinessRuleViolation, "The database refused a change that the rules forbid; nothing was done.")
	case errors.Is(err, store.ErrBusy):
		return patient(fault.Wrap(err, fault.CodeDatabaseBusy, "Lock timeout. Nothing was changed; try again."))
	case errors.Is(err, lifecycle.ErrMismatch):
		return fault.Wrap(err, fault.CodeConflict, "The open error of this table, entity and code is kept elsewhere.")
	}
	e := fault.From(err)
	if errors.Is(err, turn.ErrUnfinished) && errors.Is(err, context.DeadlineExceeded) {
		e = fault.Wrap(err, fault.CodeServiceOverloaded, "The node is busy and did not process the request in time. Send it again later, or send smaller batches.")
	} else if e.Code == fault.CodeNetworkTimeout && errors.Is(err, context.DeadlineExceeded) { // this node's own: the network is another's
		e = fault.Wrap(err, fault.CodeDatabaseBusy, "The database did not answer in time. Nothing was changed; try again.")
	}
	return patient(e)
}

// patient says when to try again, where a failure passes by itself and
// does not say when.
func patient(e *fault.Error) *fault.Error {
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

// failure is that of a request.
func (c *call) failure(err error) error {
	if c.r.Method == http.MethodGet {
		return unread(err)
	}
	return failure(err)
}

// unread is the failure of a read. One that was cut off has changed nothing.
func unread(err error) error {
	err = failure(err)
	if said, ok := errors.AsType[*fault.Error](err); ok && said.Code == fault.CodeOutcomeUnknown {
		return patient(fault.Wrap(err, fault.CodeDatabaseConnectionError, "The connection to the database was lost. Nothing was changed."))
	}
	return err
}

// cutShort is the failure of something that was done in part. Its details say how
// far it came, because that much is done and stays done.
func cutShort(err error, far map[string]any) error {
	e := fault.From(failure(err))
	for name, value := range far {
		e = e.With(name, value)
	}
	e.Message = "Partly applied: the details count what was done and stays done."
	return e
}

// refused says why the state machine refused, and the way out.
func refused(r *lifecycle.Refusal) error {
	e := fault.Wrap(r, r.Code, "%s", strings.TrimPrefix(r.Error(), string(r.Code)+": ")).With("input", string(r.Input))
	if r.State != "" {
		e = e.With("state", string(r.State))
	}
	if len(r.Exits) > 0 {
		e = e.With("exits", r.Exits)
	}
	if !r.SupersededBy.IsZero() {
		e = e.With("superseded_by", r.SupersededBy.String())
	}
	return e
}

// embed returns an error as the JSON of one item of a batch.
func (a *API) embed(c *call, err error) json.RawMessage {
	e := fault.From(failure(err))
	if ctx, ok := fault.FromContext(c.r.Context()); ok {
		e.RequestID = ctx.RequestID
	}
	e.Timestamp = c.now
	if e.DocumentationURL == "" && e.Definition().Code == e.Code {
		e.DocumentationURL = a.origin(c.r) + "/errors/" + string(e.Code)
	}
	body, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"error_code":"INTERNAL_ERROR","message":"the answer could not be written"}`)
	}
	return body
}
