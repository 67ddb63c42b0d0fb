// Command hub is a pipeline that uses Recoup: it reports what fails, retries what
// is due, and promotes what nothing blocks. README.md says how to run it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup/client"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Getenv, time.Now, os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "hub:", err)
		os.Exit(1) //nolint:forbidigo // main is where the process ends
	}
}

// run takes companies through the pipeline once.
func run(ctx context.Context, args []string, getenv func(string) string, now func() time.Time, out, log io.Writer) error {
	options := client.FromEnv(getenv)
	if options.Server == "" {
		options.Server = "http://127.0.0.1:8080"
	}
	flags := flag.NewFlagSet("hub", flag.ContinueOnError)
	flags.SetOutput(log)
	flags.StringVar(&options.Server, "server", options.Server, "`address` of Recoup; the key is read from "+client.EnvKey)
	companies := flags.Int("companies", 10, "how many companies to take through the pipeline")
	batch := flags.String("batch", now().UTC().Format("20060102-150405"), "`name` of this run; the same name again reports nothing twice")
	patience := flags.Duration("patience", time.Minute, "how long to wait for retries")
	if err := flags.Parse(args); err != nil {
		return err
	}
	options.Service = "dol-filings"
	recoup, err := client.New(options)
	if err != nil {
		return err
	}
	defer recoup.Close()
	p := pipeline{client: recoup, filings: newFilings(), batch: *batch, out: out}
	for i := range *companies {
		p.companies = append(p.companies, fmt.Sprintf("CO-%s-%04d", *batch, i+1))
	}
	return p.run(ctx, *patience)
}
