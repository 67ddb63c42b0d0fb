// Command criticizer is the pipeline of spec 002 on package stage: it fetches a
// page, has a model criticise it and notifies a channel. What fails for good becomes a
// dead letter, which an operator takes back to work. README.md shows a run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/app"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "criticizer:", err)
		os.Exit(1) //nolint:forbidigo // main is where the process ends
	}
}

// run shows the pipeline from end to end, on a server of its own or on another.
func run(ctx context.Context, args []string, out, log io.Writer) (err error) {
	flags := flag.NewFlagSet("criticizer", flag.ContinueOnError)
	flags.SetOutput(log)
	server := flags.String("server", "", "`address` of Recoup; the key is read from "+client.EnvKey+"; default: one that lives as long as this run")
	patience := flags.Duration("patience", 2*time.Minute, "how long all of it may take")
	if err := flags.Parse(args); err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, *patience)
	defer cancel()
	options := client.FromEnv(os.Getenv)
	options.Server, options.Service = *server, pipelineName
	if *server == "" {
		address, stop, err := serve(ctx)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
		options.Server, options.Key = address, ""
	}
	c, err := client.New(options)
	if err != nil {
		return err
	}
	defer c.Close()
	return newShow(c, out).run(ctx)
}

// serve runs a server until stop is called. Its data is gone with it.
func serve(ctx context.Context) (address string, stop func() error, err error) {
	folder, err := os.MkdirTemp("", "criticizer-")
	if err != nil {
		return "", nil, err
	}
	node, err := app.Open(ctx, app.Options{Database: "sqlite:" + filepath.Join(folder, "recoup.db"), Listen: "127.0.0.1:0", Demo: true})
	if err != nil {
		return "", nil, errors.Join(err, os.RemoveAll(folder))
	}
	life, end := context.WithCancel(context.WithoutCancel(ctx))
	ended := make(chan error, 1)
	go func() { ended <- node.Serve(life) }()
	return "http://" + node.Address(), func() error {
		end()
		return errors.Join(<-ended, os.RemoveAll(folder))
	}, nil
}
