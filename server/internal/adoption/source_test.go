package adoption_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/adoption"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// follow has a policy in force that says what becomes of rows.
func (w *world) follow(version, source string) {
	w.Helper()
	text := strings.Replace(policy.Default().Text(), "\n  outreach.dol_errors:\n", "\n  outreach.dol_errors:\n    source: "+source+"\n", 1)
	text = strings.Replace(text, "\nversion: "+policy.Default().Version, "\nversion: "+version, 1)
	p, err := policy.Load("test.yaml", []byte(text), fault.Default())
	w.Must(err)
	if table, _ := p.Table("outreach.dol_errors"); p.Version != version || table.DescribeSource() == "" && source != "{}" {
		w.Fatal("the policy is not what it should be")
	}
	w.Must(w.db.SyncTables(w.Context(), p))
	w.Policies.Use(p)
}

// again has the owner agree to the policy in force.
func (w *world) again() {
	w.Helper()
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{Source: "shop.failures"})
	w.Must(err)
	w.Must(w.runner().Apply(w.Context(), plan))
}

// end resolves the error of a row by hand and has it archived.
func (w *world) end(key int) recoup.ID {
	w.Helper()
	id := w.one(key).ID
	w.Act(engine.Act{ID: id, Input: lifecycle.Resolve{Reason: "done by hand"}})
	w.Wait(time.Minute)
	if n, err := w.Engine.Sweep(w.Context(), store.DueResolved, 10); err != nil || n == 0 {
		w.Fatal(n, err)
	}
	return id
}

// sweep lets the time pass until rows are looked for.
func (w *world) sweep() {
	w.Helper()
	w.Wait(11 * time.Minute)
	w.settle()
}

const columns = `alter table shop.failures add region text, add attempt int, add request jsonb, add password text, add "Odd 'name" text`

const (
	planted = "sk_live_4eC39HqLyjWDarjtT1zdp7dc"
	hidden  = "the-patient-has-a-cold"
)

// The columns that the policy lists are kept with the error, in the archive too: details
// with secrets replaced, the others encrypted. Nothing of them is in plaintext anywhere.
func TestColumnsTravel(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(columns)
	w.exec(`insert into shop.failures (order_id, kind, at, region, attempt, request, password, "Odd 'name") values
		('old', 'TIMEOUT', '2025-06-01', 'eu', 1, '{"diagnosis": "` + hidden + `"}', 'x', repeat('y', 5000))`)
	w.follow("9.0.0", `{details: [region, attempt, password, "Odd 'name"], encrypted: [request]}`)
	w.adopt(mapping)
	w.exec(`insert into shop.failures (order_id, kind, at, region, attempt, request, password, "Odd 'name") values
		('o2', 'TIMEOUT', '2026-02-02 09:00', 'token=` + planted + `', 7, '{"diagnosis": "` + hidden + `", "n": 1}', 'hunter2hunter2', null)`)
	w.settle()
	w.want("select e.table_name = d.table_name, d.details, d.sealed is not null from recoup.source_detail d join recoup.error e using (error_id)",
		`true {"region": "token=[redacted:stripe]", "attempt": 7, "password": "[redacted:password]", "Odd 'name": null} true`)
	w.want("select d.details from recoup.source_detail d join recoup.error_archive using (error_id)",
		`{"region": "eu", "attempt": 1, "password": "[redacted:password]", "Odd 'name": "[5002 bytes: too large to be kept]"}`)

	id := w.one(2).ID
	look := func() recoup.ErrorSource {
		t.Helper()
		got, err := w.service.Source(t.Context(), node.Ada, id)
		w.Must(err)
		return got
	}
	before := look()
	if !before.Encrypted || before.Moved || strings.Contains(string(before.Details), planted) || !strings.Contains(string(before.Details), `"attempt": 7`) {
		t.Errorf("%+v: %s", before, before.Details)
	}
	if _, err := w.service.DecryptSource(t.Context(), node.Ada, id, ""); err == nil {
		t.Error("decrypted without a reason")
	}
	got, err := w.service.DecryptSource(t.Context(), node.Ada, id, "the customer asked")
	w.Must(err)
	if want := `{"request": {"n": 1, "diagnosis": "` + hidden + `"}}`; string(got.Columns) != want || got.Row != nil {
		t.Errorf("decrypted %s and %s, want %s", got.Columns, got.Row, want)
	}
	w.want("select act, actor, reason from recoup.audit where act = 'error.source'", "error.source ada the customer asked")

	w.exec("update shop.failures set region = 'us', note = 'again' where id = 2") // the values are those of the report
	w.settle()
	if after := look(); string(after.Details) != string(before.Details) {
		t.Errorf("%s is what was %s", after.Details, before.Details)
	}
	w.end(2)
	w.exec("delete from shop.failures where id = 2")
	w.settle()
	if after := look(); string(after.Details) != string(before.Details) {
		t.Errorf("in the archive: %s, before: %s", after.Details, before.Details)
	}
	dump := pgtest.Dump(t, w.url)
	if !strings.Contains(dump, "source_detail") || strings.Count(dump, planted) != 0 || strings.Count(dump, hidden) != 1 { // of the row that is still there
		t.Errorf("the dump has the secret %d times, and what is encrypted %d times", strings.Count(dump, planted), strings.Count(dump, hidden))
	}
}

// What the policy no longer lists is not kept any more; what it lists anew waits until the
// source's owner agrees.
func TestColumnsFollowThePolicy(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(columns)
	w.follow("9.0.0", "{details: [region], encrypted: [request]}")
	w.adopt(mapping)
	insert := func() {
		w.exec(`insert into shop.failures (order_id, kind, at, region, attempt, request) values ('o', 'TIMEOUT', now(), 'eu', 7, '{}')`)
		w.settle()
	}
	last := "select d.details, d.sealed is not null from recoup.source_detail d join recoup.adopted_row r using (error_id) order by r.key::int desc limit 1"
	insert()
	w.want(last, `{"region": "eu"} true`)
	w.follow("9.0.1", "{details: [attempt]}") // less at once, more not yet
	insert()
	w.want("select count(*) from recoup.source_detail", "1")
	w.again()
	insert()
	w.want(last, `{"attempt": 7} false`)
	w.want("select agreed, steps @> '{source rules}' from recoup.adoption", `{"details": ["attempt"]} false`)
	w.follow("9.0.2", "{}")
	insert()
	w.want("select count(*) from recoup.source_detail", "2")
	w.follow("9.0.3", "{details: [nothing]}")
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures"})
	w.Must(err)
	if len(plan.Refusals) != 1 || !strings.Contains(plan.Refusals[0].Why, "the column nothing") {
		t.Errorf("refused: %+v", plan.Refusals)
	}
}

// A row moves with its error into the archive, whole and encrypted, and goes when that is
// purged. What has changed since, is no failure, or is held by a foreign key stays.
func TestRowsMove(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.exec(columns + ", add s jsonb default '{}'") // s is the alias of rows in functions
	before := pgtest.DumpSchema(t, w.url)
	w.follow("9.0.0", "{at_end: move}")
	w.exec(`create table shop.refunds (failure bigint references shop.failures deferrable initially deferred);
		insert into shop.failures (order_id, kind, region, at) select 'o' || n, 'TIMEOUT', '` + hidden + `', '2026-02-02 09:00' from generate_series(1, 6) n;
		insert into shop.refunds values (3)`)
	w.adopt(mapping)
	w.settle()
	id := w.end(1)
	w.end(2)
	w.end(3)
	w.exec("update shop.failures set note = 'failed again' where id = 2; delete from recoup.adopted_change") // which nobody has looked at
	w.exec("update shop.failures set status = 'done' where id = 4")                                          // resolved by its owner
	w.settle()
	w.Wait(time.Minute)
	_, err := w.Engine.Sweep(t.Context(), store.DueResolved, 10)
	w.Must(err)
	w.sweep()
	w.want("select string_agg(id::text, ' ' order by id) as ids from shop.failures", "2 3 5 6")
	w.want("select key from recoup.adopted_row order by key", "2\n3\n5\n6")
	w.want("select kept_back, kept_why, swept_at is not null from recoup.adoption", "1 the constraint refunds_failure_fkey keeps it true")
	w.want("select count(*) from recoup.source_detail where moved is not null", "2")
	got, err := w.service.DecryptSource(t.Context(), node.Ada, id, "looking")
	w.Must(err)
	if row := string(got.Row); !strings.Contains(row, `"region": "`+hidden+`"`) || !strings.Contains(row, `"order_id": "o1"`) || strings.Contains(row, "disposition") {
		t.Errorf("the row is %s", row)
	}
	dump := pgtest.Dump(t, w.url)
	if n := strings.Count(dump, hidden); n != 4 { // of the rows that are there
		t.Errorf("the dump has what was moved %d times", n)
	}

	w.exec("delete from shop.refunds") // then it can go
	w.sweep()
	w.want("select string_agg(id::text, ' ' order by id) as ids from shop.failures", "2 5 6")
	w.want("select kept_back, kept_why from recoup.adoption", "0 -")
	w.settle()
	w.want("select count(*) from recoup.error where state <> 'RESOLVED'", "2") // of 5 and 6: what we removed, nobody deleted

	w.Wait(366 * 24 * time.Hour)
	for range 3 {
		_, err = w.db.PurgeArchive(t.Context(), w.Now(), 100)
		w.Must(err)
	}
	w.want("select count(*) from recoup.source_detail", "0")
	w.exec("drop table shop.refunds")
	_, err = w.runner().Release(t.Context(), "shop.failures")
	w.Must(err)
	if after := pgtest.DumpSchema(t, w.url); after != before {
		t.Error("something is left of the adoption")
	}
}

// A row is deleted when the archive has kept its error for its retention, and not before;
// and never if the policy or its owner does not say so any more.
func TestRowsAreDeleted(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follow("9.0.0", "{at_end: delete}")
	w.exec("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, 3) n")
	w.adopt(mapping)
	w.settle()
	w.end(1)
	w.end(2)
	w.sweep()
	w.want("select count(*) from shop.failures", "3")
	w.Wait(364 * 24 * time.Hour)
	purge := func() {
		_, err := w.db.PurgeArchive(t.Context(), w.Now(), 100)
		w.Must(err)
	}
	purge()
	w.sweep()
	w.want("select count(*) from shop.failures", "3")
	w.Wait(2 * 24 * time.Hour)
	purge()
	w.follow("9.0.1", "{}")
	w.sweep()
	w.want("select count(*) from shop.failures", "3")
	w.follow("9.0.2", "{at_end: move}") // to which its owner did not agree
	w.sweep()
	w.want("select count(*) from shop.failures", "3")
	w.follow("9.0.3", "{at_end: delete}")
	w.sweep()
	w.want("select id from shop.failures", "3")
	w.want("select count(*) from recoup.source_detail", "0")
	w.follow("9.0.4", "{}")
	w.again()
	w.want("select count(*) from pg_proc where proname = 'adopted_1_remove'", "0")
}

// TestRowsAreKeptDuringBackfill has all rows of a table read again, as after a move to another table
// of the policy. Until that has ended, no row is removed.
func TestRowsAreKeptDuringBackfill(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.follow("9.0.0", "{at_end: delete}")
	w.exec(fmt.Sprintf("insert into shop.failures (order_id, kind, at) select 'o' || n, 'TIMEOUT', '2026-02-02 09:00' from generate_series(1, %d) n", adoption.Batch+1))
	w.adopt(mapping)
	w.settle()
	w.end(1)
	w.Wait(366 * 24 * time.Hour)
	_, err := w.db.PurgeArchive(t.Context(), w.Now(), 100)
	w.Must(err)
	w.exec(`create table shop.seen (state text);
		create function shop.see() returns trigger language plpgsql as 'begin insert into shop.seen select state from recoup.adoption; return null; end';
		create trigger see after delete on shop.failures for each row execute function shop.see();
		update recoup.adoption set state = 'BACKFILLING', scanned_to = null, scan_end = null, scanned = 0`)
	w.sweep()
	w.sweep()
	w.want("select * from shop.seen", "GOVERNED")
}
