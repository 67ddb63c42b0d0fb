package archive

import (
	"context"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// Export is which days are exported, and where to.
type Export struct {
	From, To time.Time // the days that begin in it and are over; zero: all
	Place    Place

	// Progress is told how many events of all days were written; nil: nobody is.
	Progress func(done, total int64)
}

// Exporter writes days of the ledger to places, whose manifests are in those places alone.
type Exporter struct {
	Store store.DayReader
	Audit store.AuditWriter
	Act   store.Act // who exports
	Now   func() time.Time
}

// Export writes days to a place. It is audited before it begins. Days that were written
// before it failed are returned.
func (x Exporter) Export(ctx context.Context, e Export) (files []Filed, err error) {
	now := x.Now()
	days, err := x.Store.EventDays(ctx, store.Day(now))
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
	about := map[string]any{"rows": "true", "format": "parquet", "from": wanted[0].Day.Format(time.DateOnly), "to": wanted[len(wanted)-1].Day.Format(time.DateOnly), "place": e.Place.String()}
	if err := x.Audit.AppendAudit(ctx, x.Act.On(store.ActEventsExport, "", about)); err != nil {
		return nil, err
	}
	var done int64
	filer := Filer{Store: x.Store, Place: e.Place, Now: x.Now}
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
