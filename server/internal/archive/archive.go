package archive

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Archive reads the files of a place. It is for one reader at a time, who closes it.
type Archive struct {
	place Place
	days  []archiveDay // the last first

	body File // the file that was opened last, and is what its manifest says
	name string

	// What was found last, of one day, newest first: pages are cut from it.
	found []recoup.StoredEvent
	of    search
}

// archiveDay is a day that has a file.
type archiveDay struct {
	day     time.Time
	version int
	file    *wire.EventFile // nil: its manifest was not read yet
}

// search is what was looked for in a day.
type search struct {
	day  time.Time
	from sqldb.Cursor // what was found begins behind it
	more bool         // there is more behind what was found
}

// OpenArchive lists the days of a place. Their manifests are read when they are needed:
// each is a request where the place is a bucket.
func OpenArchive(ctx context.Context, p Place) (*Archive, error) {
	names, err := p.List(ctx, prefix)
	a := &Archive{place: p}
	for day, version := range versions(names) {
		a.days = append(a.days, archiveDay{day: day, version: version})
	}
	if err == nil && len(a.days) == 0 {
		err = fmt.Errorf("%v has no files of events: their names are as %s", p, fileName(time.Unix(0, 0).UTC(), 1))
	}
	slices.SortFunc(a.days, func(x, y archiveDay) int { return y.day.Compare(x.day) })
	return a, err
}

// Close lets go of the file that was read last.
func (a *Archive) Close() error {
	if a.body == nil {
		return nil
	}
	body := a.body
	a.body, a.name = nil, ""
	return body.Close()
}

// Events lists events as the ledger does: newest first, and where times are equal by id
// from large to small. The code of the filter may be the name that was sent for one that
// nobody had registered. A file that is not what its manifest says ends it with
// ErrChecksum. The filter must be the same for all pages.
func (a *Archive) Events(ctx context.Context, f store.EventFilter, p sqldb.Page) ([]recoup.StoredEvent, sqldb.Cursor, error) {
	list, at := []recoup.StoredEvent{}, p.Cursor
	for i := range a.days {
		for len(list) < p.Size() {
			part, err := a.ofDay(ctx, &a.days[i], &f, at, p.Size()-len(list))
			if err != nil {
				return nil, sqldb.Cursor{}, fmt.Errorf("%s: %w", fileName(a.days[i].day, a.days[i].version), err)
			}
			if len(part) == 0 {
				break
			}
			list = append(list, part...)
			last := &list[len(list)-1]
			at = sqldb.Cursor{At: last.TS, ID: last.ID}
		}
	}
	if len(list) < p.Size() {
		at = sqldb.Cursor{}
	}
	return list, at, nil
}

// ofDay returns some events of a day behind a cursor. A version that was replaced since
// the days were listed is looked for again.
func (a *Archive) ofDay(ctx context.Context, d *archiveDay, f *store.EventFilter, at sqldb.Cursor, limit int) ([]recoup.StoredEvent, error) {
	if !d.mayHave(f, at) {
		return nil, nil
	}
	list, err := a.ofVersion(ctx, d, f, at, limit)
	if !errors.Is(err, os.ErrNotExist) {
		return list, err
	}
	names, listed := a.place.List(ctx, dayPrefix(d.day))
	newer := versions(names)[d.day]
	if listed != nil || newer <= d.version {
		return nil, errors.Join(err, listed)
	}
	d.version, d.file = newer, nil
	return a.ofVersion(ctx, d, f, at, limit)
}

// mayHave says without the manifest whether a day may have what is looked for.
func (d *archiveDay) mayHave(f *store.EventFilter, at sqldb.Cursor) bool {
	return (f.From.IsZero() || d.day.Add(oneDay).After(f.From)) && (f.To.IsZero() || d.day.Before(f.To)) && (at.IsZero() || !d.day.After(at.At))
}

func (a *Archive) ofVersion(ctx context.Context, d *archiveDay, f *store.EventFilter, at sqldb.Cursor, limit int) ([]recoup.StoredEvent, error) {
	if d.file == nil {
		m, err := readManifest(ctx, a.place, d.day, d.version)
		if err != nil {
			return nil, err
		}
		d.file = &m
	}
	if !mayHave(d.file, f, at) {
		return nil, nil
	}
	if a.stale(d.day, at) {
		if err := a.search(ctx, d.file, f, at); err != nil {
			return nil, err
		}
	}
	rest := a.found[a.behind(at):]
	return rest[:min(limit, len(rest))], nil
}

// stale reports whether what was found does not say what comes behind a cursor.
func (a *Archive) stale(day time.Time, at sqldb.Cursor) bool {
	switch {
	case !a.of.day.Equal(day):
		return true
	case at.IsZero():
		return !a.of.from.IsZero()
	}
	return a.of.more && a.behind(at) == len(a.found)
}

// behind is the number of the first event that was found behind a cursor.
func (a *Archive) behind(at sqldb.Cursor) int {
	if at.IsZero() {
		return 0
	}
	n := slices.IndexFunc(a.found, func(e recoup.StoredEvent) bool { return older(&e, at) })
	if n < 0 {
		return len(a.found)
	}
	return n
}

// older reports whether an event comes behind a cursor.
func older(e *recoup.StoredEvent, at sqldb.Cursor) bool {
	c := e.TS.Compare(at.At)
	return c < 0 || c == 0 && bytes.Compare(e.ID[:], at.ID[:]) < 0
}

// mayHave says by the manifest whether a file may have what is looked for.
func mayHave(file *wire.EventFile, f *store.EventFilter, at sqldb.Cursor) bool {
	switch {
	case !f.From.IsZero() && file.Last.Before(f.From), !f.To.IsZero() && !file.First.Before(f.To), !at.IsZero() && file.First.After(at.At):
		return false
	}
	return f.Code == "" || slices.ContainsFunc(file.Codes, func(c recoup.CodeCount) bool { return c.Code == f.Code || c.Code == fault.CodeUnregisteredCode })
}

// search finds the newest events of a day behind a cursor.
func (a *Archive) search(ctx context.Context, file *wire.EventFile, f *store.EventFilter, at sqldb.Cursor) error {
	if err := a.open(ctx, file); err != nil {
		return err
	}
	r, err := parquet.NewReader(a.body, file.Bytes, Schema())
	if err != nil {
		return err
	}
	defer r.Close()
	if r.Rows() != file.Rows {
		return fmt.Errorf("%w: it has %d rows, and the manifest says %d", ErrChecksum, r.Rows(), file.Rows)
	}
	var kept buffer
	a.of = search{day: file.Day, from: at}
	for g := range r.Groups() {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := a.searchGroup(r, g, f, at, &kept); err != nil {
			return err
		}
	}
	a.found, a.of.more = kept.events(), kept.full
	return nil
}

// open opens a file and compares it with its manifest, once.
func (a *Archive) open(ctx context.Context, file *wire.EventFile) error {
	if a.name == file.Name {
		return nil
	}
	if err := a.Close(); err != nil {
		return err
	}
	body, err := a.place.Open(ctx, file.Name, file.Bytes)
	if err != nil {
		return err
	}
	if err := verifySum(body, file.Bytes, file.SHA256); err != nil {
		return errors.Join(err, body.Close())
	}
	a.body, a.name = body, file.Name
	return nil
}

// searchGroup adds what a row group has of it.
func (a *Archive) searchGroup(r *parquet.Reader, g int, f *store.EventFilter, at sqldb.Cursor, kept *buffer) error {
	if outside(r, g, f, at) {
		return nil
	}
	var group rowGroup
	var err error
	for c := range group {
		if group[c], err = r.Read(g, c); err != nil {
			return err
		}
	}
	for i := range group[columnCode].Texts {
		if !group.matches(i, f) {
			continue
		}
		e, err := group.event(i)
		if err != nil {
			return err
		}
		if !at.IsZero() && !older(&e, at) {
			continue
		}
		kept.keep(e, group.size(i))
	}
	return nil
}

// outside says whether the bounds of a row group leave out all that is looked for.
func outside(r *parquet.Reader, g int, f *store.EventFilter, at sqldb.Cursor) bool {
	if low, high, ok := r.TextBounds(g, columnCode); ok && f.Code != "" && !inBounds(f.Code, low, high) && !inBounds(fault.CodeUnregisteredCode, low, high) {
		return true
	}
	low, high, ok := r.NumberBounds(g, columnTS)
	return ok && (!f.From.IsZero() && high < f.From.UnixMicro() || !f.To.IsZero() && low >= f.To.UnixMicro() || !at.IsZero() && low > at.At.UnixMicro())
}

func inBounds(c recoup.Code, low, high string) bool { return low <= string(c) && string(c) <= high }

// matches says whether a row is looked for.
func (g *rowGroup) matches(i int, f *store.EventFilter) bool {
	ts := g[columnTS].Numbers[i]
	return (f.Code == "" || g[columnCode].Texts[i] == string(f.Code) || g[columnReported].Texts[i] == string(f.Code)) &&
		(f.Service == "" || g[columnService].Texts[i] == f.Service) &&
		(f.Correlation.IsZero() || g[columnCorrelation].UUIDs[i] == f.Correlation) &&
		(len(f.Tenants) == 0 || slices.Contains(f.Tenants, g[columnTenant].Texts[i])) &&
		(f.From.IsZero() || ts >= f.From.UnixMicro()) && (f.To.IsZero() || ts < f.To.UnixMicro())
}

// compare orders events by time and id.
func compare(x, y *recoup.StoredEvent) int {
	if c := x.TS.Compare(y.TS); c != 0 {
		return c
	}
	return bytes.Compare(x.ID[:], y.ID[:])
}
