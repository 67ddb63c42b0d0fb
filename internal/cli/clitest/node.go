package clitest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"recoup/client"
	"recoup/internal/app"
	"recoup/internal/cli/command"
)

// Node is a server in the test's own process, and a person in front of it.
type Node struct {
	T     *testing.T
	URL   string
	Key   string // the first admin's; none in a demo
	File  string // its database
	Clock atomic.Int64
	seen  map[string]int // ids, in the order in which they were printed
}

// Morning is when the test nodes start.
var Morning = time.Date(2026, 2, 5, 8, 0, 0, 0, time.UTC)

// template is a database to begin with, and the first admin's key to it.
type template struct {
	file []byte
	key  string
}

// templates are made once, because bringing a schema up to date takes longer
// than most tests: one with the demo's samples, and one that holds nothing.
var (
	demoTemplate  = sync.OnceValues(func() (template, error) { return makeTemplate(true) })
	emptyTemplate = sync.OnceValues(func() (template, error) { return makeTemplate(false) })
)

func makeTemplate(demo bool) (made template, err error) {
	folder, err := os.MkdirTemp("", "recoup-cli-")
	if err != nil {
		return made, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(folder)) }()
	file := filepath.Join(folder, "template.db")
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	node, err := app.Open(ctx, app.Options{
		Database: "sqlite:" + file, Listen: "127.0.0.1:0", Demo: demo, Now: func() time.Time { return Morning },
		FirstKey: func(secret string) { made.key = secret },
	})
	if err != nil {
		return made, err
	}
	if demo {
		err = node.AddSamples(ctx)
	}
	stop()
	if err := errors.Join(err, node.Serve(ctx)); err != nil {
		return made, err
	}
	made.file, err = os.ReadFile(file)
	return made, err
}

// New is a node that does not run: a database, and a clock.
func New(t *testing.T, demo bool) *Node {
	t.Helper()
	begin, err := emptyTemplate()
	if demo {
		begin, err = demoTemplate()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &Node{T: t, Key: begin.key, File: filepath.Join(t.TempDir(), "test.db"), seen: map[string]int{}}
	n.Clock.Store(Morning.UnixNano())
	if err := os.WriteFile(n.File, begin.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return n
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
	ctx, stop := context.WithCancel(context.Background())
	options := app.Options{Database: "sqlite:" + n.File, Listen: "127.0.0.1:0", Demo: demo, Now: n.Now}
	for _, c := range change {
		c(&options)
	}
	node, err := app.Open(ctx, options)
	if err != nil {
		stop()
		n.T.Fatal(err)
	}
	n.URL = "http://" + node.Address()
	over := make(chan error, 1)
	go func() { over <- node.Serve(ctx) }()
	n.T.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			n.T.Error(err)
		}
	})
}

// Now is the time by the clock of the node.
func (n *Node) Now() time.Time { return time.Unix(0, n.Clock.Load()).UTC() }

// Advance moves the clock of the node.
func (n *Node) Advance(d time.Duration) { n.Clock.Add(int64(d)) }

// Run executes a command against the node.
func (n *Node) Run(args ...string) Result { return n.As(command.Streams{}, n.Key, args...) }

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
	var page client.ErrorPage
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
)

// Plain replaces what is random by what is not, of the same length: the third id
// that is seen is the third in every run.
func (n *Node) Plain(text string) string {
	text = anySecret.ReplaceAllStringFunc(text, func(s string) string { return "rdb_" + strings.Repeat("x", len(s)-4) })
	return AnyID.ReplaceAllStringFunc(text, func(id string) string {
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
