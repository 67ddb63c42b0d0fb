package endtoend

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup/internal/store/postgres/pgtest"
	"recoup/retry"
)

// TestAdoptedUnderLoad adopts a table with rows while four writers, one of them by COPY,
// insert, update and delete, and while its node is killed again and again. No writer
// fails; in the end every row has one error, and no error is without its row.
// RECOUP_SOAK=1 makes it a million rows and twenty kills.
func TestAdoptedUnderLoad(t *testing.T) {
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
	stop()
	w.Wait()
	t.Logf("%d statements of writers, the longest took %s", w.n.Load(), time.Duration(w.longest.Load()))
	for try := 0; !c.ask("select state = 'GOVERNED' and not exists (select from recoup.adopted_change) from recoup.adoption"); try++ {
		if try == 10*patience || retry.Sleep(t.Context(), 50*time.Millisecond) != nil {
			t.Fatalf("nodes do not come to an end:\n%s", s.log.String())
		}
	}
	for _, wrong := range []string{
		"select from outreach.dol_errors s where not exists (select from recoup.adopted_row r where r.key = s.id::text)",
		"select from recoup.adopted_row r where not exists (select from outreach.dol_errors s where s.id::text = r.key)",
		"select from recoup.adopted_row r left join recoup.error e using (error_id) where e.error_id is null or e.state = 'RESOLVED'",
		"select from recoup.error e where e.state <> 'RESOLVED' and not exists (select from recoup.adopted_row r where r.error_id = e.error_id)",
	} {
		if c.ask("select exists (" + wrong + ")") {
			t.Errorf("there is: %s", wrong)
		}
	}
}

// tableWriters write to a table and know nothing of its adoption.
type tableWriters struct {
	*adopter
	sync.WaitGroup
	n, longest atomic.Int64
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
			w.n.Add(1)
			w.longest.Store(max(w.longest.Load(), int64(w.now().Sub(began))))
			_ = retry.Sleep(ctx, 2*time.Millisecond) // unless it is told to stop
		}
		return nil
	})
}
