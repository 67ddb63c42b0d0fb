package engine

import (
	"cmp"
	"context"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// The acts on an operation.
const (
	OperationConfirm = "confirm"
	OperationPause   = "pause"
	OperationResume  = "resume"
	OperationCancel  = "cancel"
)

// Confirm has the scheduler carry an operation out, in the name of who confirms it. What is said with
// the act and was not said before is said now. It is idempotent.
func (e *Engine) Confirm(ctx context.Context, c Caller, id recoup.ID, said recoup.Act) (recoup.Operation, error) {
	if err := e.CheckSaid(said); err != nil {
		return recoup.Operation{}, err
	}
	return e.stepOperation(ctx, c, id, func(o recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		if o.State == recoup.OperationRunning || o.State == recoup.OperationDone {
			return o, nil, nil
		}
		if o.State != recoup.OperationFrozen {
			return o, nil, unfitOperation(&o, OperationConfirm)
		}
		if !now.Before(o.ExpiresAt) {
			return o, nil, fault.New(fault.CodeBusinessRuleViolation, "The set was frozen more than %s ago and has expired: create the operation again.", PreviewLife)
		}
		o.Input = recoup.Act{Reason: cmp.Or(said.Reason, o.Input.Reason), To: cmp.Or(said.To, o.Input.To), Tier: cmp.Or(said.Tier, o.Input.Tier)}
		f := check.Fields{Redactor: e.Redactor}
		o.Input.Reason = cleanAct(&f, recoup.ActName(o.Act), o.Input).Reason
		if err := f.Err(); err != nil {
			return o, nil, err
		}
		o.State, o.StateAt, o.StateBy, o.ConfirmedAt, o.ConfirmedBy, o.ExpiresAt = recoup.OperationRunning, now, c.Name, now, c.Name, time.Time{}
		return o, []wire.AuditEntry{c.Act(o.Input.Reason, now).On("errors."+o.Act, o.ID.String(), map[string]any{"errors": o.Pending()})}, nil
	})
}

// ActOnOperation pauses, resumes or cancels an operation. It is idempotent.
func (e *Engine) ActOnOperation(ctx context.Context, c Caller, id recoup.ID, act, reason string) (recoup.Operation, error) {
	reason, err := e.reason(reason)
	if err != nil {
		return recoup.Operation{}, err
	}
	return e.stepOperation(ctx, c, id, func(o recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		switch from := o.State; {
		case act == OperationPause && from == recoup.OperationPaused, act == OperationResume && from == recoup.OperationRunning,
			act == OperationCancel && from == recoup.OperationCancelled:
			return o, nil, nil
		case act == OperationPause && from == recoup.OperationRunning:
			o.State, o.StateAt, o.StateBy, o.Why = recoup.OperationPaused, now, c.Name, reason
		case act == OperationResume && from == recoup.OperationPaused:
			o.State, o.StateAt, o.StateBy, o.Why = recoup.OperationRunning, now, c.Name, reason
		case act == OperationCancel && !o.Over():
			o = ended(o, recoup.OperationCancelled, c.Name, reason, now)
		default:
			return o, nil, unfitOperation(&o, act)
		}
		return o, []wire.AuditEntry{c.Act(reason, now).On("operation."+act, o.ID.String(), map[string]any{"act": o.Act, "left": o.Pending()})}, nil
	})
}

// CheckReason says what is wrong with a reason that must be given.
func (e *Engine) CheckReason(reason string) error {
	_, err := e.reason(reason)
	return err
}

func (e *Engine) reason(s string) (string, error) {
	f := check.Fields{Redactor: e.Redactor}
	s = f.RequiredText("reason", s, check.MaxReason)
	return s, f.Err()
}

func unfitOperation(o *recoup.Operation, act string) error {
	return fault.New(fault.CodeInvalidTransition, "An operation that is %s cannot be changed so: %s.", o.State, act).
		With("input", act).With("state", string(o.State))
}

// stepOperation decides about an operation of the caller's hubs; another's is not there.
func (e *Engine) stepOperation(ctx context.Context, c Caller, id recoup.ID, decide store.DecideOperation) (recoup.Operation, error) {
	return e.Store.StepOperation(ctx, time.Time{}, id, func(o recoup.Operation, now time.Time) (recoup.Operation, []wire.AuditEntry, error) {
		if !c.Of(o.Hub) {
			return o, nil, sqldb.ErrNotFound
		}
		return decide(o, now)
	})
}

// Operation returns an operation of the caller's hubs.
func (e *Engine) Operation(ctx context.Context, c Caller, id recoup.ID) (recoup.Operation, error) {
	o, err := e.Store.Operation(ctx, id)
	if err == nil && !c.Of(o.Hub) {
		return recoup.Operation{}, sqldb.ErrNotFound
	}
	return o, err
}

// Operations lists the operations of the caller's hubs, newest first.
func (e *Engine) Operations(ctx context.Context, c Caller, state recoup.OperationState, p sqldb.Page) ([]recoup.Operation, sqldb.Cursor, error) {
	return e.Store.Operations(ctx, store.OperationFilter{State: state, Hubs: c.Hubs}, p)
}

// OperationItems lists the members of an operation, and returns the position to go on
// from, or -1.
func (e *Engine) OperationItems(ctx context.Context, c Caller, id recoup.ID, result recoup.OperationResult, from, limit int) ([]recoup.OperationItem, int, error) {
	if _, err := e.Operation(ctx, c, id); err != nil {
		return nil, -1, err
	}
	return e.Store.OperationItems(ctx, id, result, from, limit)
}
