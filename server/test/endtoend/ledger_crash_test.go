package endtoend

import (
	"bytes"
	"database/sql"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	_ "github.com/jackc/pgx/v5/stdlib" // the driver of plain SQL

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/retry"
)

// TestLedgerIsCompleteAfterCrashes kills a node with SIGKILL, again and again, while
// clients report, claim, fail and abandon errors, none of them under an idempotency
// key and none of them again. Plain SQL then finds an event for every act that is
// there, and every event once. RECOUP_SEED repeats a run; RECOUP_SOAK=1 makes it a
// hundred rounds.
func TestLedgerIsCompleteAfterCrashes(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		rounds := 3
		if soaking() {
			rounds = 100
		}
		seed := seed()
		t.Logf("seed %d", seed)
		r := rand.New(rand.NewPCG(seed, 0))
		l := &careless{T: t, site: newSite(t, d), acked: make(chan struct{}, 1<<16)}
		l.site.start()
		for round := range rounds {
			l.run(8)
			for range 20 + r.IntN(60) {
				<-l.acked
			}
			if err := l.site.signal(syscall.SIGKILL); err == nil {
				t.Fatal("a killed node ended well")
			}
			l.finish()
			insertPlainly(t, d, round)
			l.site.start()
		}
		checkLedger(t, d, 5*rounds)
	})
}

// careless is clients that say everything once, whatever becomes of it.
type careless struct {
	*testing.T
	site  *site
	acked chan struct{}
	over  atomic.Bool
	done  sync.WaitGroup

	serial atomic.Int64 // of entities
}

func (l *careless) run(clients int) {
	l.over.Store(false)
	for i := range clients {
		l.done.Go(func() {
			for !l.over.Load() {
				l.act(i)
			}
		})
	}
}

func (l *careless) finish() {
	l.over.Store(true)
	l.done.Wait()
}

// act reports a failure; every other client then makes it due, claims what is due and
// fails half of that. What is left has a lease that soon runs out.
func (l *careless) act(client int) {
	var made struct{ Error recoup.Error }
	body := fmt.Sprintf(`{"table":%q,"entity_id":"E-%d","code":"VALIDATION_ERROR"}`, workTable, l.serial.Add(1))
	if !l.post("/v1/errors", body, &made) || client%2 == 0 {
		return
	}
	var claimed struct{ Errors []recoup.Error }
	if !l.post("/v1/errors/"+made.Error.ID.String()+"/unpark", `{"reason":"again"}`, nil) ||
		!l.post("/v1/retries/claim", `{"worker":"w","limit":4,"lease_seconds":1}`, &claimed) {
		return
	}
	for i, e := range claimed.Errors {
		if i%2 == 0 {
			l.post("/v1/retries/"+e.ID.String()+"/fail", fmt.Sprintf(`{"lease_token":%q,"code":"NETWORK_TIMEOUT"}`, e.LeaseToken), nil)
		}
	}
}

// post sends a request once. What is cut off may have been done.
func (l *careless) post(path, body string, into any) bool {
	request, err := http.NewRequest(http.MethodPost, "http://"+*l.site.address.Load()+path, bytes.NewBufferString(body))
	if err != nil {
		l.Error(err)
		return false
	}
	request.Header.Set("Authorization", "Bearer "+l.site.key())
	request.Header.Set("Content-Type", "application/json")
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return false
	}
	defer func() { _ = response.Body.Close() }()
	if response.StatusCode >= http.StatusMultipleChoices {
		return false
	}
	if into != nil && json.NewDecoder(response.Body).Decode(into) != nil {
		return false
	}
	l.acked <- struct{}{}
	return true
}

// checkLedger asks in plain SQL whether every act has its event, and every event is
// there once. Rows of plain SQL are waited for: they are admitted one after another.
func checkLedger(t *testing.T, d database, written int) {
	t.Helper()
	db := plainly(t, d)
	for db.count("select count(*) from error where entity_id like 'S-%' and policy_version is not null") < written {
		if err := retry.Sleep(t.Context(), 50*time.Millisecond); err != nil {
			t.Fatal(err)
		}
	}
	const all = "(select error_id, entity_id, correlation_id from error union all select error_id, entity_id, correlation_id from error_archive) e"
	const attempts = "error_history where input in ('fail', 'lapse', 'claim') and attempt is not null"
	for what, question := range map[string]string{
		"reports without an event":    "select count(*) from " + all + " where entity_id like 'E-%' and error_id not in (select event_id from error_event)",
		"admissions without an event": "select count(*) from " + all + " where entity_id like 'S-%' and coalesce(correlation_id, error_id) not in (select correlation_id from error_event)",
		"attempts without an event": "select count(*) from (select error_id, count(*) as n from " + attempts + " group by error_id) h join " + all +
			" on e.error_id = h.error_id where n > (select count(*) from error_event v where v.correlation_id = coalesce(e.correlation_id, e.error_id) and v.event_id <> e.error_id)",
		"events without a UUIDv7":     "select count(*) from error_event where substr(" + db.digits + ", 13, 1) <> '7'",
		"events that are there twice": "select count(*) from (select event_id from error_event group by event_id having count(*) > 1) twice",
	} {
		if n := db.count(question); n != 0 {
			t.Errorf("%d %s", n, what)
		}
	}
	t.Logf("%d errors, %d attempts that failed, %d events", db.count("select count(*) from "+all), db.count("select count(*) from "+attempts), db.count("select count(*) from error_event"))
}

// insertPlainly writes errors as a pipeline does that knows nothing of Recoup.
func insertPlainly(t *testing.T, d database, round int) {
	t.Helper()
	db := plainly(t, d)
	insert := "insert into outreach.dol_errors (outreach_id, code) values ('%s', 'NETWORK_TIMEOUT')"
	if d.Kind == "sqlite" { // whose views take no rows
		insert = `insert into error (table_name, entity_id, code, disposition, blocking)
			select table_name, '%s', 'NETWORK_TIMEOUT', default_disposition, blocks and default_disposition in ('RETRY', 'PARKED')
			from error_table where table_name = 'outreach.dol_errors'`
	}
	for i := range 5 {
		if _, err := db.ExecContext(t.Context(), fmt.Sprintf(insert, fmt.Sprintf("S-%d-%d", round, i))); err != nil {
			t.Fatal(err)
		}
	}
}

// bare is a database without Recoup, as its owner sees it.
type bare struct {
	*testing.T
	*sql.DB
	digits string // the digits of an event's id, in its words
}

func plainly(t *testing.T, d database) bare {
	t.Helper()
	driver, address, digits := "sqlite", "file:"+strings.TrimPrefix(d.Owner, "sqlite:")+"?_pragma=busy_timeout(10000)", "hex(event_id)"
	if d.Kind == "postgres" {
		driver, address, digits = "pgx", d.Owner, "replace(event_id::text, '-', '')"
	}
	db, err := sql.Open(driver, address)
	if err != nil {
		t.Fatal(err)
	}
	db.SetMaxOpenConns(1)
	t.Cleanup(func() { _ = db.Close() })
	if d.Kind == "postgres" {
		if _, err := db.ExecContext(t.Context(), "set search_path = recoup"); err != nil {
			t.Fatal(err)
		}
	}
	return bare{t, db, digits}
}

// count asks a question whose answer is a number.
func (b bare) count(question string) (n int) {
	b.Helper()
	if err := b.QueryRowContext(b.Context(), question).Scan(&n); err != nil {
		b.Fatalf("%s: %v", question, err)
	}
	return n
}
