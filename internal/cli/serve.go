package cli

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"syscall"

	"github.com/spf13/cobra"

	"recoup/internal/app"
)

// settingFlags adds a flag for every setting, or for the named ones, and returns
// how to read the configuration once the flags are parsed.
func settingFlags(cmd *cobra.Command, only ...string) func() (app.Config, app.Options, error) {
	given := map[string]*string{}
	for _, s := range app.Settings() {
		if len(only) > 0 && !slices.Contains(only, s.Name) {
			continue
		}
		help := s.Help + " (" + s.Env + ")"
		if s.Default != "" {
			help += " (default " + s.Default + ")"
		}
		given[s.Name] = cmd.Flags().String(s.Name, "", help)
	}
	file := cmd.Flags().String("config", "", "a file with settings, NAME: VALUE (RECOUP_CONFIG)")
	return func() (app.Config, app.Options, error) {
		flags := map[string]string{}
		for name, value := range given {
			if cmd.Flags().Changed(name) {
				flags[name] = *value
			}
		}
		if *file == "" {
			*file = os.Getenv("RECOUP_CONFIG")
		}
		return app.ReadConfig(flags, os.LookupEnv, *file)
	}
}

func serveCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the service",
		Long: `Run the service: the API, and everything that runs beside it. Without flags it keeps its
data in recoup.db in the current folder and listens on 127.0.0.1:8080. The first start
makes an admin key and prints it, once.

It stops on SIGINT and SIGTERM: requests that run are finished, and everything that was
accepted is written.`,
		Example: `  recoup serve
  recoup serve --database postgres://recoup_app@db/recoup
  recoup serve --listen 0.0.0.0:8443 --tls-cert tls.crt --tls-key tls.key`,
		Args: noArgs,
	}
	read := settingFlags(cmd)
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		options.LogTo(streams.Err)
		options.FirstKey = func(secret string) {
			fmt.Fprintf(streams.Err, "\nThis is the admin key. It is shown this once; keep it safe:\n\n")
			fmt.Fprintln(streams.Out, secret)
			fmt.Fprintln(streams.Err)
		}
		return serve(cmd.Context(), streams, options, nil)
	}
	return cmd
}

// serve runs a node until a signal ends it.
func serve(ctx context.Context, streams Streams, options app.Options, ready func(*app.Node) error) error {
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	options.Version = ownVersion()
	node, err := app.Open(ctx, options)
	if err != nil {
		return err
	}
	if ready != nil {
		if err := ready(node); err != nil {
			return err
		}
	}
	fmt.Fprintf(streams.Err, "Recoup listens on %s (docs: %s/docs)\n", node.URL(), node.URL())
	return node.Serve(ctx)
}

func demoCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "demo",
		Short: "Run the service with sample data and without keys, on this machine only",
		Long: `Run the service with sample data. Nobody needs a key, so it listens on loopback only, and
its data is gone when it stops, unless --database names a file to keep it in. It opens only
a database that a demo has made, and takes none from RECOUP_DATABASE.`,
		Example: `  recoup demo
  recoup errors list --server http://127.0.0.1:8080`,
		Args: noArgs,
	}
	read := settingFlags(cmd, "database", "listen", "policy", "log-level", "log-format")
	cmd.Flags().Lookup("database").Usage = "where data is kept: sqlite:FILE or postgres://… (default: a file that is gone when it stops)"
	cmd.RunE = func(cmd *cobra.Command, _ []string) error {
		_, options, err := read()
		if err != nil {
			return usageError{err}
		}
		if cmd.Flags().Changed("database") { // what the environment names is another's
			err = app.CheckDemo(cmd.Context(), options.Database)
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
		options.Demo = true
		options.LogTo(streams.Err)
		return serve(cmd.Context(), streams, options, func(n *app.Node) error { return n.AddSamples(cmd.Context()) })
	}
	return cmd
}

func configCommand(streams Streams) *cobra.Command {
	cmd := &cobra.Command{Use: "config", Short: "Show the configuration", Example: "  recoup config show", Args: noArgs, RunE: group}
	var asJSON bool
	show := &cobra.Command{
		Use:   "show",
		Short: "Print every setting, its value and who said so, with passwords masked",
		Example: `  recoup config show
  recoup config show --listen 0.0.0.0:80 --json`,
		Args: noArgs,
	}
	read := settingFlags(show)
	jsonFlag(show, &asJSON)
	show.RunE = func(*cobra.Command, []string) error {
		config, _, err := read()
		if err != nil {
			return usageError{err}
		}
		if asJSON {
			return printJSON(streams.Out, config.Masked())
		}
		for _, v := range config.Masked() {
			fmt.Fprintf(streams.Out, "%-14s %-40s %s\n", v.Name, v.Value, v.Source)
		}
		return nil
	}
	cmd.AddCommand(show)
	return cmd
}
