package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// follower reads a stream of a server of the world.
type follower struct {
	*testing.T
	events chan wire.StreamEvent // closed when the stream has ended
	ended  chan error            // nil: the server has ended it
}

// served is the world over connections.
func (w *world) served() string {
	server := httptest.NewServer(w.handler)
	w.Cleanup(server.Close)
	return server.URL
}

func (w *world) client(url, key string) *client.Client {
	w.Helper()
	c, err := client.New(client.Options{Server: url, Key: w.keys[key]})
	if err != nil {
		w.Fatal(err)
	}
	return c
}

// follow opens a stream, and waits until it has begun.
func (w *world) follow(url, key string) (*follower, wire.StreamEvent) {
	w.Helper()
	ctx, cancel := context.WithCancel(w.Context())
	f := &follower{w.T, make(chan wire.StreamEvent, 1000), make(chan error, 1)}
	done := make(chan struct{})
	w.Cleanup(func() { cancel(); <-done })
	c := w.client(url, key)
	go func() {
		defer close(done)
		defer close(f.events)
		for e, err := range admin.New(c).System.Stream(ctx) {
			if err != nil {
				f.ended <- err
				return
			}
			f.events <- e
		}
		f.ended <- nil
	}()
	hello := f.next()
	if hello.Event != wire.StreamHello {
		w.Fatalf("a stream begins with %+v", hello)
	}
	return f, hello
}

func (f *follower) next() wire.StreamEvent {
	f.Helper()
	e, ok := <-f.events
	if !ok {
		f.Fatalf("the stream has ended: %v", <-f.ended)
	}
	return e
}

// until reads up to an event, and returns all that was read.
func (f *follower) until(is func(wire.StreamEvent) bool) (read []wire.StreamEvent) {
	f.Helper()
	for {
		e := f.next()
		if read = append(read, e); is(e) {
			return read
		}
	}
}

func changed(id recoup.ID, state recoup.State) func(wire.StreamEvent) bool {
	return func(e wire.StreamEvent) bool {
		return slices.ContainsFunc(e.Changed, func(c wire.Changed) bool { return c.ErrorID == id && c.State == state })
	}
}

func counted(table string, state recoup.State, n int64) func(wire.StreamEvent) bool {
	return func(e wire.StreamEvent) bool {
		return e.Event == wire.StreamCounts && slices.Contains(e.Counts, recoup.StateCount{Table: table, State: state, N: n})
	}
}

// A stream tells what happens to errors and how many there are, and of a key's own hubs
// alone, on both stores.
func TestStream(t *testing.T) {
	t.Parallel()
	for name, open := range map[string]func(*testing.T) *world{
		"sqlite": func(t *testing.T) *world { return newWorld(t) }, "postgres": newPostgresWorld, //nolint:thelper // it opens a world
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := open(t)
			url := w.served()
			all, hello := w.follow(url, "reader")
			if hello.Version != "test" {
				t.Errorf("it is %+v", hello)
			}
			own, _ := w.follow(url, "reader"+onlyDOL)

			theirs, ours := w.report(people, "CO-1"), w.report(dol, "CO-2")
			all.until(changed(theirs.ID, recoup.RetryPending))
			w.post("/v1/errors/"+theirs.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
			w.post("/v1/errors/"+ours.ID.String()+"/park", recoup.Act{Reason: "wait"}).ok()
			all.until(counted(dol, recoup.Parked, 1))
			w.post("/v1/errors/"+theirs.ID.String()+"/archive", recoup.Act{Reason: "enough"}).ok()
			w.post("/v1/errors/"+ours.ID.String()+"/archive", recoup.Act{Reason: "enough"}).ok()
			all.until(changed(theirs.ID, recoup.Archived))

			for _, e := range own.until(changed(ours.ID, recoup.Archived)) {
				foreign := slices.ContainsFunc(e.Changed, func(c wire.Changed) bool { return c.Table != dol })
				if foreign || slices.ContainsFunc(e.Counts, func(n recoup.StateCount) bool { return n.Table != dol }) {
					t.Errorf("a key of another hub hears %+v", e)
				}
			}
		})
	}
}

// A stream tells which operations, alerts, silences and dead letters have changed, to who may
// see them.
func TestStreamObjects(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.served()
	all, _ := w.follow(url, "reader")
	own, _ := w.follow(url, "reader"+onlyDOL)
	theirs, ours := w.report(people, "CO-1"), w.report(dol, "CO-2")
	all.until(changed(ours.ID, recoup.RetryPending)) // the first look is over: it has nothing to compare with

	var foreign, mine recoup.FrozenOperation
	w.post("/v1/operations", recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: people}}).ok(&foreign)
	var silence wire.Silence
	w.post("/v1/silences", wire.NewSilence{Rule: "park-rate", Until: w.Now().Add(time.Hour), Reason: "we know"}).ok(&silence)
	all.until(moved(recoup.SilenceIDs, silence.ID))
	w.do("admin", http.MethodDelete, "/v1/silences/"+silence.ID.String(), nil).ok()
	all.until(moved(recoup.SilenceIDs, silence.ID))
	w.post("/v1/operations", recoup.NewOperation{Act: recoup.ActPark, Filter: recoup.ErrorFilter{Table: dol}}).ok(&mine)
	all.until(moved(recoup.OperationIDs, mine.ID))

	for _, e := range own.until(moved(recoup.OperationIDs, mine.ID)) {
		for _, o := range e.Objects {
			if o.ID != mine.ID {
				t.Errorf("a key of another hub hears of %+v, of %s", o, theirs.ID)
			}
		}
	}
}

func moved(kind recoup.IDKind, id recoup.ID) func(wire.StreamEvent) bool {
	return func(e wire.StreamEvent) bool {
		return slices.Contains(e.Objects, wire.ChangedObject{Kind: kind, ID: id})
	}
}

// A stream ends with its key, and who has none gets none.
func TestStreamEndsWithItsKey(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	url := w.served()
	var made wire.Key
	w.post("/v1/keys", wire.NewKey{Name: "n", Role: "reader"}).ok(&made)
	f, _ := w.follow(url, w.use(made))
	w.post("/v1/keys/"+made.ID.String()+"/revoke", object{}).ok()
	f.until(func(e wire.StreamEvent) bool { return e.Event == wire.StreamEnd && e.Reason != "" })
	if err := <-f.ended; err != nil {
		t.Errorf("it ended with %v", err)
	}
	for _, key := range []string{revoked, "ingest"} {
		for _, err := range admin.New(w.client(url, key)).System.Stream(t.Context()) {
			if e, ok := err.(*fault.Error); !ok || e.Code != map[string]recoup.Code{revoked: fault.CodeInvalidAPIKey, "ingest": fault.CodeInsufficientPermissions}[key] {
				t.Errorf("a stream of %s: %v", key, err)
			}
		}
	}
}

// Streams have a limit of their own, and take no slot of a request.
func TestStreamLimits(t *testing.T) {
	t.Parallel()
	w := newWorld(t, limits(httpapi.Limits{Streams: 4, InFlight: 1, Reserved: 1}))
	url := w.served()
	for _, key := range []string{"reader", "operator", "worker", "admin"} {
		w.follow(url, key)
	}
	refused := func(key string, want recoup.Code) {
		t.Helper()
		for e, err := range admin.New(w.client(url, key)).System.Stream(t.Context()) {
			if failed, ok := err.(*fault.Error); !ok || failed.Code != want {
				t.Errorf("%s gets %+v, %v", key, e, err)
			}
		}
	}
	refused("reader"+onlyDOL, fault.CodeServiceOverloaded)
	w.do("reader", http.MethodGet, "/v1/errors", nil).ok()
	w.report(dol, "CO-1")

	w = newWorld(t, limits(httpapi.Limits{Streams: 8}))
	url = w.served()
	w.follow(url, "reader")
	w.follow(url, "reader")
	refused("reader", fault.CodeRateLimitExceeded)
	w.follow(url, "worker")
}
