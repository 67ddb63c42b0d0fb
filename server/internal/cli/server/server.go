// Package server is what runs and looks after a node: 'recoup serve', 'demo',
// 'config', 'migrate', 'backup', 'restore', 'doctor', 'jobs', 'version' and 'healthcheck'.
package server

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"sync"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/slices"
)

// Commands are those of this package.
func Commands(streams command.Streams) []*cobra.Command {
	return []*cobra.Command{serve(streams), demoCommand(streams), configCommand(streams), migrate(streams), backup(streams), restore(streams), doctor(streams), jobs(streams), version(streams), healthcheck(streams)}
}

func serve(streams command.Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the server",
		Long: `Runs the server: the API, and everything that runs beside it. Without flags it keeps its data in
recoup.db in the current folder and listens on 127.0.0.1:8080. The first start creates an admin
key, prints it once on a terminal or else writes it to a file with mode 0600 and prints its path
(--admin-key-file), and begins with a small policy that governs the table app.errors; 'recoup init'
writes one for your own tables.

SIGINT and SIGTERM stop it: running requests are finished, for at most --grace, and everything that was
accepted is written. A second signal ends the grace, a third ends the process.

The exit status after a signal is 0 if everything that was acknowledged is stored, also if the
database did not answer when the node signed off. It is 1 if accepted events could not be written;
the message says how many.`,
		Example: `  recoup serve
  recoup serve --database postgres://recoup_app@db/recoup
  recoup serve --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key`,
		Args: command.NoArgs,
	}
	read := command.SettingFlags(streams, cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return err
		}
		if options.First == nil {
			if options.First, err = policy.Starter(policy.Start{Table: "app.errors", Entity: "entity_id"}); err != nil {
				return err
			}
		}
		options.LogTo(streams.Err)
		options.FirstKey = func(secret string) error { return handOut(streams, options, secret) }
		return run(cmd.Context(), streams, options, nil)
	}
	return cmd
}

// handOut prints the admin key on a terminal. Elsewhere, what is printed is kept in journals
// and in the logs of containers: the key goes to a file and its path is printed.
func handOut(streams command.Streams, o app.Options, secret string) error {
	if streams.Width > 0 && o.AdminKeyFile == "" {
		fmt.Fprintf(streams.Err, "\nThis is the admin key. It is shown this once; keep it safe:\n\n")
		fmt.Fprintln(streams.Out, secret)
		fmt.Fprintln(streams.Err)
		return nil
	}
	path := o.KeyFile()
	if err := app.WriteKeyFile(path, secret); err != nil {
		return err
	}
	fmt.Fprintf(streams.Err, "The admin key is in this file, which only its owner can read. Remove it when you have the key:\n")
	fmt.Fprintln(streams.Out, path)
	return nil
}

// run runs a node until a signal ends it. A signal that arrives while the node starts ends
// the start, which is no failure: nothing was accepted yet.
func run(ctx context.Context, streams command.Streams, options app.Options, ready func(context.Context, *app.Node) error) error {
	ctx, hurried, stop := watchSignals(ctx)
	defer stop()
	options.Build, options.Slices = app.OwnVersion(), slices.All()
	node, err := app.Open(ctx, options)
	if err != nil {
		return stopped(ctx, streams, err)
	}
	context.AfterFunc(hurried, node.Hurry)
	if ready != nil {
		if err := ready(ctx, node); err != nil {
			return errors.Join(stopped(ctx, streams, err), node.Close(ctx))
		}
	}
	fmt.Fprintf(streams.Err, "Recoup listens on %s (console: %s/, docs: %s/docs)\n", node.URL(), node.URL(), node.URL())
	return node.Serve(ctx)
}

// stopped returns why a start has failed, or nothing if a signal has ended it.
func stopped(ctx context.Context, streams command.Streams, err error) error {
	if ctx.Err() == nil {
		return err
	}
	fmt.Fprintf(streams.Err, "Stopped while starting: %v\n", err)
	return nil
}

// watchSignals returns a context that ends with the first signal and one that ends with the
// second. The third signal has its usual effect: it ends the process.
func watchSignals(parent context.Context) (ctx, hurried context.Context, stop func()) {
	ctx, cancel := context.WithCancel(parent)
	hurried, hurry := context.WithCancel(context.WithoutCancel(parent))
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	ended := make(chan struct{})
	go func() {
		for _, act := range []func(){cancel, hurry} {
			select {
			case <-signals:
				act()
			case <-ended:
				return
			}
		}
		signal.Stop(signals)
	}()
	return ctx, hurried, sync.OnceFunc(func() {
		signal.Stop(signals)
		close(ended)
		cancel()
	})
}

func configCommand(streams command.Streams) *cobra.Command {
	show := &cobra.Command{
		Use:   "show",
		Short: "Print every setting, its value and its source; secrets are masked",
		Example: `  recoup config show
  recoup config show --listen 0.0.0.0:80 --json`,
		Args: command.NoArgs,
	}
	read := command.SettingFlags(streams, show)
	return command.Group(&cobra.Command{Use: "config", Short: "Show the configuration", Example: "  recoup config show"},
		command.Offline(streams, show, command.One, func(_ context.Context, s *command.Session, _ []string) error {
			config, _, err := read()
			if err != nil {
				return err
			}
			if s.Machine() {
				return s.Print(config.Masked())
			}
			for _, v := range config.Masked() {
				s.Sayf("%-14s %-40s %s", v.Name, v.Value, v.Source)
			}
			return nil
		}))
}

func version(streams command.Streams) *cobra.Command {
	return command.Offline(streams, &cobra.Command{
		Use:   "version",
		Short: "Print the version, its revision, and the version of Go",
		Example: `  recoup version
  recoup version --json`,
		Args: command.NoArgs,
	}, command.One, func(_ context.Context, s *command.Session, _ []string) error {
		if s.Machine() {
			return s.Print(app.OwnVersion())
		}
		s.Sayf("%s", app.OwnVersion())
		return nil
	})
}
