package adoption_test

import (
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

const (
	// errors is what is governed, and rows what the owner of the source sees.
	allErrors = `select entity_id, code, severity, state, coalesce(resolution_reason, '-') as why from recoup.error order by entity_id, code, created_at, error_id`
	allRows   = `select id, disposition, archived_at is not null as archived from shop.failures order by id`
)

// A table is adopted with its rows, and its errors follow it: what is inserted, updated,
// deleted, copied and truncated.
func TestASourceIsFollowed(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(`insert into shop.failures (order_id, kind, level, at) values
		('o1', 'rate_limited', 'low', '2026-02-02 08:00'), ('o2', 'EIN_NOT_FOUND', 'CRITICAL', '2026-02-01'), ('o3', 'TIMEOUT', null, '2026-02-01'), ('o4', 'TIMEOUT', 'HIGH', '2025-06-01')`)
	w.exec("update shop.failures set status = 'done' where id = 3")
	w.adopt(mapping)
	w.settle()
	w.want("select state, scanned, governed_at is not null from recoup.adoption", "GOVERNED 4 true")
	w.want(allErrors, `
		o1 RATE_LIMIT_EXCEEDED LOW ACTIVE -
		o2 EIN_NOT_FOUND CRITICAL PARKED -`)
	w.want(`select entity_id, created_at at time zone 'UTC', archive_reason from recoup.error_archive`, "o4 2025-06-01T00:00:00 TTL_EXPIRED")
	w.want(allRows, `
		1 ARCHIVE false
		2 PARKED false
		3 - false
		4 PARKED true`)
	// Of history the team gets one summary.
	w.want(`select kind, recipient, b ->> 'rows' as rows, b ->> 'parked' as parked, b ->> 'archived' as archived, b ->> 'blocking' as blocking
		from recoup.outbox, lateral (select body -> 'adopted' as b) x`, "ADOPTED dol-filings-team 3 1 1 1")

	w.exec("insert into shop.failures (order_id, kind, at) values ('o5', 'TIMEOUT', '2026-02-02 09:00')")
	w.exec("update shop.failures set order_id = 'o22' where id = 2")
	w.exec("update shop.failures set note = 'said otherwise' where id = 1")
	w.exec("update shop.failures set status = 'open' where id = 3")
	w.settle()
	w.want(allErrors, `
		o1 RATE_LIMIT_EXCEEDED LOW ACTIVE -
		o2 EIN_NOT_FOUND CRITICAL RESOLVED the source row is about something else now
		o22 EIN_NOT_FOUND CRITICAL PARKED -
		o3 TIMEOUT MEDIUM PARKED -
		o5 TIMEOUT MEDIUM RETRY_PENDING -`)

	w.exec("delete from shop.failures where id = 5")
	w.exec("update shop.failures set status = 'done' where id = 3")
	w.settle()
	w.want(`select entity_id, resolved_by, resolution_reason from recoup.error where state = 'RESOLVED' and entity_id in ('o3', 'o5') order by 1`, `
		o3 source the source row is no failure any more
		o5 source the source row was deleted`)
	w.want(allRows, `
		1 ARCHIVE false
		2 PARKED false
		3 RESOLVED false
		4 PARKED true`)
	w.want("select key, length(digest) from recoup.adopted_row order by key", "1 17\n2 17\n3 0\n4 17")

	w.exec("truncate shop.failures")
	w.settle()
	w.want("select count(*) filter (where state <> 'RESOLVED'), count(*) from recoup.error", "0 5")
	w.want("select count(*) from recoup.adopted_row", "0")
	w.want("select (select count(*) from recoup.adopted_change), (select count(*) from recoup.adopted_mirror)", "0 0")
}

// What a person or the clock has ended stays ended, and is seen in the source; a row that
// changes after that has failed again.
func TestPeopleAndTheSource(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec("insert into shop.failures (order_id, kind, note, at) values ('o1', 'TIMEOUT', 'first', '2026-02-02 09:00'), ('o1', 'TIMEOUT', 'second', '2026-02-02 09:00')")
	w.settle()
	w.want("select count(*) from recoup.error where state = 'RETRY_PENDING'", "2") // one each, though they look alike
	first := w.one(1)
	w.Act(engine.Act{ID: first.ID, Input: lifecycle.Park{Reason: "ask the bank"}})
	w.settle()
	w.want(allRows, "1 PARKED false\n2 RETRY false")
	w.Act(engine.Act{ID: first.ID, Input: lifecycle.Resolve{Reason: "paid"}})
	w.settle()
	w.want(allRows, "1 RESOLVED false\n2 RETRY false")
	w.exec("update shop.failures set status = 'seen'") // no mapped column
	w.exec("insert into recoup.adopted_change (adoption_id, numbers) values (1, '{1,2}')")
	w.settle()
	if got := w.one(1); got.ID != first.ID || got.State != recoup.Resolved {
		t.Errorf("a resolved row came back: %v", got)
	}
	w.exec("update shop.failures set note = 'again' where id = 1")
	w.settle()
	if got := w.one(1); got.ID == first.ID || got.State != recoup.RetryPending || got.Message != "again" {
		t.Errorf("it has failed again, and is %v", got)
	}
	w.want(allRows, "1 RETRY false\n2 RETRY false")
	w.exec("update shop.failures set note = 'said otherwise' where id = 1") // it is still the same failure
	w.settle()
	again := w.one(1)
	w.Act(engine.Act{ID: again.ID, Input: lifecycle.Resolve{Reason: "paid again"}})
	w.exec("insert into recoup.adopted_change (adoption_id, numbers) values (1, '{1}')")
	w.settle()
	if got := w.one(1); got.ID != again.ID || got.State != recoup.Resolved {
		t.Errorf("what it said last was forgotten: %v", got)
	}
	w.exec("update shop.failures set note = 'a third time' where id = 1")
	w.settle()
	w.Wait(31 * 24 * 3600e9)
	if _, err := w.Engine.Sweep(t.Context(), store.DueExpiry, 1000); err != nil {
		t.Fatal(err)
	}
	w.settle()
	w.want(allRows, "1 RETRY true\n2 RETRY true")
}
