package archive

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Filer writes days of the ledger to a place.
type Filer struct {
	Store    store.DayReader
	Place    Place
	Now      func() time.Time
	Progress func(rows int64) // is told how many events were written of a day; nil: nobody is
}

// Filed is what became of a day.
type Filed struct {
	wire.EventFile
	Changed bool // a file was written; else the place has the same one already
}

// File writes the events of a day, verifies them and gives the file its name: first the
// file, then its manifest, with which it counts. A day whose file has the same bytes
// already is left as it is. Names are not used again, so that two nodes cannot put a file
// under the manifest of another: who comes second gets ErrExists. Older versions stay until
// [Filer.Tidy], so that whoever keeps a manifest of its own can replace its row before.
func (f *Filer) File(ctx context.Context, day time.Time) (filed Filed, err error) {
	day = store.Day(day)
	last, taken, err := newest(ctx, f.Place, day) // before the ledger is read: a higher version is a later look
	if err != nil {
		return filed, err
	}
	scratch, err := f.Place.Scratch(f.Now())
	if err != nil {
		return filed, err
	}
	defer func() { _ = errors.Join(scratch.Close(), ignoreMissing(os.Remove(scratch.Name()))) }()
	made, err := f.fill(ctx, day, scratch)
	if err != nil {
		return filed, err
	}
	if err := verify(scratch, &made); err != nil {
		return filed, fmt.Errorf("%s: %w", day.Format(time.DateOnly), err)
	}
	if there, err := f.has(ctx, last, &made); err != nil || there {
		return Filed{EventFile: *last}, err
	}
	if taken == maxVersion {
		return filed, fmt.Errorf("%s: %w: remove the files with version %d from %v, they were not written by Recoup", day.Format(time.DateOnly), ErrVersion, taken, f.Place)
	}
	made.Version = taken + 1
	made.Name, made.WrittenAt = fileName(day, made.Version), f.Now().UTC().Truncate(time.Microsecond)
	if err := f.Place.Put(ctx, made.Name, scratch); err != nil {
		return filed, err
	}
	return Filed{EventFile: made, Changed: true}, f.describe(ctx, &made)
}

// has reports whether the last version is what was made, and still there. One with more
// events is never replaced.
func (f *Filer) has(ctx context.Context, last, made *wire.EventFile) (bool, error) {
	switch {
	case last == nil:
		return false, nil
	case last.Rows > made.Rows:
		return false, fmt.Errorf("%s: %w: %s has %d events, the ledger has %d left", made.Day.Format(time.DateOnly), ErrCounts, last.Name, last.Rows, made.Rows)
	case last.SHA256 != made.SHA256:
		return false, nil
	}
	err := f.Place.Verify(ctx, last.Name, last.Bytes, last.SHA256)
	if errors.Is(err, os.ErrNotExist) || errors.Is(err, ErrChecksum) {
		return false, nil // somebody removed or changed it: it is written again
	}
	return err == nil, err
}

// fill writes a day to a file and holds it against the ledger's own counts.
func (f *Filer) fill(ctx context.Context, day time.Time, to io.Writer) (wire.EventFile, error) {
	w, err := parquet.NewWriter(to, Schema(), columnCode, columnTS, columnID)
	if err != nil {
		return wire.EventFile{}, err
	}
	var counted []recoup.CodeCount
	var sums tally
	err = f.Store.ReadEventDay(ctx, day, func(counts []recoup.CodeCount) error {
		counted = slices.Clone(counts)
		return nil
	}, func(e *store.Event) error {
		sums.add(e.Code, e.TS.UnixMicro())
		if f.Progress != nil && sums.rows%progressRows == 0 {
			f.Progress(sums.rows)
		}
		return write(w, e)
	})
	if err != nil {
		return wire.EventFile{}, err
	}
	if !slices.Equal(counted, sums.codes) {
		return wire.EventFile{}, fmt.Errorf("%s: %w: written %v, counted %v", day.Format(time.DateOnly), ErrCounts, sums.codes, counted)
	}
	made := wire.EventFile{Day: day, Rows: sums.rows, Codes: sums.codes}
	if sums.rows > 0 {
		made.First, made.Last = time.UnixMicro(sums.first).UTC(), time.UnixMicro(sums.last).UTC()
	}
	return made, w.Close()
}

// progressRows is after how many events progress is told of.
const progressRows = 10_000

// tally counts events that come sorted by code.
type tally struct {
	codes       []recoup.CodeCount
	rows        int64
	first, last int64 // microseconds
}

func (t *tally) add(code recoup.Code, ts int64) {
	if n := len(t.codes); n == 0 || t.codes[n-1].Code != code {
		t.codes = append(t.codes, recoup.CodeCount{Code: code})
	}
	t.codes[len(t.codes)-1].Count++
	if t.rows == 0 {
		t.first, t.last = ts, ts
	}
	t.rows++
	t.first, t.last = min(t.first, ts), max(t.last, ts)
}

// verify reads a file back as it is on the disk and compares it with what was written.
func verify(file File, made *wire.EventFile) error {
	sum, size, err := digest(file)
	if err != nil {
		return err
	}
	made.SHA256, made.Bytes = sum, size
	r, err := parquet.NewReader(file, size, Schema())
	if err != nil {
		return err
	}
	defer r.Close()
	var sums tally
	for g := range r.Groups() {
		codes, err := r.Read(g, columnCode)
		if err != nil {
			return err
		}
		times, err := r.Read(g, columnTS)
		if err != nil {
			return err
		}
		for i, code := range codes.Texts {
			sums.add(recoup.Code(code), times.Numbers[i])
		}
	}
	if !slices.Equal(sums.codes, made.Codes) || sums.rows > 0 && (sums.first != made.First.UnixMicro() || sums.last != made.Last.UnixMicro()) {
		return fmt.Errorf("%w: the file has %v, written were %v", ErrCounts, sums.codes, made.Codes)
	}
	return nil
}

// digest returns the checksum of a file, and its size.
func digest(file io.ReadSeeker) (sum string, size int64, err error) {
	if _, err := file.Seek(0, io.SeekStart); err != nil {
		return "", 0, err
	}
	hash := sha256.New()
	size, err = io.Copy(hash, file)
	return hex.EncodeToString(hash.Sum(nil)), size, err
}

// describe writes the manifest of a file.
func (f *Filer) describe(ctx context.Context, made *wire.EventFile) error {
	text, err := json.MarshalIndent(made, "", "  ")
	if err != nil {
		return err
	}
	scratch, err := f.Place.Scratch(f.Now())
	if err != nil {
		return err
	}
	defer func() { _ = errors.Join(scratch.Close(), ignoreMissing(os.Remove(scratch.Name()))) }()
	if _, err := scratch.Write(append(text, '\n')); err != nil {
		return err
	}
	return f.Place.Put(ctx, manifestName(made.Name), scratch)
}

// Tidy removes what is older than the newest version of a day, with what was left without
// a manifest: of each version the manifest first, so that no manifest is ever without its
// file. What is newer is somebody's who is at work.
func (f *Filer) Tidy(ctx context.Context, day time.Time) error {
	names, err := f.Place.List(ctx, dayPrefix(store.Day(day))) // in which a manifest comes before its file
	if err != nil {
		return err
	}
	last := versions(names)[store.Day(day)]
	for _, name := range names {
		if _, version, ok := parseName(name); ok && version < last {
			err = errors.Join(err, f.Place.Remove(ctx, name))
		}
	}
	return err
}

// newest returns the manifest of the newest version of a day, or nil, and the highest
// version that a name of the day has.
func newest(ctx context.Context, p Place, day time.Time) (last *wire.EventFile, taken int, err error) {
	names, err := p.List(ctx, dayPrefix(day))
	if err != nil {
		return nil, 0, err
	}
	for _, name := range names {
		if _, version, ok := parseName(name); ok {
			taken = max(taken, version)
		}
	}
	version, found := versions(names)[day]
	if !found {
		return nil, taken, nil
	}
	m, err := readManifest(ctx, p, day, version)
	return &m, taken, err
}

// versions returns the newest version of each day that has a manifest.
func versions(names []string) map[time.Time]int {
	newest := map[time.Time]int{}
	for _, name := range names {
		if day, version, ok := parseName(name); ok && manifestName(fileName(day, version)) == name {
			newest[day] = max(newest[day], version)
		}
	}
	return newest
}

// maxManifest is how large a manifest may be: it names each code once.
const maxManifest = 4 << 20

func readManifest(ctx context.Context, p Place, day time.Time, version int) (m wire.EventFile, err error) {
	name := manifestName(fileName(day, version))
	file, err := p.Open(ctx, name, maxManifest)
	if errors.Is(err, ErrChecksum) {
		return m, fmt.Errorf("%s: %w: its manifest has more than %d bytes", name, ErrDamaged, maxManifest)
	}
	if err != nil {
		return m, err
	}
	text, err := io.ReadAll(io.LimitReader(file, maxManifest))
	if err := errors.Join(err, file.Close()); err != nil {
		return m, err
	}
	if err := json.Unmarshal(text, &m); err != nil || !m.Day.Equal(day) || m.Version != version || m.Name != fileName(day, version) {
		return m, fmt.Errorf("%s: %w: its manifest cannot be read", name, ErrDamaged)
	}
	return m, nil
}
