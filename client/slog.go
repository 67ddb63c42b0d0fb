package client

import (
	"context"
	"encoding/hex"
	"log/slog"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// Handler returns a slog.Handler that passes everything on to next, and emits an
// event for each record of level Error or above that carries an error:
//
//	logger := slog.New(emitter.Handler(slog.Default().Handler()))
//	logger.Error("the import failed", "error", err)
//
// The event has the code of the error, or the one that fault.Classify gives it,
// and the trace of the request that is being served. No log text is copied into it.
// Where the middleware has emitted the same failure, log it below Error or as text.
func (m *Emitter) Handler(next slog.Handler) slog.Handler { return &handler{emitter: m, next: next} }

type handler struct {
	emitter *Emitter
	next    slog.Handler
	carried error // by an attribute of the logger
}

// Enabled reports whether next wants the record, or an event could come of it.
func (h *handler) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelError || h.next.Enabled(ctx, level)
}

// Handle emits and passes on.
func (h *handler) Handle(ctx context.Context, r slog.Record) error {
	if r.Level >= slog.LevelError {
		var err error
		r.Attrs(func(a slog.Attr) bool {
			err = firstError(a, err)
			return err == nil
		})
		if err == nil {
			err = h.carried
		}
		if err != nil {
			h.emitter.Emit(h.event(ctx, r, err))
		}
	}
	if !h.next.Enabled(ctx, r.Level) {
		return nil
	}
	return h.next.Handle(ctx, r)
}

// WithAttrs notes an error that all records of a logger carry.
func (h *handler) WithAttrs(attrs []slog.Attr) slog.Handler {
	var carried error
	for _, a := range attrs {
		carried = firstError(a, carried)
	}
	if carried == nil {
		carried = h.carried
	}
	return &handler{h.emitter, h.next.WithAttrs(attrs), carried}
}

// WithGroup passes the group on.
func (h *handler) WithGroup(name string) slog.Handler {
	return &handler{h.emitter, h.next.WithGroup(name), h.carried}
}

// firstError returns known, or, if it is nil, the first error in an attribute.
func firstError(a slog.Attr, known error) error {
	value := a.Value.Resolve()
	switch value.Kind() {
	case slog.KindGroup:
		for _, member := range value.Group() {
			known = firstError(member, known)
		}
	case slog.KindAny:
		if err, ok := value.Any().(error); ok && known == nil {
			known = err
		}
	}
	return known
}

func (h *handler) event(ctx context.Context, r slog.Record, err error) recoup.Event {
	verdict := h.emitter.c.o.Registry.Classify(err)
	e := recoup.Event{Code: verdict.Code, TS: r.Time, Details: map[string]any{"retryable": verdict.Retryable()}}
	if info, ok := fault.FromContext(ctx); ok {
		if trace, err := hex.DecodeString(info.TraceID); err == nil {
			copy(e.CorrelationID[:], trace)
		}
		e.Endpoint, e.Tenant, e.ExternalService = info.Endpoint, info.AccountID, info.ExternalService
	}
	return e
}
