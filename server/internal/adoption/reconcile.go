package adoption

import (
	"context"
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// batch is rows of a source that are looked at together.
type batch struct {
	keys    []string
	pairs   []Row // what is known of them
	rows    []SourceRow
	bad     map[string]string    // why a row cannot be read, by its key
	written map[string]time.Time // when a row was written, by its key; nil: long ago
}

// follow is what follows from a batch.
type follow struct {
	resolve []engine.Act
	work    []recoup.WorkResult // of replayed jobs
	report  []engine.Past
	noted   []Row
	gone    []string
	moved   []Row // to another table: their row is forgotten first, or who dies before the report would find nothing new
}

// reconcile does what follows from how rows of a source are. Every part of it may be
// repeated: after a failure in between, what is left to do is what follows then.
func (s *Service) reconcile(ctx context.Context, a *Target, turn Lease, b batch) error {
	f, err := s.follows(a, turn, b)
	if err != nil {
		return err
	}
	if len(f.moved) > 0 {
		if err := s.Store.SavePairs(ctx, turn, f.moved, nil); err != nil {
			return err
		}
	}
	if err := s.apply(ctx, f.resolve); err != nil {
		return err
	}
	if err := s.results(ctx, f.work); err != nil {
		return err
	}
	if err := s.report(ctx, a, f.report); err != nil {
		return err
	}
	if len(f.noted)+len(f.gone) > 0 {
		if err := s.Store.SavePairs(ctx, turn, f.noted, f.gone); err != nil {
			return err
		}
	}
	if err := s.noteUnreadable(ctx, a, turn, b); err != nil {
		return err
	}
	s.count(func(c *Counts) {
		c.Looked, c.Reported, c.Resolved, c.Refused = c.Looked+int64(len(b.keys)), c.Reported+int64(len(f.report)), c.Resolved+int64(len(f.resolve)), c.Refused+int64(len(b.bad))
	})
	return nil
}

// follows asks the rules about each row.
func (s *Service) follows(a *Target, turn Lease, b batch) (f follow, err error) {
	known := make(map[string]*Row, len(b.pairs))
	for i := range b.pairs {
		known[b.pairs[i].Key] = &b.pairs[i]
	}
	there := make(map[string]*SourceRow, len(b.rows))
	for i := range b.rows {
		there[b.rows[i].Key] = &b.rows[i]
	}
	for _, key := range b.keys {
		pair := known[key]
		row := s.clean(a, key, there[key], b.bad[key])
		if b.bad[key] != "" && (pair != nil || len(key) > maxKey) {
			continue // it keeps the error that it has, or can have none
		}
		stands := row.standing(s.Engine.Policies.Current(), pair)
		v := decide(row.source, row.memory(pair), stands)
		if v.attempt == unsuccessful && row.worse(pair) {
			v.report = amend // the failed attempt says nothing about the severity
		}
		if v.resolve == becauseMoved {
			f.moved = append(f.moved, Row{Key: key})
		}
		if v.resolve != "" {
			f.resolve = append(f.resolve, ending(pair, v.resolve))
		}
		if v.report != silent {
			past := row.past(s.Now(), pair != nil && stands != elsewhere, b.written[key])
			past.Attach = Pair{Turn: turn, Key: key, Digest: row.digest}.Attachment()
			if err := s.complete(&past, v, pair, there[key]); err != nil {
				return follow{}, err
			}
			f.report = append(f.report, past)
		}
		s.tell(&f, v.attempt, pair, &row)
		f.save(key, v, pair, &row)
	}
	return f, nil
}

// complete gives a report its id, the error that it replaces and what is kept of its row.
func (s *Service) complete(past *engine.Past, v verdict, pair *Row, row *SourceRow) (err error) {
	past.ID = s.Engine.IDs.New(past.CreatedAt)
	if v.report != anew {
		past.Replaces, past.Amends = pair.ErrorID, v.report == amend
	}
	pairIn(past.Attach).Kept, err = s.kept(past.ID, row)
	return err
}

// tell adds what has come of an attempt.
func (s *Service) tell(f *follow, r result, pair *Row, row *cleaned) {
	if pair != nil && !pair.WorkID.IsZero() {
		if said := s.letterResult(r, pair, row); said != nil {
			f.work = append(f.work, *said)
		}
		return
	}
	if act := s.result(r, pair, row); act != nil {
		f.resolve = append(f.resolve, *act)
	}
}

// save writes down what becomes of a pair.
func (f *follow) save(key string, v verdict, pair *Row, row *cleaned) {
	switch v.pair {
	case keep:
		if pair != nil && row.source == failing && v.report == silent && !pair.Attempt.IsZero() {
			f.noted = append(f.noted, Row{Key: key, Digest: pair.Digest}) // it is not under way
		}
	case watch:
		if pair.Attempt.IsZero() {
			f.noted = append(f.noted, Row{Key: key, Digest: pair.Digest, Attempt: ByOthers})
		}
	case note:
		f.noted = append(f.noted, Row{Key: key, Digest: row.digest})
	case empty:
		f.noted = append(f.noted, Row{Key: key})
	case forget:
		f.gone = append(f.gone, key)
	}
}

// caller is who acts for a source.
func caller() engine.Caller { return engine.Caller{Name: By} }

// apply has the engine apply inputs. What it refuses has ended meanwhile, or cannot end.
func (s *Service) apply(ctx context.Context, acts []engine.Act) error {
	return s.applyAs(ctx, caller(), acts)
}

func (s *Service) applyAs(ctx context.Context, c engine.Caller, acts []engine.Act) error {
	if len(acts) == 0 {
		return nil
	}
	outcomes, err := s.Engine.Apply(ctx, c, acts)
	if err != nil {
		return err
	}
	for i := range outcomes {
		if err := outcomes[i].Err; transient(err) {
			return err
		}
	}
	return nil
}

// report has the engine record failures. One that the database refuses becomes an orphan
// that says so.
func (s *Service) report(ctx context.Context, a *Target, list []engine.Past) error {
	if len(list) == 0 {
		return nil
	}
	reported, err := s.Engine.Import(ctx, caller(), list)
	if err != nil {
		return err
	}
	var again []engine.Past
	for i := range reported {
		switch err := reported[i].Err; {
		case err == nil:
		case transient(err):
			return err
		default:
			s.count(func(c *Counts) { c.Refused++ })
			again = append(again, s.orphan(a, &list[i], err))
		}
	}
	if len(again) == 0 {
		return nil
	}
	reported, err = s.Engine.Import(ctx, caller(), again)
	for i := range reported {
		if reported[i].Err != nil {
			s.Logger.Warn("row of an adopted table cannot be governed", "table", a.Table, "key", pairIn(again[i].Attach).Key)
		}
	}
	return err
}

// orphan is what is reported of a row of which nothing else can be.
func (s *Service) orphan(a *Target, of *engine.Past, why error) engine.Past {
	now := s.Now()
	pair := *pairIn(of.Attach)
	pair.Kept = Kept{} // which is for another error
	message, _ := s.Redactor.String("a row of " + a.Source + " was refused: " + why.Error())
	return engine.Past{
		Report: recoup.Report{Table: a.Table, Code: string(fault.CodeUnregisteredCode), Message: message},
		ID:     s.Engine.IDs.New(now), CreatedAt: now, Live: true, Apart: true, Attach: pair.Attachment(),
	}
}

// transient reports whether another time will do: it is no fault of a row.
func transient(err error) bool {
	var refusal *lifecycle.Refusal
	var named *fault.Error
	switch {
	case err == nil, errors.As(err, &refusal), errors.Is(err, store.ErrRefused), errors.Is(err, sqldb.ErrNotFound), errors.Is(err, store.ErrConflict):
		return false
	case errors.As(err, &named):
		return named.Code != fault.CodeValidationError && named.Code != fault.CodeConflict
	}
	return true
}
