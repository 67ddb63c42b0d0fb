package endtoend

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/faultproxy"
)

// TestNetworkUnderLoad takes the database from a node in every way that a network
// and a failover have, while clients work: what was acknowledged is there, nothing
// is there twice, and every refusal says that it is not the client's fault and when
// to come back. RECOUP_SOAK=1 makes it eight seeds of twenty faults.
func TestNetworkUnderLoad(t *testing.T) {
	t.Parallel()
	seeds, rounds := 1, 6
	switch {
	case soaking():
		seeds, rounds = 8, 20
	case testing.Short():
		rounds = 4
	}
	for seed := range seeds {
		t.Run(fmt.Sprintf("seed %d", seed), func(t *testing.T) {
			t.Parallel()
			owner, nodes := pgtest.Migrated(t)
			through, proxy := faultproxy.Postgres(t, nodes)
			s := newSite(t, database{Kind: "postgres", Owner: owner, Nodes: through})
			s.start()
			refused := make(chan struct{}, 1<<20)
			s.seen = func(r *http.Response) { judge(t, r, refused) }
			l := newLoad(t, s.client(func(err error) { t.Errorf("a request got no answer: %v", err) }))
			l.run()
			random := rand.New(rand.NewPCG(uint64(seed), 11))
			for range rounds {
				l.await(10 + random.IntN(40))
				disturb(t, proxy, random.IntN(4), refused)
			}
			l.await(50)
			l.finish()
			l.verify(s, database{Kind: "postgres", Owner: owner, Nodes: through})
		})
	}
}

// disturb does one thing to the connections of the node, and heals them.
func disturb(t *testing.T, proxy *faultproxy.Proxy, kind int, refused <-chan struct{}) {
	t.Helper()
	held := func(way faultproxy.Way) {
		proxy.Stall(way)
		if err := proxy.AwaitHeld(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	switch kind {
	case 0: // a failover: sessions end, and new ones are refused for a while
		for len(refused) > 0 {
			<-refused
		}
		proxy.Cut()
		<-refused
	case 1: // sessions end at once
		proxy.Drop()
	case 2: // what was asked for is done, and nobody hears of it
		held(faultproxy.Answers)
		proxy.Drop()
	case 3: // nothing moves, and then it does
		held(faultproxy.Both)
	}
	proxy.Heal()
}

// judge wants refusals that are the server's, with a time to come back.
func judge(t *testing.T, r *http.Response, refused chan<- struct{}) {
	switch {
	case r.StatusCode < http.StatusBadRequest:
	case r.StatusCode != http.StatusServiceUnavailable || r.Header.Get("Retry-After") == "":
		t.Errorf("%s %s is answered with %s, Retry-After %q", r.Request.Method, r.Request.URL.Path, r.Status, r.Header.Get("Retry-After"))
		fallthrough
	default:
		refused <- struct{}{}
	}
}
