package api

import (
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"time"

	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/lifecycle"
	"recoup/internal/recovery"
	"recoup/internal/store"
)

// failure gives an error the code and the details that callers see. What is not
// known here is classified by package fault, which tells nothing of its cause.
func failure(err error) error {
	var refusal *lifecycle.Refusal
	var gate *recovery.Refusal
	var ours *fault.Error
	switch {
	case err == nil:
		return nil
	case errors.As(err, &ours):
		return err
	case errors.As(err, &refusal):
		return refused(refusal)
	case errors.As(err, &gate):
		return gate.Fault()
	case errors.Is(err, store.ErrNotFound):
		return fault.Wrap(err, fault.CodeNotFound, "There is nothing of that name or id.")
	case errors.Is(err, engine.ErrForbidden):
		return fault.Wrap(err, fault.CodeInsufficientPermissions, "The key is not for the hub that this belongs to.")
	case errors.Is(err, store.ErrConflict):
		return fault.Wrap(err, fault.CodeIdempotencyConflict, "The idempotency key was used for another request.")
	case errors.Is(err, store.ErrRefused):
		return fault.Wrap(err, fault.CodeBusinessRuleViolation, "The database refused a change that the rules forbid; nothing was done.")
	case errors.Is(err, store.ErrBusy):
		return patient(fault.Wrap(err, fault.CodeDatabaseBusy, "Others hold what this needs; nothing was done."))
	case errors.Is(err, lifecycle.ErrMismatch):
		return fault.Wrap(err, fault.CodeConflict, "The open error of this table, entity and code is kept elsewhere.")
	}
	return patient(fault.From(err))
}

// patient tells a caller when to come back, where a failure passes by itself and
// does not say when.
func patient(e *fault.Error) *fault.Error {
	if e.RetryAfter > 0 || e.Definition().HTTPStatus != http.StatusServiceUnavailable {
		return e
	}
	return e.After(comeBack)
}

// comeBack is how long that is.
const comeBack = 2 * time.Second

// cutShort is the failure of something that was done in part. Its details say how
// far it came, because that much is done and stays done.
func cutShort(err error, far map[string]any) error {
	e := fault.From(failure(err))
	for name, value := range far {
		e = e.With(name, value)
	}
	e.Message = "It was cut short; what the details count is done and stays done."
	return e
}

// refused tells why the state machine said no, and the way out.
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
	body, err := json.Marshal(e)
	if err != nil {
		return json.RawMessage(`{"error_code":"INTERNAL_ERROR","message":"the answer could not be written"}`)
	}
	return body
}
