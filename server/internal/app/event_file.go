package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// filingOff is the value of --event-files that turns filing off.
const filingOff = "off"

// filingPatience is how long the clock waits for a round of filing, which goes on beside
// it: a day may take minutes, and errors have deadlines.
const filingPatience = time.Second

// archiver writes days of events to files, in rounds that the clock begins.
type archiver struct {
	filer     archive.Filer
	store     Store
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

// openFiling turns filing on or off as the options say. A node that does not say leaves it
// as it is, and says so if it cannot do what another node has promised.
func (n *Node) openFiling(ctx context.Context) error {
	if n.o.Standby {
		return nil
	}
	act := store.Act{By: recoup.System, Reason: "start of a node with --event-files " + n.o.EventFiles, At: n.o.Now()}
	switch n.o.EventFiles {
	case filingOff:
		return n.store.SetEventFiling(ctx, "", act)
	case "":
		on, err := n.store.EventFiling(ctx)
		if err != nil || on == nil {
			return err
		}
		missing := fmt.Errorf("events are to be filed in %s, and this node was started without --event-files: give it, or turn filing off with --event-files off", on.Place)
		n.o.Logger.Warn("months of events are kept until they are filed", "cause", missing)
		n.archiver = &archiver{missing: missing}
	default:
		place, err := n.o.openPlace(n.o.EventFiles)
		if err != nil {
			return fmt.Errorf("--event-files: %w", err)
		}
		if err := n.store.SetEventFiling(ctx, place.String(), act); err != nil {
			return err
		}
		n.archiver = &archiver{filer: archive.Filer{Store: n.store, Place: place, Now: n.o.Now}}
	}
	n.archiver.store, n.archiver.asked = n.store, make(chan *filingRound, 1)
	n.archiver.retention = func() time.Duration { return n.engine.Policies.Current().Ledger.EventRetention }
	return nil
}

// jobs returns the job that files events. It takes its turn before the retention of events,
// which waits for it.
func (f *archiver) jobs() []scheduler.Job {
	return []scheduler.Job{{
		Name: "event-files", About: "write days of events to files before their month is dropped", Every: time.Minute, Late: 3 * 24 * time.Hour,
		Chunk:   func(ctx context.Context, _ scheduler.Run) (int, bool, error) { return f.chunk(ctx) },
		Overdue: f.overdue,
	}}
}

// chunk begins a round, or waits for the one that is running, for a moment.
func (f *archiver) chunk(ctx context.Context) (days int, more bool, err error) {
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
func (f *archiver) report(round *filingRound) (days int, more bool, err error) {
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

// run files what rounds are begun for, until ctx ends.
func (f *archiver) run(ctx context.Context) {
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
func (f *archiver) fileDue(ctx context.Context, filed func()) error {
	days, err := f.due(ctx, f.filer.Now())
	if err != nil {
		return err
	}
	var wrong error
	for _, d := range days {
		switch err := f.file(ctx, d.Day); {
		case errors.Is(err, archive.ErrVersion), errors.Is(err, archive.ErrDamaged), errors.Is(err, archive.ErrCounts):
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
func (f *archiver) file(ctx context.Context, day time.Time) error {
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
func (f *archiver) due(ctx context.Context, now time.Time) (due []store.EventDay, err error) {
	days, err := f.store.EventDays(ctx, store.Day(now))
	for _, d := range days {
		if !archive.Due(d, now, f.retention()).IsZero() {
			due = append(due, d)
		}
	}
	return due, err
}

func (f *archiver) overdue(ctx context.Context, now time.Time, limit int) (found store.Overdue, err error) {
	days, err := f.due(ctx, now)
	for _, d := range days {
		since := archive.Due(d, now, f.retention())
		if found.Since.IsZero() || since.Before(found.Since) {
			found.Since = since
		}
	}
	found.N = min(len(days), limit)
	return found, err
}

// EventExport is which days are exported, and where to.
type EventExport struct {
	From, To time.Time // the days that begin in it and are over; zero: all
	Place    string    // a folder, or s3://BUCKET/PREFIX

	// Progress is told how many events of all days were written; nil: nobody is.
	Progress func(done, total int64)
}

// ExportEventFiles writes days of the ledger to a place, whose manifests are in that
// place alone. The export is audited before it begins. Days that were written before it
// failed are returned.
func ExportEventFiles(ctx context.Context, o Options, e EventExport) (files []archive.Filed, err error) {
	place, err := o.openPlace(e.Place)
	if err != nil {
		return nil, err
	}
	s, err := openExisting(ctx, o)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	now := o.clock()()
	days, err := s.EventDays(ctx, store.Day(now))
	if err != nil {
		return nil, err
	}
	var total int64
	wanted := days[:0]
	for _, d := range days {
		if d.Day.Before(e.From) || !e.To.IsZero() && !d.Day.Before(e.To) {
			continue
		}
		wanted = append(wanted, d)
		total += d.Events
	}
	if len(wanted) == 0 {
		return nil, nil
	}
	about := map[string]any{"rows": "true", "format": "parquet", "from": wanted[0].Day.Format(time.DateOnly), "to": wanted[len(wanted)-1].Day.Format(time.DateOnly), "place": place.String()}
	if err := s.AppendAudit(ctx, store.Act{By: CommandLine, At: now}.On(store.ActEventsExport, "", about)); err != nil {
		return nil, err
	}
	var done int64
	filer := archive.Filer{Store: s, Place: place, Now: o.clock()}
	for _, d := range wanted {
		if e.Progress != nil {
			filer.Progress = func(rows int64) { e.Progress(done+rows, total) }
		}
		file, err := filer.File(ctx, d.Day)
		if err == nil {
			err = filer.Tidy(ctx, d.Day)
		}
		if err != nil {
			return files, err
		}
		files, done = append(files, file), done+file.Rows
	}
	return files, nil
}

// openPlace opens a place to write to. An object store that is away is found out when it is
// written to: a node starts without it.
func (o Options) openPlace(address string) (archive.Place, error) {
	place := archive.PlaceOptions{Address: address, Create: true, Getenv: o.Getenv, Now: o.clock()}
	if place.Getenv == nil {
		place.Getenv = os.Getenv
	}
	return archive.OpenPlace(place)
}

// openExisting opens a database that is there.
func openExisting(ctx context.Context, o Options) (Store, error) {
	o = o.withDefaults()
	if err := mustExist(o.Database); err != nil {
		return nil, err
	}
	return openStore(ctx, &o, slog.New(slog.DiscardHandler))
}
