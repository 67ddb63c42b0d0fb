package archive

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// filingOff is the value of --event-files that turns filing off.
const filingOff = "off"

// filingPatience is how long the clock waits for a round of filing, which goes on beside
// it: a day may take minutes, and errors have deadlines.
const filingPatience = time.Second

// Filing writes days of events to files, in rounds that the clock begins.
type Filing struct {
	filer     Filer
	store     store.EventFiler
	retention func() time.Duration
	missing   error // filing is on, and this node does not know where to
	asked     chan *filingRound

	mu      sync.Mutex
	current *filingRound // nil: none is running or to be reported
}

// filingRound files every day that is due.
type filingRound struct {
	done chan struct{}
	days int // filed and not reported yet
	err  error
}

// FilingOptions are what filing needs of a node.
type FilingOptions struct {
	Address   string // a folder or s3://BUCKET/PREFIX; off: no more; empty: as it is
	Store     store.EventFiler
	Getenv    func(string) string // has the settings of an object store
	Now       func() time.Time
	Retention func() time.Duration // of events
	Logger    *slog.Logger
}

// OpenFiling turns filing on or off as the options say. A node that does not say leaves it
// as it is, and says so if it cannot do what another node has promised. It returns nil if
// filing is off.
func OpenFiling(ctx context.Context, o FilingOptions) (*Filing, error) {
	act := store.Act{By: recoup.System, Reason: "start of a node with --event-files " + o.Address, At: o.Now()}
	f := &Filing{store: o.Store, retention: o.Retention, asked: make(chan *filingRound, 1)}
	switch o.Address {
	case filingOff:
		return nil, o.Store.SetEventFiling(ctx, "", act)
	case "":
		on, err := o.Store.EventFiling(ctx)
		if err != nil || on == nil {
			return nil, err
		}
		f.missing = fmt.Errorf("events are to be filed in %s, and this node was started without --event-files: give it, or turn filing off with --event-files off", on.Place)
		o.Logger.Warn("months of events are kept until they are filed", "cause", f.missing)
	default:
		place, err := OpenPlace(PlaceOptions{Address: o.Address, Create: true, Getenv: o.Getenv, Now: o.Now})
		if err != nil {
			return nil, fmt.Errorf("--event-files: %w", err)
		}
		if err := o.Store.SetEventFiling(ctx, place.String(), act); err != nil {
			return nil, err
		}
		f.filer = Filer{Store: o.Store, Place: place, Now: o.Now}
	}
	return f, nil
}

// Jobs returns the job that files events. It takes its turn before the retention of events,
// which waits for it.
func (f *Filing) Jobs() []scheduler.Job {
	return []scheduler.Job{{
		Name: "event-files", About: "write days of events to files before their month is dropped", Every: time.Minute, Late: 3 * 24 * time.Hour,
		Chunk:   func(ctx context.Context, _ scheduler.Run) (int, bool, error) { return f.chunk(ctx) },
		Overdue: f.overdue,
	}}
}

// chunk begins a round, or waits for the one that is running, for a moment.
func (f *Filing) chunk(ctx context.Context) (days int, more bool, err error) {
	if f.missing != nil {
		return 0, false, f.missing
	}
	f.mu.Lock()
	round := f.current
	if round == nil {
		round = &filingRound{done: make(chan struct{})}
		f.current = round
		f.asked <- round
	}
	f.mu.Unlock()
	patience := time.NewTimer(filingPatience)
	defer patience.Stop()
	select {
	case <-round.done:
	case <-patience.C:
	case <-ctx.Done():
	}
	return f.report(round)
}

// report says what a round has done since the last time.
func (f *Filing) report(round *filingRound) (days int, more bool, err error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	days, round.days = round.days, 0
	select {
	case <-round.done:
		if f.current == round { // else another has reported it
			f.current = nil
		}
		return days, false, round.err
	default:
		return days, true, nil
	}
}

// Run files what rounds are begun for, until ctx ends.
func (f *Filing) Run(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case round := <-f.asked:
			err := f.fileDue(ctx, func() {
				f.mu.Lock()
				defer f.mu.Unlock()
				round.days++
			})
			f.mu.Lock()
			round.err = err
			f.mu.Unlock()
			close(round.done)
		}
	}
}

// fileDue files every day that is due, the first first. A day whose files are wrong does not
// keep the others from being filed.
func (f *Filing) fileDue(ctx context.Context, filed func()) error {
	days, err := f.due(ctx, f.filer.Now())
	if err != nil {
		return err
	}
	var wrong error
	for _, d := range days {
		switch err := f.file(ctx, d.Day); {
		case errors.Is(err, ErrVersion), errors.Is(err, ErrDamaged), errors.Is(err, ErrCounts):
			wrong = errors.Join(wrong, err)
		case err != nil:
			return errors.Join(wrong, err)
		default:
			filed()
		}
	}
	return wrong
}

// file writes a day: first its file, then the row of the manifest, then older versions go.
func (f *Filing) file(ctx context.Context, day time.Time) error {
	made, err := f.filer.File(ctx, day)
	if err != nil {
		return err
	}
	now := f.filer.Now()
	made.WrittenAt = now // also of a file that is as it was: it was compared with the ledger now
	err = f.store.SaveEventFile(ctx, store.EventFile{EventFile: made.EventFile, Place: f.filer.Place.String()}, store.Act{By: recoup.System, At: now})
	if err != nil {
		return err
	}
	return f.filer.Tidy(ctx, day)
}

// due lists the days that are to be filed, the first first.
func (f *Filing) due(ctx context.Context, now time.Time) (due []store.EventDay, err error) {
	days, err := f.store.EventDays(ctx, store.Day(now))
	for _, d := range days {
		if !Due(d, now, f.retention()).IsZero() {
			due = append(due, d)
		}
	}
	return due, err
}

func (f *Filing) overdue(ctx context.Context, now time.Time, limit int) (found store.Overdue, err error) {
	days, err := f.due(ctx, now)
	for _, d := range days {
		since := Due(d, now, f.retention())
		if found.Since.IsZero() || since.Before(found.Since) {
			found.Since = since
		}
	}
	found.N = min(len(days), limit)
	return found, err
}
