package endtoend

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// listening is a stream of a site, read by nobody else.
type listening struct {
	events chan wire.StreamEvent
	ended  chan struct{}
}

// listen opens a stream and waits for its first event.
func (s *site) listen(ctx context.Context, key string) *listening {
	s.Helper()
	c, err := client.New(client.Options{Server: "http://" + *s.address.Load(), Key: key})
	if err != nil {
		s.Fatal(err)
	}
	l := &listening{make(chan wire.StreamEvent, 100), make(chan struct{})}
	go func() {
		defer close(l.ended)
		for e, err := range adminapi.New(c).System.Stream(ctx) {
			if err != nil {
				return
			}
			l.events <- e
		}
	}()
	if hello := l.next(s); hello.Event != wire.StreamHello || hello.Version == "" {
		s.Fatalf("a stream begins with %+v", hello)
	}
	return l
}

func (l *listening) next(s *site) wire.StreamEvent {
	s.Helper()
	select {
	case e := <-l.events:
		return e
	case <-l.ended:
		s.Fatalf("a stream has ended")
	}
	return wire.StreamEvent{}
}

func (l *listening) hears(s *site, id recoup.ID) {
	s.Helper()
	for {
		for _, c := range l.next(s).Changed {
			if c.ErrorID == id {
				return
			}
		}
	}
}

// rss is the memory of the site's node that is in use, in MiB, as the kernel counts it.
func (s *site) rss() (mib int) {
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.node.Process.Pid))
	if err != nil {
		return 0 // not on this system
	}
	for line := range strings.Lines(string(data)) {
		if _, err := fmt.Sscanf(line, "VmRSS: %d kB", &mib); err == nil {
			return mib >> 10
		}
	}
	return 0
}

// 200 pages are open, and all of them hear of a change, while the node answers others as
// before. When it stops, they end with it at once, and the next one's streams go on. What
// the streams take is printed (go test -v), and not judged here: their bounds are, in
// package stream.
func TestStreams(t *testing.T) {
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
		before := s.rss()
		var all []*listening
		for i := range 200 {
			all = append(all, s.listen(ctx, keys[i%len(keys)]))
		}
		reported, err := admin.Report(ctx, recoup.Report{Table: "outreach.dol_errors", EntityID: "CO-1", Code: "NETWORK_TIMEOUT"})
		if err != nil {
			t.Fatal(err)
		}
		for _, l := range all {
			l.hears(s, reported.Error.ID)
		}
		t.Logf("%d MiB before, %d MiB with %d streams", before, s.rss(), len(all))

		if err := s.signal(syscall.SIGTERM); err != nil {
			t.Errorf("it stopped with %v", err)
		}
		for _, l := range all {
			<-l.ended
		}
		s.start()
		again := s.listen(ctx, keys[1])
		admin, err = client.New(client.Options{Server: "http://" + *s.address.Load(), Key: s.key()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := admin.Errors.Park(ctx, reported.Error.ID, recoup.Act{Reason: "wait"}); err != nil {
			t.Fatal(err)
		}
		again.hears(s, reported.Error.ID)
	})
}
