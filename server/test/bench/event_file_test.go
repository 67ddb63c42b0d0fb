package bench

import (
	"database/sql"
	"io"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// filedEvents is how many events the day has that becomes a file.
const filedEvents = 200_000

// BenchmarkEventFile writes a day of 200,000 events to a Parquet file, verified and on the
// disk, and beside it reads the same rows in the same order and throws them away: on
// PostgreSQL by COPY TO, on SQLite by a plain query. It says what an event takes in the
// file and in the database with its indexes.
func BenchmarkEventFile(b *testing.B) {
	day := store.Day(conformance.Epoch())
	b.Run("postgres", func(b *testing.B) {
		s, owner := openPostgres(b)
		must(b, s.EnsureEventPartitions(b.Context(), day, 0))
		fillDay(b, s, day)
		execute(b, owner, "vacuum analyze recoup.error_event")
		var size int64
		must(b, owner.QueryRow(b.Context(), "select pg_total_relation_size('recoup.error_event_y2026m02')").Scan(&size))
		compareFile(b, s, day, size, func() {
			_, err := owner.PgConn().CopyTo(b.Context(), io.Discard, "copy (select "+store.Events.Names("")+` from recoup.error_event
				where ts >= '`+day.Format(time.RFC3339)+`' and ts < '`+day.AddDate(0, 0, 1).Format(time.RFC3339)+`' order by code collate "C", ts, event_id) to stdout binary`)
			must(b, err)
		})
	})
	b.Run("sqlite", func(b *testing.B) {
		s, db := openSQLite(b)
		fillDay(b, s, day)
		var size int64
		must(b, db.QueryRowContext(b.Context(), "select sum(pgsize) from dbstat where name like 'error_event%' or name like 'sqlite_autoindex_error_event%'").Scan(&size))
		compareFile(b, s, day, size, func() { readBare(b, db, day) })
	})
}

func fillDay(b *testing.B, s store.EventLoader, day time.Time) {
	b.Helper()
	events := conformance.SampleEvents(filedEvents, day, 24*time.Hour/filedEvents)
	added, err := s.BulkLoad(b.Context(), store.Span{From: day, To: day.AddDate(0, 0, 1)}, slices.Values(events))
	if err != nil || added != filedEvents {
		b.Fatal(added, err)
	}
}

func compareFile(b *testing.B, s store.DayReader, day time.Time, size int64, bare func()) {
	b.Helper()
	c := contest{B: b}
	var file wire.EventFile
	for b.Loop() {
		b.StopTimer()
		place, err := archive.OpenFolder(filepath.Join(b.TempDir(), "events"), true)
		must(b, err)
		filer := archive.Filer{Store: s, Place: place, Now: conformance.Epoch}
		b.StartTimer()
		c.round(filedEvents, just(func() {
			filed, err := filer.File(b.Context(), day)
			must(b, err)
			file = filed.EventFile
		}), just(bare))
	}
	c.report("events", "read")
	b.ReportMetric(float64(file.Bytes)/filedEvents, "bytes/event")
	b.ReportMetric(float64(size)/filedEvents, "stored-bytes/event")
}

func readBare(b *testing.B, db *sql.DB, day time.Time) {
	rows, err := db.QueryContext(b.Context(), "select "+store.Events.Names("")+" from error_event where ts >= ? and ts < ? order by code, ts, event_id", day.UnixMicro(), day.AddDate(0, 0, 1).UnixMicro())
	must(b, err)
	cells := make([]sql.RawBytes, len(store.Events.Columns))
	places := make([]any, len(cells))
	for i := range cells {
		places[i] = &cells[i]
	}
	for rows.Next() {
		must(b, rows.Scan(places...))
	}
	must(b, rows.Err())
}
