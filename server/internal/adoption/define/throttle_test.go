package define_test

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/adoption/define"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// TestFillingWaitsForABusyServer gives a table a key while more sessions run than the
// server has workers for: it waits until they are done.
func TestFillingWaitsForABusyServer(t *testing.T) {
	w := newWorld(t, "create table shop.failures (order_id text); insert into shop.failures values ('a'), ('b')")
	busy, end := context.WithCancel(t.Context())
	var sessions sync.WaitGroup
	for range 17 { // twice the 8 workers of a server as it comes, and one
		conn := connect(t, w.url)
		sessions.Go(func() { _, _ = conn.Exec(busy, "select pg_sleep(600)") })
	}
	for ask(t, w.owner, "select count(*) > 16 as busy from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'") != `{"busy":true}` {
	}
	var waited []string
	r := w.runner()
	r.Report = func(p define.Progress) {
		if p.Step == "key values" && p.Waits > 0 {
			waited = append(waited, p.Blocker)
		}
	}
	r.Sleep = func(_ context.Context, d time.Duration) error {
		if d == time.Second {
			end()
			sessions.Wait()
		}
		return nil
	}
	plan, err := define.MakePlan(t.Context(), w.owner, define.Request{Source: "shop.failures", As: "shop.errors", Mapping: wire.Mapping{Entity: "order_id"}})
	if err == nil {
		err = r.Apply(t.Context(), plan)
	}
	if err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(waited, "the server is busy") {
		t.Errorf("it waited for %q", waited)
	}
}
