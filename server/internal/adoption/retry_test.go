package adoption_test

import (
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/adoption/preset/presettest"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// newQueue is the world with a queue whose job o2 has failed for good, adopted as outreach.dol_errors.
func newQueue(t *testing.T, q presettest.Queue) *world {
	t.Helper()
	return newQueueOf(t, q, "NETWORK_TIMEOUT")
}

// newQueueOf is newQueue with the code that its jobs fail with.
func newQueueOf(t *testing.T, q presettest.Queue, code string) *world {
	t.Helper()
	w := newWorld(t)
	w.exec(q.DDL)
	plan, err := define.MakePlan(w.Context(), w.owner, define.Request{
		Source: q.Table, As: "outreach.dol_errors", Preset: q.Preset, NoMirror: true,
		Mapping: wire.Mapping{Entity: q.Entity, CodeValue: code},
	})
	w.Must(err)
	w.Must(w.runner().Apply(w.Context(), plan))
	w.settle()
	return w
}

const (
	errorsOf = "select entity_id, code, state, retry_count from recoup.error order by created_at, error_id"
	leases   = "select d.lease_worker, r.attempt = d.lease_token as off from recoup.due d join recoup.adopted_row r using (error_id)"
)

// later lets the next retry be due, and looks.
func (w *world) later(d time.Duration) {
	w.Helper()
	w.Wait(d)
	w.settle()
}

// TestAJobIsSetOffAgain goes the whole way with every queue, by plain SQL: a failed job is
// an error, which is retried by setting the job off; what becomes of the job decides.
func TestAJobIsSetOffAgain(t *testing.T) {
	for _, q := range presettest.Queues {
		t.Run(q.Preset, func(t *testing.T) {
			t.Parallel()
			w := newQueue(t, q)
			w.want(errorsOf, "o2 NETWORK_TIMEOUT RETRY_PENDING 0")
			w.want(leases, "- -")

			w.later(time.Hour) // retries of what was there before are spread
			w.want(leases, "source true")
			w.exec(q.Start) // a worker of the queue takes it
			w.later(3 * time.Minute)
			w.later(3 * time.Minute) // the lease would be over
			w.want(leases, "source true")
			w.want(errorsOf, "o2 NETWORK_TIMEOUT RETRY_PENDING 0")
			w.exec(q.Fail)
			w.later(time.Second)
			w.want(errorsOf, "o2 NETWORK_TIMEOUT RETRY_PENDING 1")
			w.want(leases, "- -")

			w.later(time.Minute)
			w.exec(q.Start)
			w.later(time.Second)
			w.want(leases, "source true")
			w.exec(q.Done)
			w.settle() // jobs are looked at once a second
			w.want(errorsOf, "o2 NETWORK_TIMEOUT RETRY_PENDING 1")
			w.later(time.Second)
			w.want(errorsOf, "o2 NETWORK_TIMEOUT RESOLVED 1")
			w.want("select input, actor, reason, worker from recoup.transition order by seq desc limit 1", "succeed source the job is done source")
			w.want("select count(*) from recoup.adopted_row where attempt is not null", "0")
		})
	}
}

// TestNodeDiesBetween has a node end after each part of a retry: another one goes on.
func TestNodeDiesBetween(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[0]
	w := newQueue(t, q)
	w.Wait(time.Hour)

	// After the claim: the job is not set off.
	var id recoup.ID
	w.Must(w.owner.QueryRow(w.Context(), "select error_id from recoup.adopted_row").Scan((*[16]byte)(&id)))
	leased, err := w.Engine.Lease(w.Context(), "source", "outreach.dol_errors", []recoup.ID{id}, 5*time.Minute)
	if w.Must(err); len(leased) != 1 {
		t.Fatal("it is not due")
	}
	w.Must(w.rows.EndTurns(w.Context(), "a"))
	w.service = w.another("b", w.db)
	w.later(time.Second)
	w.want("select state, max_attempts from shop.river_job where id = 2", "available 4")
	w.want("select count(*), max(retry_count) from recoup.error", "1 0")
	w.want(leases, "source true")

	// While it runs; and what another worker says with the token of the lease counts.
	w.exec(q.Start)
	w.Must(w.rows.EndTurns(w.Context(), "b"))
	w.service = w.another("c", w.db)
	w.exec(q.Done)
	w.later(time.Second)
	w.want(errorsOf, "o2 NETWORK_TIMEOUT RESOLVED 0")
}

// TestJobsInOtherHands: a person sets a job off, an error is parked while its job runs, and
// a job fails again whose error has ended.
func TestJobsInOtherHands(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[2]
	w := newQueue(t, q)
	w.exec("update shop._private_jobs set attempts = 0 where id = 2") // as its console does
	w.later(time.Second)
	w.want("select count(*) from recoup.adopted_row where attempt is not null", "1")
	w.later(time.Hour) // the retry is due: it waits for the job
	w.want(leases, "source true")
	w.want("select attempts from shop._private_jobs where id = 2", "0")

	e := w.ask("select error_id from recoup.error")
	id, err := recoup.ParseID(e)
	w.Must(err)
	_, err = w.Engine.One(w.Context(), engine.Caller{Name: "ada"}, engine.Act{ID: id, Input: lifecycle.Park{Reason: "we look first"}})
	w.Must(err)
	w.exec(q.Start)
	w.exec("update shop._private_jobs set attempts = 3, locked_at = null, locked_by = null where id = 2")
	w.later(time.Second)
	w.want(errorsOf, "o2 NETWORK_TIMEOUT PARKED 0") // no attempt of ours
	w.want("select count(*) from recoup.adopted_row where attempt is not null", "0")

	_, err = w.Engine.One(w.Context(), engine.Caller{Name: "ada"}, engine.Act{ID: id, Input: lifecycle.Resolve{Reason: "by hand"}})
	w.Must(err)
	w.later(time.Second)
	w.exec("update shop._private_jobs set attempts = 0 where id = 2")
	w.later(time.Second)
	w.exec("update shop._private_jobs set attempts = 3 where id = 2") // in the same words
	w.later(time.Second)
	w.want("select state, count(*) from recoup.error group by 1 order by 1", "RESOLVED 1\nRETRY_PENDING 1")
}

// TestTheQueueRefuses a job that it cannot have twice: the attempt has failed, the others are set off.
func TestTheQueueRefuses(t *testing.T) {
	t.Parallel()
	q := presettest.Queues[0]
	q.DDL = strings.ReplaceAll(q.DDL, "insert into", "create unique index on shop.river_job (unique_key) where state in ('available', 'running');\ninsert into") +
		`; update shop.river_job set unique_key = '\x01'; insert into shop.river_job (state, attempt, max_attempts, finalized_at, args, kind) values ('discarded', 1, 1, now(), '{"order": "o3"}', 'charge')`
	w := newQueue(t, q)
	w.later(time.Hour)
	w.want("select entity_id, state, park_reason from recoup.error order by entity_id", "o2 PARKED NON_RETRYABLE_ERROR\no3 RETRY_PENDING -")
	w.want("select id, state from shop.river_job order by id", "1 available\n2 discarded\n3 available")
}
