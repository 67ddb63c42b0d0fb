package parquet_test

import (
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/archive/parquet"
	"github.com/recoup-dev/recoup/server/internal/archive/parquet/parquettest"
)

// A file that declares more than it has is refused before memory is taken for it. What
// reading takes is measured, so the files are read one after the other.
func TestCraftedFiles(t *testing.T) { //nolint:paralleltest // memory is measured
	const ceiling = 100 << 20
	for _, f := range parquettest.Files(schema) {
		if f.Want == "" {
			continue
		}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := read(f.Bytes)
		runtime.ReadMemStats(&after)
		if !errors.Is(err, parquet.ErrDamaged) || !strings.Contains(err.Error(), f.Want) {
			t.Errorf("%s: %v, want %q", f.Name, err, f.Want)
		}
		if took := after.TotalAlloc - before.TotalAlloc; took > ceiling || len(f.Bytes) > 4<<20 {
			t.Errorf("%s: a file of %d bytes took %d MB", f.Name, len(f.Bytes), took>>20)
		}
	}
}

// A writer ends a row group early rather than writing one that cannot be read, also when
// its dictionary becomes too large for that.
func TestLargeRows(t *testing.T) {
	t.Parallel()
	lines := make([]line, 40_000)
	text := strings.Repeat("x", 1500)
	for i := range lines {
		lines[i] = line{Code: "A", Details: text, TS: int64(i)}
		lines[i].Place = text[:1+i%1500] + string(rune('a'+i/1500))
	}
	file := write(t, lines)
	got, err := read(file)
	if err != nil || len(got) != len(lines) || got[len(got)-1] != lines[len(lines)-1] {
		t.Fatalf("%d of %d rows: %v", len(got), len(lines), err)
	}
}
