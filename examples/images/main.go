// Command images makes thumbnails in three stages: it fetches a picture, makes it smaller
// and publishes it in a gallery. README.md shows a run.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path"
	"syscall"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/stage"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "images:", err)
		os.Exit(1) //nolint:forbidigo // main is where the process ends
	}
}

// run submits the pictures that are named, and works until as many have ended.
func run(ctx context.Context, args []string, getenv func(string) string, out, log io.Writer) error {
	flags := flag.NewFlagSet("images", flag.ContinueOnError)
	flags.SetOutput(log)
	gallery := flags.String("gallery", "gallery", "`FOLDER` with a folder for each album")
	more := flags.Int("replayed", 0, "work until `N` pictures that were replayed have ended, too")
	if err := flags.Parse(args); err != nil {
		return err
	}
	c, err := client.New(client.FromEnv(getenv))
	if err != nil {
		return err
	}
	defer c.Close()
	if err := submit(ctx, c, flags.Args()); err != nil {
		return err
	}
	codes, err := codes(ctx, c)
	if err != nil {
		return err
	}
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	p := thumbnails{gallery: *gallery, out: out}
	p.left.Store(int64(flags.NArg() + *more))
	p.ended = stop
	worker := client.StageWorker{
		Client: c, Name: "images", Pipeline: p.pipeline(),
		Options: stage.Options{Classify: codes.Classify, Observe: p.observe},
	}
	if err := worker.Run(ctx); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// submit hands pictures to the server, album/picture each. A picture is what the work is
// about: if it becomes a dead letter, the gate of the picture is closed.
func submit(ctx context.Context, c *client.Client, pictures []string) error {
	if len(pictures) == 0 {
		return nil
	}
	var work []recoup.NewWorkItem
	for _, picture := range pictures {
		work = append(work, recoup.NewWorkItem{Pipeline: pipelineName, Stage: "fetch", EntityID: path.Base(picture), Payload: []byte(picture)})
	}
	items, err := c.Work.Submit(ctx, work)
	for i := range items {
		if items[i].Failure != nil {
			return fmt.Errorf("submitting %s: %s", pictures[i], items[i].Failure)
		}
	}
	return err
}

// codes is the registry with the codes that the policy defines, so that a stage knows
// which of its failures are worth another attempt.
func codes(ctx context.Context, c *client.Client) (*fault.Registry, error) {
	defined, err := c.Codes.List(ctx)
	if err != nil {
		return nil, err
	}
	registry := fault.Default()
	var own []fault.Definition
	for _, def := range defined {
		if _, known := registry.Lookup(def.Code); !known {
			own = append(own, def)
		}
	}
	return registry.With(own...)
}
