package endtoend

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/tier"
)

// TestAdoptedUnderLoad adopts a table with rows while four writers, one of them by COPY,
// insert, update and delete, and while its node is killed again and again. No writer
// fails; in the end every row has one error, and no error is without its row.
// RECOUP_SOAK=1 makes it a million rows and twenty kills.
func TestAdoptedUnderLoad(t *testing.T) {
	tier.Only(t, tier.Adoption)
	t.Parallel()
	owner, nodes := pgtest.Migrated(t)
	c := &adopter{T: t, url: owner, now: time.Now}
	c.exec(fmt.Sprintf(`create schema outreach; create table outreach.dol_errors (id bigint generated always as identity primary key, outreach_id text, code text);
		insert into outreach.dol_errors (outreach_id, code) select 'o' || n, 'EIN_NOT_FOUND' from generate_series(1, %d) n`, some(1_000_000, 3000)))
	s := newSite(t, database{Nodes: nodes})
	s.start()
	ctx, stop := context.WithCancel(t.Context())
	w := &tableWriters{adopter: c}
	for n := range 4 {
		w.Go(func() { w.write(ctx, n) })
	}
	if out, err := c.command("adopt", "outreach.dol_errors", "--entity", "outreach_id", "--apply", "--yes", "--no-wait").CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	for range some(20, 1) {
		if err := retry.Sleep(t.Context(), 300*time.Millisecond); err != nil {
			t.Fatal(err)
		}
		_ = s.signal(syscall.SIGKILL)
		s.start()
	}
	until := func(holds string) {
		t.Helper()
		for try := 0; !c.ask(holds); try++ {
			if try == some(1000, 10)*patience || retry.Sleep(t.Context(), 50*time.Millisecond) != nil {
				t.Fatalf("nodes do not come to an end:\n%s", s.log.String())
			}
		}
	}
	until("select state = 'GOVERNED' from recoup.adoption")
	stop()
	w.Wait()
	slices.Sort(w.took)
	t.Logf("%d statements of writers: half took up to %s, 999 of 1,000 up to %s, the longest %s", len(w.took), w.took[len(w.took)/2], w.took[len(w.took)*999/1000], w.took[len(w.took)-1])
	until("select not exists (select from recoup.adopted_change)")
	for _, wrong := range []string{
		"outreach.dol_errors s left join recoup.adopted_row r on r.key = s.id::text where r.key is null",
		"recoup.adopted_row r left join outreach.dol_errors s on s.id::text = r.key where s.id is null",
		"recoup.adopted_row r left join recoup.error e using (error_id) where e.error_id is null or e.state = 'RESOLVED'",
		"recoup.error e left join recoup.adopted_row r using (error_id) where e.state <> 'RESOLVED' and r.error_id is null",
	} {
		if c.ask("select count(*) > 0 from " + wrong) {
			t.Errorf("there is: %s", wrong)
		}
	}
}

// tableWriters write to a table and know nothing of its adoption.
type tableWriters struct {
	*adopter
	sync.WaitGroup
	mu   sync.Mutex
	took []time.Duration
}

// write writes until it is told to stop: the first by COPY, the others row by row.
func (w *tableWriters) write(ctx context.Context, n int) {
	w.connected(func(conn *pgx.Conn) error {
		for i := 0; ctx.Err() == nil; i++ {
			began := w.now()
			var err error
			switch {
			case n == 0:
				_, err = conn.CopyFrom(w.Context(), pgx.Identifier{"outreach", "dol_errors"}, []string{"outreach_id", "code"},
					pgx.CopyFromSlice(20, func(k int) ([]any, error) { return []any{fmt.Sprintf("c%d-%d", i, k), "EIN_NOT_FOUND"}, nil }))
			case i%5 == 3:
				_, err = conn.Exec(w.Context(), "update outreach.dol_errors set outreach_id = $1 where id = $2", fmt.Sprintf("u%d-%d", n, i), n+4*i)
			case i%5 == 4:
				_, err = conn.Exec(w.Context(), "delete from outreach.dol_errors where id = $1", n+4*i)
			default:
				_, err = conn.Exec(w.Context(), "insert into outreach.dol_errors (outreach_id, code) values ($1, 'EIN_NOT_FOUND')", fmt.Sprintf("w%d-%d", n, i))
			}
			if err != nil {
				return err
			}
			took := w.now().Sub(began)
			w.mu.Lock()
			w.took = append(w.took, took)
			w.mu.Unlock()
			rest := 2 * time.Millisecond
			if n == 0 { // a thousand rows a second
				rest *= 10
			}
			_ = retry.Sleep(ctx, rest) // unless it is told to stop
		}
		return nil
	})
}
