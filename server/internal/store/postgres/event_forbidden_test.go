package postgres_test

import (
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// forbiddenEvents are acts that nobody may do to events, counts and codes.
var forbiddenEvents = []string{
	`update error_event set service = 'mallory'`,
	`update error_event set ts = ts where false`,
	`delete from error_event`,
	`delete from error_event where false`,
	`truncate error_event`,
	`update error_event_y2026m02 set service = 'mallory'`,
	`delete from error_event_y2026m02`,
	`truncate error_event_y2026m02`,
	`insert into error_event (event_id, code, correlation_id, service) values (gen_random_uuid(), 'NOBODY_KNOWS', gen_random_uuid(), 's')`,
	`insert into error_event_y2026m02 (event_id, code, correlation_id, service, ts)
		values (gen_random_uuid(), 'NOBODY_KNOWS', gen_random_uuid(), 's', '2026-02-02')`,
	`insert into error_event_y2026m02 (event_id, code, correlation_id, service, ts)
		values (gen_random_uuid(), 'NETWORK_TIMEOUT', gen_random_uuid(), 's', '2026-03-02')`,
	`insert into error_event (event_id, code, correlation_id, service) values (gen_random_uuid(), 'NETWORK_TIMEOUT', gen_random_uuid(), '')`,
	`insert into error_event (event_id, code, correlation_id, service, details)
		values (gen_random_uuid(), 'NETWORK_TIMEOUT', gen_random_uuid(), 's', '{"authorization": "Bearer x"}')`,
	`insert into error_event (event_id, code, correlation_id, service, details)
		values (gen_random_uuid(), 'NETWORK_TIMEOUT', gen_random_uuid(), 's', '["retryable"]')`,
	`insert into error_event (event_id, code, correlation_id, service, details)
		values (gen_random_uuid(), 'NETWORK_TIMEOUT', gen_random_uuid(), 's', '{"retryable": "yes"}')`,
	`insert into error_event (event_id, code, correlation_id, service, ts) select event_id, code, correlation_id, service, ts
		from error_event on conflict (event_id, ts) do update set service = 'mallory'`,

	`delete from error_code`,
	`delete from error_code where false`,
	`truncate error_code cascade`,
	`update error_code set code = 'RENAMED' where code = 'NETWORK_TIMEOUT'`,
	`update error_code set created_at = '2020-01-01'`,
	`insert into error_code (code, domain, description) values ('lower_case', 'data', '')`,
}

// forbiddenToNodes are acts that nodes may not do, but the schema's owner must be
// able to.
var forbiddenToNodes = []string{
	`update error_aggregate_daily set count = 0`,
	`delete from error_aggregate_daily`,
	`insert into error_aggregate_daily values ('2026-02-02', 's', 'c', 1, 1, now())`,
	`update error_aggregate_hourly set count = 0`,
	`delete from error_aggregate_hourly`,
	`delete from error_aggregate_delta`,
	`insert into error_aggregate_delta values (now(), 's', 'c', 1, 1, now())`,
	`truncate error_aggregate_delta`,
	`update event_drop set n = 1`,
	`delete from event_drop`,
	`insert into event_drop values ('2026-02-02', 'x', 0)`,
	`drop table error_event_y2026m02`,
	`alter table error_event detach partition error_event_y2026m02`,
	`alter table error_event disable trigger known_codes`,
	`create table error_event_mine partition of error_event for values from ('2030-01-01') to ('2030-02-01')`,
	`set session_replication_role = replica`,
	`select enable_row_security()`,
	`select disable_row_security()`,
}

// What is forbidden is refused to nodes and to the schema's owner, and changes
// nothing.
func TestForbiddenEvents(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, app := session(t, ownerURL), session(t, appURL)
	b := conformance.NewBookkeeper(t, open(t, appURL))
	b.Add(b.Event("billing", "NETWORK_TIMEOUT", conformance.Epoch()), b.Event("search", "VALIDATION_ERROR", conformance.Epoch()))
	must(t, b.Ledger.CountDrops(t.Context(), []store.Drop{{Day: conformance.Epoch(), Reason: "x", N: 3}}))
	must(t, b.Ledger.EnsureEventPartitions(t.Context(), databaseTime(t, app), 0))
	for _, act := range forbiddenEvents {
		refused(t, app, act)
		refused(t, owner, act)
	}
	for _, act := range forbiddenToNodes {
		refused(t, app, act)
	}
	today := store.Day(conformance.Epoch())
	b.Check(store.Span{From: today, To: today.Add(24 * time.Hour)})
	if codes, err := b.Ledger.Codes(t.Context()); err != nil || len(codes) != len(fault.Default().All()) {
		t.Errorf("%d codes are left, %v", len(codes), err)
	}
}

// Events that plain SQL adds are counted like all others, wherever they are put
// and whatever is ignored.
func TestPlainSQLIsCounted(t *testing.T) {
	t.Parallel()
	_, appURL := pgtest.Migrated(t)
	ledger, app := open(t, appURL), session(t, appURL)
	must(t, ledger.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	must(t, ledger.EnsureEventPartitions(t.Context(), conformance.Epoch(), 0))
	for _, insert := range []string{
		`insert into error_event (event_id, code, correlation_id, service, ts, details)
			select md5(i::text)::uuid, 'VALIDATION_ERROR', md5('')::uuid, 'billing', '2026-02-02 12:00Z'::timestamptz + i * interval '7 days',
				case when i % 2 = 0 then '{"retryable": true}'::jsonb end from generate_series(0, 9) i`,
		`insert into error_event_y2026m02 (event_id, code, correlation_id, service, ts)
			values (md5('a')::uuid, 'NETWORK_TIMEOUT', md5('')::uuid, 'billing', '2026-02-03')`,
		`insert into error_event (event_id, code, correlation_id, service, ts) values
			(md5('a')::uuid, 'NETWORK_TIMEOUT', md5('')::uuid, 'billing', '2026-02-03'),
			(md5('b')::uuid, 'NETWORK_TIMEOUT', md5('')::uuid, 'billing', '2026-02-03') on conflict do nothing`,
	} {
		_, err := app.Exec(t.Context(), insert)
		must(t, err)
	}
	for range 2 {
		rates, err := ledger.RetryableRates(t.Context(), conformance.Epoch(), conformance.Epoch().AddDate(0, 3, 0))
		if want := (recoup.ServiceRate{Service: "billing", Retryable: 7, Total: 12}); err != nil || len(rates) != 1 || rates[0] != want {
			t.Errorf("the rates are %v, %v, want %v", rates, err, want)
		}
		must(t, ledger.FoldRollups(t.Context()))
	}
}

// A bulk load leaves the planner informed, and the index on time complete.
func TestBulkLoadSettles(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	ledger, owner := open(t, appURL), session(t, ownerURL)
	must(t, ledger.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	const n = 30_000
	span := store.Span{From: conformance.Epoch(), To: conformance.Epoch().Add(24 * time.Hour)}
	added, err := ledger.BulkLoad(t.Context(), span, func(yield func(store.Event) bool) {
		for _, e := range conformance.SampleEvents(n, conformance.Epoch(), time.Millisecond) {
			if !yield(e) {
				return
			}
		}
	})
	if err != nil || added != n {
		t.Fatal(added, err)
	}
	var rows, unsummarised int
	must(t, owner.QueryRow(t.Context(), `select reltuples::int, brin_summarize_new_values((
		select indexrelid from pg_index join pg_class i on i.oid = indexrelid join pg_am a on a.oid = i.relam
		where indrelid = c.oid and amname = 'brin')) from pg_class c where c.oid = 'error_event_y2026m02'::regclass`).Scan(&rows, &unsummarised))
	if rows != n || unsummarised > 0 {
		t.Errorf("the planner knows of %d rows, want %d, and %d ranges are not summarised", rows, n, unsummarised)
	}
}

// A partition that somebody has made by hand takes events before anybody has
// given it its guards: they come with the first batch, or from nodes that make
// partitions ready, any number at once.
func TestPartitionMadeByHand(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	owner, app := session(t, ownerURL), session(t, appURL)
	b := conformance.NewBookkeeper(t, open(t, appURL))
	script(t, owner, `create table error_event_y2026m02 partition of error_event for values from ('2026-02-01') to ('2026-03-01')`)
	b.Add(b.Event("billing", "NETWORK_TIMEOUT", conformance.Epoch()))
	must(t, b.Ledger.EnsureEventPartitions(t.Context(), conformance.Epoch(), 0))
	for _, month := range []string{"06", "07", "08", "09"} {
		script(t, owner, `create table error_event_y2026m`+month+` partition of error_event for values from ('2026-`+month+`-01') to ('2026-`+month+`-29')`)
		atOnce(t, 10, func(int) error { return b.Ledger.EnsureEventPartitions(t.Context(), conformance.Epoch(), 0) })
	}
	for _, month := range []string{"2026-02", "2026-06", "2026-09"} {
		table := "error_event_y" + strings.Replace(month, "-", "m", 1)
		refused(t, app, `insert into `+table+` (event_id, code, correlation_id, service, ts)
			values (gen_random_uuid(), 'NOBODY_KNOWS', gen_random_uuid(), 's', '`+month+`-02')`)
		refused(t, owner, `delete from `+table)
		refused(t, owner, `truncate `+table)
	}
}

// Batches that hold the same events in another order do not wait for each other
// crosswise.
func TestCrossedBatches(t *testing.T) {
	t.Parallel()
	_, appURL := pgtest.Migrated(t)
	s, app := open(t, appURL), session(t, appURL)
	b := conformance.NewBookkeeper(t, s)
	for round := range 5 {
		events := conformance.SampleEvents(3000, conformance.Epoch().Add(time.Duration(round)*time.Hour), time.Second)
		atOnce(t, 4, func(i int) error {
			mine := slices.Clone(events)
			rand.New(rand.NewPCG(uint64(i), 0)).Shuffle(len(mine), func(i, j int) { mine[i], mine[j] = mine[j], mine[i] })
			_, err := b.Ledger.InsertEvents(t.Context(), mine)
			return err
		})
	}
	must(t, s.Close()) // which reports what happened
	var deadlocks int
	must(t, app.QueryRow(t.Context(), "select deadlocks from pg_stat_database where datname = current_database()").Scan(&deadlocks))
	if deadlocks > 0 {
		t.Errorf("%d deadlocks", deadlocks)
	}
}

func atOnce(t *testing.T, n int, run func(i int) error) {
	t.Helper()
	var all sync.WaitGroup
	start := make(chan struct{})
	for i := range n {
		all.Go(func() {
			<-start
			if err := run(i); err != nil {
				t.Error(err)
			}
		})
	}
	close(start)
	all.Wait()
}

// TestCompressedDetails inserts an event whose details are compressed already, as those of another
// table are: their limit is that of the uncompressed ones.
func TestCompressedDetails(t *testing.T) {
	t.Parallel()
	ownerURL, appURL := pgtest.Migrated(t)
	ledger, owner := open(t, appURL), at(t, ownerURL)
	must(t, ledger.SyncCodes(t.Context(), conformance.Epoch(), fault.Default().All()))
	must(t, ledger.EnsureEventPartitions(t.Context(), conformance.Epoch(), 0))
	owner.run("create temp table packed (details jsonb)")
	owner.run("alter table packed alter details set storage main")
	add := func(size int) error {
		owner.run("truncate packed")
		owner.run(`insert into packed select jsonb_build_object('retryable', true, 'field', repeat('x', $1))`, size)
		_, err := owner.Exec(t.Context(), `insert into recoup.error_event (event_id, code, correlation_id, service, ts, details)
			select gen_random_uuid(), 'VALIDATION_ERROR', gen_random_uuid(), 'billing', '2026-02-02 12:00Z', details from packed`)
		return err
	}
	var server *pgconn.PgError
	if err := add(100_000); !errors.As(err, &server) || server.ConstraintName != "error_event_details" {
		t.Errorf("100 kilobytes: %v", err)
	}
	must(t, add(1000))
}
