package engine

import (
	"crypto/sha256"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/lifecycle"
	"recoup/internal/store"
)

// event is what a report says to the ledger. Which error it becomes, and when, is
// known once it is decided.
func event(r *recoup.Report, code recoup.Code, now time.Time) recoup.Event {
	service := r.Service
	if service == "" {
		service = r.Table
	}
	return recoup.Event{
		Code: code, Service: service, Endpoint: r.Endpoint, HTTPStatus: r.HTTPStatus, Tenant: r.Tenant,
		Details: r.Details, Region: r.Region, ExternalService: r.ExternalService, TS: now,
	}
}

// keep asks the ledger what it keeps of reports, before anything is locked for
// them, and has them tell it.
func (e *Engine) keep(now time.Time, reports []store.Report, events []recoup.Event) {
	for i, kept := range e.Ledger.Keep(now, events) {
		if kept != nil {
			reports[i].Tell = e.ofReport(kept)
		}
	}
}

// ofReport gives what is kept of a report the id and the time of its error. Plain
// SQL may have given a row any id; those of events are UUIDv7.
func (e *Engine) ofReport(kept *store.Event) store.Tell {
	return func(_ *recoup.Error, out *store.Outcome) *store.Event {
		made, told := &out.Error, *kept
		told.ID, told.CorrelationID, told.TS = made.ID, correlation(made), made.CreatedAt
		if _, ok := recoup.TimeOf(made.ID.String()); !ok {
			told.ID = e.IDs.New(made.UpdatedAt)
		}
		return &told
	}
}

// correlation is what ties an error's events to others; what plain SQL wrote may
// have nothing but itself.
func correlation(e *recoup.Error) recoup.ID {
	if e.CorrelationID.IsZero() {
		return e.ID
	}
	return e.CorrelationID
}

// consequence tells of a transition, at the time of it. The event of a failed
// attempt has an id made of the attempt's, so that it is counted once.
func (e *Engine) consequence(in lifecycle.Input) store.Tell {
	return func(_ *recoup.Error, out *store.Outcome) *store.Event {
		id := out.Error.ID
		if fail, ok := in.(lifecycle.Fail); ok {
			id = attemptEvent(fail.Token, out.Error.ID)
		}
		return e.told(&out.Error, out.Effects.Event, id, out.Error.UpdatedAt)
	}
}

// attemptEvent is the id of the event that tells how an attempt failed. Errors that
// were claimed together have one token, so it is made of both; its time is the token's.
func attemptEvent(token, id recoup.ID) recoup.ID {
	sum := sha256.Sum256(append(token[:len(token):len(token)], id[:]...))
	event := token
	copy(event[9:], sum[:])
	return event
}

// lapse tells of a lease that ran out. The event has the id that a failure of the
// attempt would have, and the time of its end, or of its discovery where the end is beyond what the ledger keeps.
func (e *Engine) lapse(before *recoup.Error, out *store.Outcome) *store.Event {
	at := before.LeaseEndsAt
	if at.Before(out.Error.UpdatedAt.Add(-e.Policies.Current().Ledger.EventRetention)) {
		at = out.Error.UpdatedAt
	}
	return e.told(before, out.Effects.Event, attemptEvent(before.LeaseToken, before.ID), at)
}

func (e *Engine) told(of *recoup.Error, code recoup.Code, id recoup.ID, at time.Time) *store.Event {
	return OwnEvent(e.Codes(), recoup.Event{ID: id, Code: code, CorrelationID: correlation(of), Service: of.Table, TS: at})
}

// OwnEvent is what the ledger keeps of an event that we ourselves tell of, whose
// names were checked when they came. A code that is not registered is kept beside
// the one that stands for it.
func OwnEvent(codes *fault.Registry, e recoup.Event) *store.Event {
	kept := &store.Event{Event: e}
	def, name, err := codes.Fold(string(e.Code))
	if err != nil {
		def, name, _ = codes.Fold(string(fault.CodeUnregisteredCode))
	}
	kept.Details = map[string]any{"retryable": def.Retryable(false)}
	if kept.Code = def.Code; name != def.Code {
		kept.ReportedCode = name
	}
	return kept
}
