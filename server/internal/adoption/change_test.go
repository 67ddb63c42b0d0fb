package adoption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// What brings the error of a source row where a change of the row finds it.
type start func(w *world, e recoup.Error)

func asReported(*world, recoup.Error) {}

func byInput(in lifecycle.Input) start {
	return func(w *world, e recoup.Error) {
		w.Helper()
		w.Act(engine.Act{ID: e.ID, Input: in})
	}
}

func escalated(w *world, e recoup.Error) {
	byInput(lifecycle.Park{Reason: "ask the bank"})(w, e)
	byInput(lifecycle.Escalate{Tier: 2, Reason: "urgent"})(w, e)
}

func leased(w *world, e recoup.Error) {
	w.Helper()
	if got := w.claim(e); got.ID != e.ID {
		w.Fatalf("leased %v", got)
	}
}

// claim leases an error.
func (w *world) claim(e recoup.Error) recoup.Error {
	w.Helper()
	w.Wait(e.NextRetryAt.Sub(w.Now()))
	list, err := w.Engine.Lease(w.Context(), "worker", e.Table, []recoup.ID{e.ID}, time.Minute)
	w.Must(err)
	if len(list) != 1 {
		w.Fatalf("leased %v", list)
	}
	return list[0]
}

// changes is decision 0112 as a table: where the error of a row is, what its owner changes,
// and what becomes of the error. A new error has replaced the one before.
var changes = []struct {
	name   string
	level  string // of the row as it was reported; empty: the severity of its code
	start  start
	change string // of the row; empty: none
	want   string // same or new, then state, severity, retry count, code, and how the history says what has changed
}{
	{"ignored, raised to critical", "low", asReported, "level = 'critical'", "new PARKED CRITICAL 0 TIMEOUT; the source row has changed: severity LOW to CRITICAL"},
	{"ignored, raised to high", "low", asReported, "level = 'high'", "new RETRY_PENDING HIGH 0 TIMEOUT; the source row has changed: severity LOW to HIGH"},
	{"ignored, raised to the code's", "low", asReported, "level = null", "same ACTIVE LOW 0 TIMEOUT"},
	{"ignored, failed again", "low", asReported, "attempts = 2", "new ACTIVE LOW 1 TIMEOUT; the source row was written again"},

	{"retrying, raised to critical", "", asReported, "level = 'critical'", "new PARKED CRITICAL 0 TIMEOUT; the source row has changed: severity MEDIUM to CRITICAL"},
	{"retrying, raised to high", "", asReported, "level = 'high'", "new RETRY_PENDING HIGH 0 TIMEOUT; the source row has changed: severity MEDIUM to HIGH"},
	{"retrying, lowered", "high", asReported, "level = 'low'", "same RETRY_PENDING HIGH 0 TIMEOUT"},
	{"retrying, lowered with another message", "high", asReported, "level = 'low', note = 'b'", "new RETRY_PENDING HIGH 1 TIMEOUT; the source row has changed: message"},
	{"retrying, another message", "", asReported, "note = 'b'", "new RETRY_PENDING MEDIUM 1 TIMEOUT; the source row has changed: message"},
	{"retrying, more attempts", "", asReported, "attempts = 2", "new RETRY_PENDING MEDIUM 1 TIMEOUT; the source row was written again"},
	{"retrying, another time", "", asReported, "at = at + interval '1 second'", "new RETRY_PENDING MEDIUM 1 TIMEOUT; the source row was written again"},
	{"retrying, another code", "", asReported, "kind = 'DNS_TIMEOUT'", "new RETRY_PENDING MEDIUM 1 DNS_TIMEOUT; the source row has changed: code TIMEOUT to DNS_TIMEOUT"},
	{"retrying, a code that is not retried", "", asReported, "kind = 'VALIDATION_ERROR'", "new PARKED MEDIUM 1 VALIDATION_ERROR; the source row has changed: code TIMEOUT to VALIDATION_ERROR"},
	{"retrying, another entity", "", asReported, "order_id = order_id || 'x'", "new RETRY_PENDING MEDIUM 0 TIMEOUT"},
	{"retrying, a column that is not mapped", "", asReported, "seen_by = 'ada'", "same RETRY_PENDING MEDIUM 0 TIMEOUT"},
	{"retrying, written as it was", "", asReported, "note = note, attempts = attempts", "same RETRY_PENDING MEDIUM 0 TIMEOUT"},
	{"retrying, looked at again", "", asReported, "", "same RETRY_PENDING MEDIUM 0 TIMEOUT"},

	{"parked, failed again", "", byInput(lifecycle.Park{Reason: "ask the bank"}), "attempts = 2", "new PARKED MEDIUM 1 TIMEOUT; the source row was written again"},
	{"parked, another code", "", byInput(lifecycle.Park{Reason: "ask the bank"}), "kind = 'DNS_TIMEOUT'", "new PARKED MEDIUM 1 DNS_TIMEOUT; the source row has changed: code TIMEOUT to DNS_TIMEOUT"},
	{"parked, raised", "", byInput(lifecycle.Park{Reason: "ask the bank"}), "level = 'high'", "new PARKED HIGH 0 TIMEOUT; the source row has changed: severity MEDIUM to HIGH"},
	{"parked, lowered", "critical", asReported, "level = 'low'", "same PARKED CRITICAL 0 TIMEOUT"},
	{"escalated, another message", "", escalated, "note = 'b'", "new ESCALATED MEDIUM 1 TIMEOUT; the source row has changed: message"},
	{"escalated, raised", "", escalated, "level = 'critical'", "new ESCALATED CRITICAL 0 TIMEOUT; the source row has changed: severity MEDIUM to CRITICAL"},

	{"leased, another message", "", leased, "note = 'b'", "new RETRY_PENDING MEDIUM 1 TIMEOUT; the source row has changed: message"},
	{"leased, raised to critical", "", leased, "level = 'critical'", "new PARKED CRITICAL 1 TIMEOUT; the source row has changed: severity MEDIUM to CRITICAL"},
	{"leased, a column that is not mapped", "", leased, "seen_by = 'ada'", "same RETRY_PENDING MEDIUM 0 TIMEOUT"},

	{"resolved, failed again", "", byInput(lifecycle.Resolve{Reason: "paid"}), "attempts = 2", "new RETRY_PENDING MEDIUM 0 TIMEOUT"},
	{"resolved, raised", "low", byInput(lifecycle.Resolve{Reason: "paid"}), "level = 'high'", "new RETRY_PENDING HIGH 0 TIMEOUT"},
	{"resolved, lowered", "high", byInput(lifecycle.Resolve{Reason: "paid"}), "level = 'low'", "same RESOLVED HIGH 0 TIMEOUT"},
	{"resolved, looked at again", "", byInput(lifecycle.Resolve{Reason: "paid"}), "", "same RESOLVED MEDIUM 0 TIMEOUT"},
	{"archived, another message", "", byInput(lifecycle.ArchiveNow{Reason: "old"}), "note = 'b'", "new RETRY_PENDING MEDIUM 0 TIMEOUT"},
	{"archived, looked at again", "", byInput(lifecycle.ArchiveNow{Reason: "old"}), "", "same ARCHIVED MEDIUM 0 TIMEOUT"},
}

// TestChangesByTheOwner walks the table of what an owner may change in a row while its error
// is in any state. Nothing else that is written into the row changes the error, such as what
// Recoup writes there.
func TestChangesByTheOwner(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("alter table shop.failures add attempts int not null default 1, add seen_by text")
	m := mapping
	m.LastSeen = "attempts"
	w.adopt(m)
	for i, c := range changes {
		level := "null"
		if c.level != "" {
			level = "'" + c.level + "'"
		}
		w.exec(fmt.Sprintf("insert into shop.failures (order_id, kind, note, level, at) values ('o%d', 'TIMEOUT', 'a', %s, '%s')", i+1, level, w.Now().Format(time.RFC3339Nano)))
		w.settle()
		before := w.one(i + 1)
		c.start(w, before)
		w.settle() // what Recoup writes into the row is no change by its owner
		if now := w.one(i + 1); now.ID != before.ID {
			t.Errorf("%s: the mirrored columns have changed it: %v", c.name, now)
		}
		if c.change != "" {
			w.exec(fmt.Sprintf("update shop.failures set %s where id = %d", c.change, i+1))
		} else {
			w.exec(fmt.Sprintf("insert into recoup.adopted_change (adoption_id, numbers) values (1, '{%d}')", i+1))
		}
		w.settle()
		if got := w.became(before, i+1); got != c.want {
			t.Errorf("%s:\n%s\nwant\n%s", c.name, got, c.want)
		}
		w.settle()
		if now := w.ask(fmt.Sprintf("select count(*) from recoup.error e where e.entity_id like 'o%d%%' and state not in ('RESOLVED')", i+1)); now == "2" {
			t.Errorf("%s: both errors are open", c.name)
		}
		w.exec(fmt.Sprintf("delete from shop.failures where id = %d", i+1))
		w.settle()
	}
}

// became says what the error of a row is now, and why its history says so.
func (w *world) became(before recoup.Error, key int) string {
	w.Helper()
	now, word := w.one(key), "same"
	if now.ID != before.ID {
		word = "new"
	}
	got := fmt.Sprintf("%s %s %s %d %s", word, now.State, now.Severity, now.RetryCount, now.Code)
	h, err := w.Engine.History(w.Context(), caller, now.ID, 10)
	w.Must(err)
	if word == "new" && strings.HasPrefix(h[0].Reason, "the source row") {
		old := w.Read(before.ID)
		if old.ArchiveReason != recoup.SupersededByNext || old.SupersededBy != now.ID {
			w.Errorf("the error before is %v, %v by %v", old.State, old.ArchiveReason, old.SupersededBy)
		}
		got += "; " + h[0].Reason
	}
	return got
}

var caller = engine.Caller{Name: "ada"}

// TestRepeatedRowsAreParked upserts a row again and again, as writers do: the budget of its
// error is used up, it is parked, and stays with whom it is parked.
func TestRepeatedRowsAreParked(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec("alter table shop.failures add attempts int not null default 1")
	m := mapping
	m.LastSeen = "attempts"
	w.adopt(m)
	upsert := `insert into shop.failures (id, order_id, kind, note, at) values (1, 'o1', 'TIMEOUT', 'no answer', '2026-02-02 09:00')
		on conflict (id) do update set attempts = failures.attempts + 1`
	w.exec(upsert)
	w.settle()
	first := w.one(1)
	for try := range first.MaxRetries {
		w.exec(upsert)
		w.settle()
		if got := w.one(1); got.RetryCount != try+1 || got.MaxRetries != first.MaxRetries || !got.WindowEndsAt.Equal(first.WindowEndsAt) {
			t.Fatalf("after %d repeats: %+v", try+1, got)
		}
	}
	parked := w.one(1)
	if parked.State != recoup.Parked || parked.ParkReason != recoup.MaxRetriesExceeded || !parked.RetryExhausted {
		t.Fatalf("%+v", parked)
	}
	w.Act(engine.Act{ID: parked.ID, Input: lifecycle.Assign{To: "ben"}})
	w.Wait(time.Hour)
	w.exec(upsert)
	w.settle()
	if got := w.one(1); got.ID == parked.ID || got.State != recoup.Parked || got.AssignedTo != "ben" || !got.ParkedAt.Equal(parked.ParkedAt) || got.ParkReason != parked.ParkReason {
		t.Errorf("after one more: %+v", got)
	}
	w.want("select count(*) from recoup.error where state <> 'RESOLVED'", "1")
	w.want(allRows, "1 PARKED false")
}

// TestAFailureOfAnAttemptCountsOnce has the program that a worker runs write the row and the
// worker report the failed attempt, in either order.
func TestAFailureOfAnAttemptCountsOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	for id, rowFirst := range map[int]bool{1: true, 2: false} {
		w.exec(fmt.Sprintf("insert into shop.failures (id, order_id, kind, note, at) values (%d, 'o%[1]d', 'TIMEOUT', 'a', '%s')", id, w.Now().Format(time.RFC3339Nano)))
		w.settle()
		e := w.claim(w.one(id))
		w.Wait(time.Second)
		w.exec(fmt.Sprintf("update shop.failures set note = 'b' where id = %d", id))
		w.exec("update recoup.adopted_change set at = '" + w.Now().Format(time.RFC3339Nano) + "'") // the clock of the test
		if rowFirst {
			w.settle()
		}
		w.Wait(time.Second)
		timeout, err := w.Engine.Failure("TIMEOUT", nil, 0)
		w.Must(err)
		_, err = w.Engine.Apply(t.Context(), caller, []engine.Act{{ID: e.ID, Input: lifecycle.Fail{Token: e.LeaseToken, Failure: timeout}}})
		w.Must(err)
		w.settle()
		if got := w.one(id); got.RetryCount != 1 || got.State != recoup.RetryPending || got.Message != "b" {
			t.Errorf("row first %v: %+v", rowFirst, got)
		}
	}
}

// TestAChangeFoundLateIsSilent has a row change while its table has no triggers, as after a
// restore: the error is judged anew, and nobody is notified of it.
func TestAChangeFoundLateIsSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.adopt(mapping)
	w.exec("insert into shop.failures (order_id, kind, level, at) values ('o1', 'TIMEOUT', 'low', '" + w.Now().Format(time.RFC3339Nano) + "')")
	w.settle()
	w.exec("alter table shop.failures disable trigger user; update shop.failures set level = 'critical'; alter table shop.failures enable trigger user")
	w.exec("update recoup.adoption set state = 'BACKFILLING', scanned_to = null, scan_end = null")
	w.settle()
	if got := w.one(1); got.State != recoup.Parked || got.Severity != recoup.Critical {
		t.Errorf("%+v", got)
	}
	notices, _, err := w.db.Notices(t.Context(), wire.NoticeFilter{}, sqldb.Page{})
	w.Must(err)
	for _, n := range notices {
		t.Errorf("notified: %+v", n)
	}
}
