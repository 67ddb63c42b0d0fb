package endtoend

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// metric reads a figure of the site's node.
func (s *site) metric(name string) int {
	s.Helper()
	_, after, found := strings.Cut(s.ask(http.MethodGet, "/metrics", "").body, "\n"+name+" ")
	number, _, _ := strings.Cut(after, "\n")
	n, err := strconv.ParseFloat(number, 64)
	if !found || err != nil {
		s.Fatalf("there is no metric %s: %v", name, err)
	}
	return int(n)
}

// heap is what the node keeps in memory, in KiB: the least of several looks, between which
// it is given work to collect garbage after.
func (s *site) heap(work func()) int {
	s.Helper()
	least := s.metric("go_memstats_heap_alloc_bytes")
	for collected := s.metric("go_gc_duration_seconds_count"); s.metric("go_gc_duration_seconds_count") < collected+2; {
		work()
		least = min(least, s.metric("go_memstats_heap_alloc_bytes"))
	}
	return least >> 10
}

// TestStreamsKeepNothing proves that a node with 200 open streams neither starts goroutines
// nor keeps memory with what it tells them: after rounds of changes, all of which are heard by
// all, it has what it had after the first. What it has is printed (go test -v).
func TestStreamsKeepNothing(t *testing.T) {
	onBoth(t, func(t *testing.T, d database) {
		s := newSite(t, d)
		s.start()
		ctx := t.Context()
		admin, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		keys := []string{s.key()}
		for i := range 3 { // a key has a quarter of what the node has
			made, err := adminapi.New(admin).Keys.Create(ctx, wire.NewKey{Name: fmt.Sprint("page ", i), Role: "reader"})
			if err != nil {
				t.Fatal(err)
			}
			keys = append(keys, made.Secret)
		}
		work := func() { s.ask(http.MethodGet, "/v1/errors?limit=500", "") }
		alone, without := s.heap(work), s.metric("go_goroutines")
		var all []*listening
		for i := range 200 {
			all = append(all, s.listen(ctx, keys[i%len(keys)]))
		}
		// A round is a hundred errors, and one more that everybody has to hear of.
		round := func(n int) {
			var list []recoup.Report
			for i := range 100 {
				list = append(list, recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprintf("CO-%d-%d", n, i), Code: "NETWORK_TIMEOUT"})
			}
			if _, err := admin.ReportBatch(ctx, list); err != nil {
				t.Fatal(err)
			}
			last, err := admin.Report(ctx, recoup.Report{Table: "outreach.dol_errors", EntityID: fmt.Sprint("LAST-", n), Code: "NETWORK_TIMEOUT"})
			if err != nil {
				t.Fatal(err)
			}
			for _, l := range all {
				l.hears(s, last.Error.ID)
			}
		}
		round(0)
		first, began := s.heap(work), s.metric("go_goroutines")
		const rounds = 5
		for n := range rounds {
			round(n + 1)
		}
		last, ended := s.heap(work), s.metric("go_goroutines")
		t.Logf("heap %d KiB alone, %d with %d streams, %d after %d more rounds; goroutines %d, %d, %d", alone, first, len(all), last, rounds, without, began, ended)
		if ended > began+len(all)/4 { // connections that idle come and go
			t.Errorf("%d goroutines have become %d", began, ended)
		}
		// Each round tells 200 pages of a hundred errors: kept, five would be some 10 MiB.
		if last > first+first/4+4<<10 {
			t.Errorf("the heap has grown from %d to %d KiB", first, last)
		}
	})
}
