package engine

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/internal/redact"
	"github.com/recoup-dev/recoup/server/internal/batch"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Past is a failure that was known elsewhere before: a row of a file, or of a table
// that is adopted.
type Past struct {
	recoup.Report

	// ID names the error: it has the time of CreatedAt and is always the same of one
	// failure (see [PastID]), which makes it harmless to repeat as long as the error is
	// there, open or in the archive.
	ID recoup.ID

	// CreatedAt is when it happened. Its TTL, its window and its time in the park run
	// from then.
	CreatedAt time.Time

	// Live says that it happened only now and is to be treated like a report: people
	// are notified, and rates count it. Otherwise it is history.
	Live bool

	// Apart keeps it from replacing, and from being replaced by, another report of the
	// same failure.
	Apart bool

	// Replaces is the error of the same row of an adopted table, whose place this one takes as
	// long as it is open; zero: none. Amends says that the row states the same failure with a
	// worse severity, which is no further failure. WrittenAt is when the row was written.
	Replaces  recoup.ID
	Amends    bool
	WrittenAt time.Time

	// Attach is written with the error; nil: nothing is.
	Attach *store.Attachment
}

// MaxAhead is how far from now a failure can have happened, for clocks that differ.
const MaxAhead = time.Minute

// Earliest is the first moment of the past that is believed: what is earlier is a
// number in other units.
var Earliest = time.Date(2000, 1, 1, 0, 0, 0, 0, time.UTC)

// PastID is the id of the failure that a source knows by a key: a UUIDv7 of its time,
// with their digest in place of what is random.
func PastID(source, key string, at time.Time) recoup.ID {
	h := sha256.New()
	_, _ = h.Write(binary.BigEndian.AppendUint64(nil, uint64(len(source)))) // a hash never fails
	_, _ = h.Write([]byte(source + key))
	sum := h.Sum(nil)
	var id recoup.ID
	binary.BigEndian.PutUint64(id[:8], uint64(at.UnixMilli())<<16)
	copy(id[6:], sum)
	id[6], id[8] = 0x70|id[6]&0x0f, 0x80|id[8]&0x3f
	return id
}

// Import records failures of earlier times, each answered for itself, and returns once
// they are durable. Of a failure that was imported before, the answer is that it is
// Repeated, with its id alone. What has expired by now, or was superseded, is in the
// archive: the error that is answered says so.
func (e *Engine) Import(ctx context.Context, c Caller, past []Past) ([]Reported, error) {
	return e.importPast(ctx, c, past, func(ctx context.Context, made []store.Report) ([]store.Outcome, error) {
		outcomes, err := e.report(ctx, made)
		e.announce(outcomes)
		return outcomes, err
	})
}

// PreviewImport says what Import would answer, and records nothing.
func (e *Engine) PreviewImport(ctx context.Context, c Caller, past []Past) ([]Reported, error) {
	return e.importPast(ctx, c, past, func(ctx context.Context, made []store.Report) ([]store.Outcome, error) {
		return e.Store.PreviewReports(ctx, time.Time{}, made)
	})
}

func (e *Engine) importPast(ctx context.Context, c Caller, past []Past, do func(context.Context, []store.Report) ([]store.Outcome, error)) ([]Reported, error) {
	if len(past) > MaxBatch {
		return nil, tooMany(len(past))
	}
	now := e.Now()
	evidence, events := make([]redact.Evidence, len(past)), make([]recoup.Event, 0, len(past))
	return batch.Each(ctx, len(past), func(i int) (r store.Report, err error) {
		if r, evidence[i], err = e.preparePast(c, &past[i], now); err != nil {
			return r, err
		}
		events = append(events, event(&past[i].Report, r.Code, past[i].CreatedAt))
		return r, nil
	}, func(ctx context.Context, made []store.Report) ([]store.Outcome, error) {
		if err := e.keepRecent(ctx, now, made, events); err != nil {
			return nil, err
		}
		return do(ctx, made)
	}, func(i int, o *store.Outcome, err error) (Reported, error) {
		out := Reported{Err: err}
		if out.Redacted = evidence[i]; o == nil {
			return out, nil
		}
		if s := o.Effects.Superseded; s != nil {
			out.Superseded = s.Error.ID
		}
		out.Error, out.Repeated, out.Err = o.Error, o.Repeated, o.Err
		return out, nil
	})
}

// preparePast checks a failure of the past as a report is checked, and its time.
func (e *Engine) preparePast(c Caller, p *Past, now time.Time) (store.Report, redact.Evidence, error) {
	p.CreatedAt = p.CreatedAt.UTC().Truncate(time.Microsecond)
	switch {
	case p.CreatedAt.Before(Earliest):
		return store.Report{}, nil, fault.BadField("created_at", "minimum", "created_at must not be before %s", Earliest.Format(time.DateOnly))
	case p.CreatedAt.After(now.Add(MaxAhead)):
		return store.Report{}, nil, fault.BadField("created_at", "maximum", "created_at must not be in the future")
	}
	in, evidence, err := e.governed(c, &p.Report, p.ID)
	if err != nil {
		return store.Report{}, nil, err
	}
	in.CreatedAt, in.Past, in.Apart = p.CreatedAt, !p.Live, p.Apart
	in.Replaces, in.Amends, in.WrittenAt = !p.Replaces.IsZero(), p.Amends, p.WrittenAt
	r := e.decided(in)
	r.ID, r.Attach, r.Replaces = p.ID, p.Attach, p.Replaces
	return r, evidence, nil
}

// keepRecent has the ledger keep what it would keep of events of those times. What is
// older than its retention is nothing that it has dropped.
func (e *Engine) keepRecent(ctx context.Context, now time.Time, reports []store.Report, events []recoup.Event) error {
	oldest := now.Add(-e.Policies.Current().Ledger.EventRetention)
	var recent []recoup.Event
	var places []int
	for i := range events {
		if events[i].TS.After(oldest) {
			recent, places = append(recent, events[i]), append(places, i)
		}
	}
	list, err := e.Ledger.Keep(ctx, now, recent)
	for i, kept := range list {
		if kept != nil {
			reports[places[i]].EventOf = e.ofReport(kept)
		}
	}
	return err
}
