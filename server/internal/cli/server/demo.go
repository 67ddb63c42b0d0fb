package server

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/demo"
	"github.com/recoup-dev/recoup/stage"
)

func demoCommand(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run a server with sample data and without keys, on loopback only",
		Long: `Runs a server with sample data: a month of history, an outage last night, workers that retry, a
replay under way, and a channel that does not answer. It asks for no key, so it listens on loopback
only, and its data is deleted when it stops, unless --database names a file to keep it in. It opens
only a database that a demo has created, and ignores RECOUP_DATABASE. On PostgreSQL, whose clock
cannot be moved, there is only the outage.`,
		Example: `  recoup demo
  recoup status --server http://127.0.0.1:8080`,
		Args: command.NoArgs,
	}
	read := command.SettingFlags(streams, cmd, "database", "listen", "policy", "log-level", "log-format")
	month := cmd.Flags().Bool("month", true, "play a month of sample data first, which takes a few seconds; --month=false begins tonight")
	cmd.Flags().Lookup("database").Usage = "database, sqlite:FILE or postgres://… (default: a file that is deleted when it stops)"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		empty := true
		if cmd.Flags().Changed("database") { // what the environment names is another's
			empty, err = app.CheckDemo(cmd.Context(), options.Database)
		} else {
			var folder string
			if folder, err = os.MkdirTemp("", "recoup-demo"); err == nil {
				defer func() { _ = os.RemoveAll(folder) }()
				options.Database = "sqlite:" + filepath.Join(folder, "demo.db")
			}
		}
		if err != nil {
			return err
		}
		d := demoRun{empty: empty}
		if empty && *month && strings.HasPrefix(options.Database, "sqlite:") {
			d.clock = demo.NewClock(time.Now)
		}
		return d.run(cmd.Context(), streams, options)
	}
	return cmd
}

// demoRun is a run of the demo.
type demoRun struct {
	empty bool        // the database is, and will be filled
	clock *demo.Clock // of a month that is played; nil: none is
}

// run fills an empty database, and serves with workers.
func (d *demoRun) run(ctx context.Context, streams command.Streams, options app.Options) error {
	options.Demo = true
	if options.Policy == "" {
		options.First, options.Channels = demo.Policy(), append(options.Channels, demo.Channel())
	}
	options.LogTo(streams.Err)
	if d.clock != nil {
		options.Now = d.clock.Now
		options.LogTo(present{streams.Err, d.clock})
	}
	var workers sync.WaitGroup
	defer workers.Wait()
	return run(ctx, streams, options, func(ctx context.Context, n *app.Node) error {
		if err := d.fill(ctx, streams, n); err != nil {
			return err
		}
		fmt.Fprintf(streams.Err, "Open %s/console/ in a browser: nobody has to sign in.\n", n.URL())
		return startWorkers(ctx, &workers, n.URL())
	})
}

func (d *demoRun) fill(ctx context.Context, streams command.Streams, n *app.Node) error {
	if !d.empty {
		return nil
	}
	advance, end := streams.ShowProgress("playing a month")
	defer end()
	return n.PlayDemo(ctx, d.clock, advance)
}

// present is where the log goes, except for what happens in the past.
type present struct {
	io.Writer
	clock *demo.Clock
}

func (w present) Write(p []byte) (int, error) {
	if w.clock.Playing() {
		return len(p), nil
	}
	return w.Writer.Write(p)
}

// startWorkers starts the workers of a demo, which end with ctx: one retries errors, one
// takes work through the pipeline. Both take their time, and sometimes fail.
func startWorkers(ctx context.Context, running *sync.WaitGroup, server string) error {
	c, err := client.New(client.Options{Server: server})
	if err != nil {
		return err
	}
	retries := client.Worker{
		Client: c, Name: "nightly-import-1", Concurrency: 2, Grace: time.Second,
		Handler: func(ctx context.Context, e recoup.Error) error { return attempt(ctx, e.Code) },
	}
	pipeline := stage.Pipeline{Name: demo.Pipeline}
	for _, name := range demo.Stages() {
		pipeline.Stages = append(pipeline.Stages, stage.Stage{Name: name, Run: func(ctx context.Context, _ stage.Input) ([]byte, error) {
			return nil, attempt(ctx, fault.CodeNetworkTimeout)
		}})
	}
	staged := client.StageWorker{Client: c, Name: "newsletter-1", Pipeline: pipeline, Concurrency: 2, Grace: time.Second}
	for _, work := range []func(context.Context) error{retries.Run, staged.Run} {
		running.Go(func() { _ = work(ctx) }) // the server is gone, or going
	}
	return nil
}

// attempt takes a second or three, and fails one time in ten.
func attempt(ctx context.Context, code recoup.Code) error {
	if err := retry.Sleep(ctx, time.Second+rand.N(2*time.Second)); err != nil {
		return err
	}
	if rand.N(10) == 0 {
		return fault.New(code, "It did not work this time either.")
	}
	return nil
}
