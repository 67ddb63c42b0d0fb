package clitest

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/slices"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/test/node"
)

// Node is a server in the test's own process, and a person in front of it.
type Node struct {
	*node.Clock
	T    *testing.T
	URL  string
	Key  string         // the first admin's; none in a demo
	File string         // its database
	seen map[string]int // ids, in the order in which they were printed
}

// Morning is when the test nodes start.
var Morning = time.Date(2026, 2, 5, 8, 0, 0, 0, time.UTC)

// The databases of nodes that were started once, because bringing a schema up to
// date takes longer than most tests: one with the demo's samples, and one that holds
// nothing but the first admin's key.
var (
	samples  = sqlitetest.NewTemplate(func(ctx context.Context, path string) error { return startOnce(ctx, path, true) })
	nothing  = sqlitetest.NewTemplate(func(ctx context.Context, path string) error { return startOnce(ctx, path, false) })
	firstKey string // to nothing; set once it was made
)

func startOnce(ctx context.Context, path string, demo bool) error {
	node, err := app.Open(ctx, app.Options{
		Database: "sqlite:" + path, Listen: "127.0.0.1:0", Demo: demo, Slices: slices.All(), Now: func() time.Time { return Morning },
		FirstKey: func(secret string) error { firstKey = secret; return nil },
	})
	if err != nil {
		return err
	}
	if demo {
		err = node.AddSamples(ctx)
	}
	ended, stop := context.WithCancel(ctx)
	stop()
	return errors.Join(err, node.Serve(ended))
}

// New is a node that does not run: a database, and a clock.
func New(t *testing.T, demo bool) *Node {
	t.Helper()
	n := &Node{T: t, Clock: node.NewClock(Morning), seen: map[string]int{}}
	if demo {
		n.File = samples.Copy(t, t.TempDir())
	} else {
		n.File = nothing.Copy(t, t.TempDir())
		n.Key = firstKey
	}
	return n
}

// At is a person in front of a server that is the test's own.
func At(t *testing.T, url string) *Node {
	return &Node{T: t, Clock: node.NewClock(Morning), URL: url, Key: "rdb_" + strings.Repeat("a", 32), seen: map[string]int{}}
}

// Start runs a node until the test ends: a demo with its samples, or one
// that asks for keys and holds nothing.
func Start(t *testing.T, demo bool) *Node {
	t.Helper()
	n := New(t, demo)
	n.Serve(demo)
	return n
}

// Serve runs the node until the test ends.
func (n *Node) Serve(demo bool, change ...func(*app.Options)) {
	n.T.Helper()
	o := app.Options{Database: "sqlite:" + n.File, Demo: demo, Now: n.Now}
	for _, c := range change {
		c(&o)
	}
	n.URL = live.Start(n.T, o).URL
}

// Run executes a command against the node.
func (n *Node) Run(args ...string) Result { return n.As(command.Streams{}, n.Key, args...) }

// PassTime moves the node's clock on until the test ends. A job that has run once runs again only
// when time has passed, and a command that waits for an operation waits for such a job.
func (n *Node) PassTime() {
	ended := make(chan struct{})
	var moving sync.WaitGroup
	moving.Go(func() {
		for tick := time.NewTicker(250 * time.Millisecond); ; {
			select {
			case <-ended:
				tick.Stop()
				return
			case <-tick.C:
				n.Wait(time.Second)
			}
		}
	})
	n.T.Cleanup(func() { close(ended); moving.Wait() })
}

// As executes a command for a person with a key and a terminal.
func (n *Node) As(s command.Streams, key string, args ...string) Result {
	n.T.Helper()
	s.Now = n.Now
	args = append(args, "--server", n.URL)
	if key != "" {
		args = append(args, "--key", key)
	}
	return execute(n.T.Context(), args, s)
}

// Direct executes a command on the node's database, without its server.
func (n *Node) Direct(args ...string) Result {
	return execute(n.T.Context(), append(args, "--database", "sqlite:"+n.File), command.Streams{Now: n.Now})
}

// Client is a client of the node, for the first admin.
func (n *Node) Client() *client.Client {
	n.T.Helper()
	c, err := client.New(client.Options{Server: n.URL, Key: n.Key})
	if err != nil {
		n.T.Fatal(err)
	}
	n.T.Cleanup(c.Close)
	return c
}

// Must is Run for what has to succeed.
func (n *Node) Must(args ...string) string {
	n.T.Helper()
	r := n.Run(args...)
	if r.Status != command.ExitDone {
		n.T.Fatalf("recoup %s ends with %d: %s", strings.Join(args, " "), r.Status, r.Err)
	}
	return r.Out
}

// IDs lists the ids of errors that a filter selects.
func (n *Node) IDs(filter ...string) []string {
	n.T.Helper()
	var page recoup.ErrorPage
	Parse(n.T, n.Must(append([]string{"errors", "list", "--all", "--json"}, filter...)...), &page)
	var ids []string
	for _, e := range page.Errors {
		ids = append(ids, e.ID.String())
	}
	return ids
}

// AnyID is an id as commands print it.
var (
	AnyID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anySecret = regexp.MustCompile(`rdb_[a-z2-7]+`)

	// anyName is an id, or how a server calls a request whose own name looks like a
	// telephone number to it.
	anyName = regexp.MustCompile(AnyID.String() + `|req_[0-9a-f]{32}`)
)

// Plain replaces what is random by what is not, of the same length: the third id
// that is seen is the third in every run.
func (n *Node) Plain(text string) string {
	text = anySecret.ReplaceAllStringFunc(text, func(s string) string { return "rdb_" + strings.Repeat("x", len(s)-4) })
	return anyName.ReplaceAllStringFunc(text, func(id string) string {
		if n.seen[id] == 0 {
			n.seen[id] = len(n.seen) + 1
		}
		return fmt.Sprintf("%08d-0000-7000-8000-000000000000", n.seen[id])
	})
}

// Transcript runs commands and writes down what a person sees.
func (n *Node) Transcript(commands ...[]string) string {
	n.T.Helper()
	var all strings.Builder
	for _, args := range commands {
		r := n.Run(args...)
		var shown []string
		for _, arg := range args {
			if strings.Contains(arg, " ") {
				arg = `"` + arg + `"`
			}
			shown = append(shown, arg)
		}
		text := "$ recoup " + strings.Join(shown, " ") + "\n" + r.Out
		if r.Err != "" {
			text += "[stderr]\n" + r.Err
		}
		all.WriteString(n.Plain(text) + fmt.Sprintf("[status %d]\n\n", r.Status))
	}
	return all.String()
}
