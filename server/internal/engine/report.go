package engine

import (
	"context"
	"crypto/sha256"
	"slices"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// MaxMessage is the most bytes of a message.
const MaxMessage = 8192

// Reported is what became of a report: the answer to it, or why there is none.
type Reported struct {
	recoup.Reported
	Err error
}

// MaxBatch is the most items of one call.
const MaxBatch = 1000

// Report records failures, in order, each answered for itself, and returns once
// they are durable, each together with its event. A receipt makes its report
// harmless to repeat: there is one for each, nil for none, or there are none.
func (e *Engine) Report(ctx context.Context, c Caller, reports []recoup.Report, receipts ...*store.Receipt) ([]Reported, error) {
	if len(reports) > MaxBatch {
		return nil, tooMany(len(reports))
	}
	now := e.Now()
	evidence, events := make([]redact.Evidence, len(reports)), make([]recoup.Event, 0, len(reports))
	return batch.Each(ctx, len(reports), func(i int) (r store.Report, err error) {
		if r, evidence[i], err = e.prepare(c, &reports[i], now); err != nil {
			return r, err
		}
		if i < len(receipts) {
			r.Receipt = receipt(receipts[i])
		}
		events = append(events, event(&reports[i], r.Code, now))
		return r, nil
	}, func(ctx context.Context, made []store.Report) ([]store.Outcome, error) {
		if err := e.keep(ctx, now, made, events); err != nil {
			return nil, err
		}
		outcomes, err := e.report(ctx, made)
		e.announce(outcomes)
		return outcomes, err
	}, func(i int, o *store.Outcome, err error) (Reported, error) {
		out := Reported{Err: err}
		if out.Redacted = evidence[i]; o == nil {
			return out, nil
		}
		out.Superseded, err = recall(o)
		out.Error, out.Repeated, out.Err = o.Error, o.Repeated, o.Err
		out.Orphaned = e.orphaned(&o.Error)
		return out, err
	})
}

// orphaned says why an error is in the table of orphans; empty: it is not.
func (e *Engine) orphaned(made *recoup.Error) recoup.Orphaning {
	if made.ReportedTable == "" {
		return ""
	}
	if t, known := e.Policies.Of(made).Table(made.ReportedTable); known && !t.EntityOptional && made.EntityID == "" {
		return recoup.EntityRequired
	}
	return recoup.UnknownTable
}

func (e *Engine) report(ctx context.Context, reports []store.Report) ([]store.Outcome, error) {
	return batch.Apart(reports, func(part []store.Report) ([]store.Outcome, error) {
		return Renewed(ctx, e.Policies, func() ([]store.Outcome, error) { return e.Store.Report(ctx, time.Time{}, part) })
	}, refused)
}

func tooMany(n int) error {
	return fault.BadField("items", "max_items", "one call takes at most %d items, not %d", MaxBatch, n)
}

// CheckReport says everything that is wrong with a report, whose identifiers it
// normalizes.
func (e *Engine) CheckReport(r *recoup.Report) error {
	f := check.Fields{Redactor: e.Redactor}
	e.check(r, &f)
	return f.Err()
}

// check normalizes the identifiers of a report, collects what is wrong with it, and
// returns what its code and its message are kept as.
func (e *Engine) check(r *recoup.Report, f *check.Fields) (def *fault.Definition, code recoup.Code, message string) {
	check.Normalize(&r.Table, &r.EntityID, &r.Service, &r.Endpoint, &r.Region, &r.ExternalService)
	f.RequiredIdentifier("table", r.Table)
	f.Identifier("entity_id", r.EntityID)
	f.Identifier("service", r.Service)
	endpoint, _, _ := strings.Cut(r.Endpoint, "?") // the ledger keeps no query
	f.Identifier("endpoint", endpoint)
	f.Identifier("region", r.Region)
	f.Identifier("external_service", r.ExternalService)
	if r.HTTPStatus != 0 && (r.HTTPStatus < 100 || r.HTTPStatus > 599) {
		f.Addf("http_status", "range", "http_status must be between 100 and 599")
	}
	def, code = e.fold(r.Code, f)
	if !r.Severity.Valid() {
		f.Addf("severity", "enum", "severity must be CRITICAL, HIGH, MEDIUM or LOW")
	}
	if r.RetryAfter < 0 {
		f.Addf("retry_after", "minimum", "retry_after must not be negative")
	}
	message = f.Text("message", r.Message, MaxMessage)
	if t, ok := e.Policies.Current().Table(r.Table); ok && t.DeadLetter {
		f.Addf("table", "no_dead_letters", "dead letters carry their work, and are not reported like other errors")
	}
	return def, code, message
}

// prepare checks and cleans a report and turns it into what a store takes.
func (e *Engine) prepare(c Caller, r *recoup.Report, now time.Time) (store.Report, redact.Evidence, error) {
	in, evidence, err := e.governed(c, r, e.IDs.New(now))
	if err != nil {
		return store.Report{}, nil, err
	}
	return e.decided(in), evidence, nil
}

// governed checks and cleans a report and turns it into the input that decides it.
func (e *Engine) governed(c Caller, r *recoup.Report, id recoup.ID) (lifecycle.Report, redact.Evidence, error) {
	f := check.Fields{Redactor: e.Redactor}
	def, code, message := e.check(r, &f)
	if r.Service != "" && !e.OwnsService(c, r.Service) {
		f.Addf("service", "hub", foreignService)
	}
	if !e.OwnsProvider(c, r.ExternalService) {
		r.ExternalService = "" // the report stands without it
	}
	if err := f.Err(); err != nil {
		return lifecycle.Report{}, nil, err
	}
	if err := e.may(c, r.Table); err != nil {
		return lifecycle.Report{}, nil, err
	}
	in := lifecycle.Report{
		ID: id, Table: r.Table, EntityID: r.EntityID, Message: message, By: c.Name,
		Failure:  lifecycle.Failure{Code: code, Class: def.Effective(holds(def, r.Proven)), Category: def.Category, RetryAfter: time.Duration(r.RetryAfter) * time.Second},
		Severity: severity(r.Severity, def), CorrelationID: r.CorrelationID, Attempt: r.LeaseToken,
	}
	if in.CorrelationID.IsZero() {
		in.CorrelationID = in.ID
	}
	return in, f.Redacted, nil
}

// fold reads a code. A name that nobody registered is kept in upper case, so it
// must be no secret as it was sent, nor as it is kept.
func (e *Engine) fold(s string, f *check.Fields) (*fault.Definition, recoup.Code) {
	def, code, err := e.Codes().Fold(s)
	switch {
	case err != nil:
		f.Addf("code", "pattern", "code must look like a code: %v", err)
	case def.Code != code:
		f.Folded("code", s, string(code))
	}
	return def, code
}

// holds reports whether the condition of a conditional code was proven.
func holds(def *fault.Definition, proven []recoup.Condition) bool {
	return def.Condition != recoup.ConditionNone && slices.Contains(proven, def.Condition)
}

func severity(reported recoup.Severity, def *fault.Definition) recoup.Severity {
	if reported != "" {
		return reported
	}
	return def.Severity
}

// decided puts a report together with its decision.
func (e *Engine) decided(in lifecycle.Report) store.Report {
	q := policy.Question{
		Table: in.Table, Entity: in.EntityID != "" || in.Stands, Code: in.Failure.Code,
		Class: in.Failure.Class, Category: in.Failure.Category, Severity: in.Severity,
	}
	r := store.Report{Table: in.Table, Entity: in.EntityID, Code: in.Failure.Code}
	if family := e.Policies.Current().Resolve(q).Family; family != nil {
		r.Family = family.Name
	}
	r.Decide = func(older *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		in := in
		in.Failure.Streak = streak
		p := e.Policies.forReport(older, q)
		if in.Stands {
			p = e.Policies.forRow(in.Table)
		}
		return lifecycle.Step(p, older, in, now)
	}
	return r
}

// event is what the ledger keeps of a report. Which error it belongs to, and its
// time, are known once the report is decided.
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
// them, and has the store write it together with their errors.
func (e *Engine) keep(ctx context.Context, now time.Time, reports []store.Report, events []recoup.Event) error {
	list, err := e.Ledger.Keep(ctx, now, events)
	for i, kept := range list {
		if kept != nil {
			reports[i].EventOf = e.ofReport(kept)
		}
	}
	return err
}

// ofReport gives what is kept of a report the id and the time of its error. Plain
// SQL may have given a row any id; those of events are UUIDv7.
func (e *Engine) ofReport(kept *store.Event) store.EventOf {
	return func(_ *recoup.Error, out *store.Outcome) *store.Event {
		made, event := &out.Error, *kept
		event.ID, event.CorrelationID, event.TS = made.ID, correlation(made), made.CreatedAt
		if _, ok := recoup.TimeOf(made.ID.String()); !ok {
			event.ID = e.IDs.New(made.UpdatedAt)
		}
		return &event
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

// consequence returns the event of a transition, at the time of it. The event of a
// failed attempt has an id made of the attempt's, so that it is counted once; that of an
// expiry has one made of the error's, which is the id of its report's.
func (e *Engine) consequence(in lifecycle.Input) store.EventOf {
	return func(_ *recoup.Error, out *store.Outcome) *store.Event {
		id := out.Error.ID
		if fail, ok := in.(lifecycle.Fail); ok {
			id = attemptEvent(fail.Token, id)
		} else if out.Effects.Event == lifecycle.BlockExpired {
			id = attemptEvent(id, id)
		}
		return e.transitionEvent(&out.Error, out.Effects.Event, id, out.Error.UpdatedAt)
	}
}

// attemptEvent is the id of the event of a failed attempt. Errors that were claimed
// together have one token, so it is made of both; its time is the token's.
func attemptEvent(token, id recoup.ID) recoup.ID {
	sum := sha256.Sum256(append(token[:len(token):len(token)], id[:]...))
	event := token
	copy(event[9:], sum[:])
	return event
}

// leaseExpired returns the event of an expired lease. It has the id that a failure of the attempt
// would have, and the time of the lease's end, or of its discovery where the end is beyond what the ledger keeps.
func (e *Engine) leaseExpired(before *recoup.Error, out *store.Outcome) *store.Event {
	at := before.LeaseEndsAt
	if at.Before(out.Error.UpdatedAt.Add(-e.Policies.Current().Ledger.EventRetention)) {
		at = out.Error.UpdatedAt
	}
	return e.transitionEvent(before, out.Effects.Event, attemptEvent(before.LeaseToken, before.ID), at)
}

func (e *Engine) transitionEvent(of *recoup.Error, code recoup.Code, id recoup.ID, at time.Time) *store.Event {
	return OwnEvent(e.Codes(), recoup.Event{ID: id, Code: code, CorrelationID: correlation(of), Service: of.Table, TS: at})
}

// OwnEvent is what the ledger keeps of an event that Recoup itself causes, whose
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
