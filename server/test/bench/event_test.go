package bench

import (
	"database/sql"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

const eventBatch = 5000

// BenchmarkEvents adds batches of 5,000 events, checked and counted, and beside
// each one like it to a table that is the same but for its guards and counts: on
// PostgreSQL by the driver's COPY, on SQLite by a prepared insert in one
// transaction. Target on PostgreSQL: 0.9 of bare COPY.
func BenchmarkEvents(b *testing.B) {
	b.Run("postgres", func(b *testing.B) {
		s, owner := openPostgres(b)
		must(b, s.EnsureEventPartitions(b.Context(), conformance.Epoch(), 0))
		execute(b, owner, `create schema bare;
			create table bare.error_event (like recoup.error_event including all) partition by range (ts);
			create table bare.error_event_y2026m02 partition of bare.error_event for values from ('2026-02-01') to ('2026-03-01')`)
		c := compareEvents(b, s, func(events []store.Event) { copyBare(b, owner, events) })
		c.report("events", "copy")
	})
	b.Run("sqlite", func(b *testing.B) {
		s, _ := openSQLite(b)
		db := connect(b, filepath.Join(b.TempDir(), "bare.db"))
		for _, ddl := range bareEvents {
			_, err := db.ExecContext(b.Context(), ddl)
			must(b, err)
		}
		c := compareEvents(b, s, func(events []store.Event) { insertBare(b, db, events) })
		c.report("events", "insert")
	})
}

func compareEvents(b *testing.B, s conformance.Ledger, bare func([]store.Event)) contest {
	c, at := contest{B: b}, conformance.Epoch()
	for b.Loop() {
		b.StopTimer()
		first, second := conformance.SampleEvents(eventBatch, at, time.Millisecond), conformance.SampleEvents(eventBatch, at, time.Millisecond)
		at = at.Add(eventBatch * time.Millisecond)
		b.StartTimer()
		c.round(eventBatch, just(func() {
			added, err := s.InsertEvents(b.Context(), first)
			if err != nil || added != eventBatch {
				b.Fatal(added, err)
			}
		}), just(func() { bare(second) }))
	}
	return c
}

// optional turns empty text into NULL.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func copyBare(b *testing.B, conn *pgx.Conn, events []store.Event) {
	_, err := conn.CopyFrom(b.Context(), pgx.Identifier{"bare", "error_event"}, []string{
		"event_id", "code", "correlation_id", "service", "endpoint", "http_status", "tenant_hash", "details", "region", "ts",
		"external_service", "reported_code", "tenant_key",
	}, pgx.CopyFromSlice(len(events), func(i int) ([]any, error) {
		e := &events[i]
		var details any
		if e.Details != nil {
			details = e.Details
		}
		return []any{
			[16]byte(e.ID), string(e.Code), [16]byte(e.CorrelationID), e.Service, optional(e.Endpoint), e.HTTPStatus, optional(e.TenantHash),
			details, optional(e.Region), e.TS, optional(e.ExternalService), optional(string(e.ReportedCode)), optional(e.TenantKey),
		}, nil
	}))
	must(b, err)
}

// bareEvents is the table of events without its checks and triggers.
var bareEvents = []string{
	`create table error_event (event_id blob not null, code text not null, correlation_id blob not null, service text not null,
		endpoint text, http_status integer, tenant_hash text, details text, region text, ts integer not null,
		external_service text, reported_code text, tenant_key text, primary key (ts, event_id)) strict, without rowid`,
	`create index error_event_code_idx on error_event (code, ts, event_id)`,
	`create index error_event_service_idx on error_event (service, ts, event_id)`,
	`create index error_event_correlation_idx on error_event (correlation_id, ts, event_id)`,
}

func insertBare(b *testing.B, db *sql.DB, events []store.Event) {
	tx, err := db.BeginTx(b.Context(), nil)
	must(b, err)
	insert, err := tx.PrepareContext(b.Context(), "insert into error_event values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")
	must(b, err)
	for i := range events {
		e := &events[i]
		var details any
		if e.Details != nil {
			details = string(store.EncodeDetails(e.Details))
		}
		_, err := insert.ExecContext(b.Context(), e.ID[:], string(e.Code), e.CorrelationID[:], e.Service, optional(e.Endpoint), e.HTTPStatus,
			optional(e.TenantHash), details, optional(e.Region), e.TS.UnixMicro(), optional(e.ExternalService),
			optional(string(e.ReportedCode)), optional(e.TenantKey))
		must(b, err)
	}
	must(b, tx.Commit())
}

// BenchmarkKnownEvents adds batches of which one event is known already, so that
// COPY is refused and the others are merged.
func BenchmarkKnownEvents(b *testing.B) {
	s, _ := openPostgres(b)
	at, c := conformance.Epoch(), contest{B: b}
	must(b, s.EnsureEventPartitions(b.Context(), at, 0))
	known := conformance.SampleEvents(1, at, 0)
	_, err := s.InsertEvents(b.Context(), known)
	must(b, err)
	for b.Loop() {
		b.StopTimer()
		batch := append(conformance.SampleEvents(eventBatch-1, at, time.Millisecond), known...)
		at = at.Add(eventBatch * time.Millisecond)
		b.StartTimer()
		c.alone(eventBatch, just(func() {
			if added, err := s.InsertEvents(b.Context(), batch); err != nil || added != eventBatch-1 {
				b.Fatal(added, err)
			}
		}))
	}
	c.report("events", "")
}
