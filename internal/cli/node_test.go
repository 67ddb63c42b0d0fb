package cli

import (
	"bytes"
	"context"
	"encoding/json"
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
)

// testNode is a server in the test's own process, and a person in front of it.
type testNode struct {
	t     *testing.T
	url   string
	key   string // the first admin's; none in a demo
	file  string // its database
	clock atomic.Int64
	seen  map[string]int // ids, in the order in which they were printed
}

// morning is when the test nodes start.
var morning = time.Date(2026, 2, 5, 8, 0, 0, 0, time.UTC)

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
		Database: "sqlite:" + file, Listen: "127.0.0.1:0", Demo: demo, Now: func() time.Time { return morning },
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

// newNode is a node that does not run: a database, and a clock.
func newNode(t *testing.T, demo bool) *testNode {
	t.Helper()
	begin, err := emptyTemplate()
	if demo {
		begin, err = demoTemplate()
	}
	if err != nil {
		t.Fatal(err)
	}
	n := &testNode{t: t, key: begin.key, file: filepath.Join(t.TempDir(), "test.db"), seen: map[string]int{}}
	n.clock.Store(morning.UnixNano())
	if err := os.WriteFile(n.file, begin.file, 0o600); err != nil {
		t.Fatal(err)
	}
	return n
}

// startNode runs a node until the test ends: a demo with its samples, or one
// that asks for keys and holds nothing.
func startNode(t *testing.T, demo bool) *testNode {
	t.Helper()
	n := newNode(t, demo)
	n.serve(demo)
	return n
}

// serve runs the node until the test ends.
func (n *testNode) serve(demo bool, change ...func(*app.Options)) {
	n.t.Helper()
	ctx, stop := context.WithCancel(context.Background())
	options := app.Options{Database: "sqlite:" + n.file, Listen: "127.0.0.1:0", Demo: demo, Now: n.now}
	for _, c := range change {
		c(&options)
	}
	node, err := app.Open(ctx, options)
	if err != nil {
		stop()
		n.t.Fatal(err)
	}
	n.url = "http://" + node.Address()
	over := make(chan error, 1)
	go func() { over <- node.Serve(ctx) }()
	n.t.Cleanup(func() {
		stop()
		if err := <-over; err != nil {
			n.t.Error(err)
		}
	})
}

func (n *testNode) now() time.Time { return time.Unix(0, n.clock.Load()).UTC() }

func (n *testNode) advance(d time.Duration) { n.clock.Add(int64(d)) }

// result is what a command printed and how it ended.
type result struct {
	out, err string
	status   int
}

// run executes a command against the node.
func (n *testNode) run(args ...string) result { return n.as(Streams{}, n.key, args...) }

// as executes a command for a person with a key and a terminal.
func (n *testNode) as(s Streams, key string, args ...string) result {
	n.t.Helper()
	var out, stderr bytes.Buffer
	s.Out, s.Err, s.Now = &out, &stderr, n.now
	if s.In == nil {
		s.In = new(bytes.Buffer)
	}
	args = append(args, "--server", n.url)
	if key != "" {
		args = append(args, "--key", key)
	}
	status := execute(n.t.Context(), args, s)
	return result{out.String(), stderr.String(), status}
}

// must is run for what has to succeed.
func (n *testNode) must(args ...string) string {
	n.t.Helper()
	r := n.run(args...)
	if r.status != ExitDone {
		n.t.Fatalf("recoup %s ends with %d: %s", strings.Join(args, " "), r.status, r.err)
	}
	return r.out
}

// ids lists the ids of errors that a filter selects.
func (n *testNode) ids(filter ...string) []string {
	n.t.Helper()
	var page client.ErrorPage
	parse(n.t, n.must(append([]string{"errors", "list", "--all", "--json"}, filter...)...), &page)
	var ids []string
	for _, e := range page.Errors {
		ids = append(ids, e.ID.String())
	}
	return ids
}

// parse reads JSON that a command printed.
func parse(t *testing.T, text string, into any) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), into); err != nil {
		t.Fatalf("not JSON: %v\n%s", err, text)
	}
}

var (
	anyID     = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}`)
	anySecret = regexp.MustCompile(`rdb_[a-z2-7]+`)
)

// plain replaces what is random by what is not, of the same length: the third id
// that is seen is the third in every run.
func (n *testNode) plain(text string) string {
	text = anySecret.ReplaceAllStringFunc(text, func(s string) string { return "rdb_" + strings.Repeat("x", len(s)-4) })
	return anyID.ReplaceAllStringFunc(text, func(id string) string {
		if n.seen[id] == 0 {
			n.seen[id] = len(n.seen) + 1
		}
		return fmt.Sprintf("%08d-0000-7000-8000-000000000000", n.seen[id])
	})
}

// transcript runs commands and writes down what a person sees.
func (n *testNode) transcript(commands ...[]string) string {
	n.t.Helper()
	var all strings.Builder
	for _, args := range commands {
		r := n.run(args...)
		var shown []string
		for _, arg := range args {
			if strings.Contains(arg, " ") {
				arg = `"` + arg + `"`
			}
			shown = append(shown, arg)
		}
		text := "$ recoup " + strings.Join(shown, " ") + "\n" + r.out
		if r.err != "" {
			text += "[stderr]\n" + r.err
		}
		all.WriteString(n.plain(text) + fmt.Sprintf("[status %d]\n\n", r.status))
	}
	return all.String()
}
