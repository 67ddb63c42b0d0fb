// Command renderdb runs the service of package api on this machine, with keys
// for everybody and failures to switch on. README.md has requests to try.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/examples/renderdb/api"
)

// stopTime is what requests get to finish in when the program is stopped.
const stopTime = 5 * time.Second

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(os.Stderr, "renderdb:", err)
		os.Exit(1) //nolint:forbidigo // main is where the process ends
	}
}

// run serves until ctx ends. It says on out where, and logs to log.
func run(ctx context.Context, args []string, out, log io.Writer) error {
	flags := flag.NewFlagSet("renderdb", flag.ContinueOnError)
	flags.SetOutput(log)
	listen := flags.String("listen", "127.0.0.1:8085", "`address` to listen on")
	failures := api.NewFailures(time.Now)
	flags.Func("fail", fmt.Sprintf("`failures` to begin with, separated by commas, out of %v", api.AllFailures()), func(list string) error {
		return switchOn(failures, list)
	})
	if err := flags.Parse(args); err != nil {
		return err
	}
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", *listen)
	if err != nil {
		return err
	}
	address := "http://" + listener.Addr().String()
	handler, keys, err := service(time.Now, failures, address, log)
	if err != nil {
		return errors.Join(err, listener.Close())
	}
	fmt.Fprintln(out, "listening on", address)
	for _, key := range keys {
		fmt.Fprintf(out, "key %s (%s, good until %s)\n", key.Secret, key.Role, key.Expires().Format(time.DateOnly))
	}
	return serve(ctx, listener, handler)
}

// service is the API as the demonstration runs it: what would leave for a
// ledger is logged instead.
func service(now func() time.Time, failures *api.Failures, address string, log io.Writer) (http.Handler, []api.Key, error) {
	logger := slog.New(slog.NewJSONHandler(log, nil))
	keys := api.DemoKeys(now())
	handler, err := api.New(api.Options{
		Now: now, Random: rand.Reader, Keys: keys, Failures: failures,
		Documentation: address + "/errors/", Logger: logger,
		Emit: func(e recoup.Event) {
			logger.Info("event", "code", e.Code, "endpoint", e.Endpoint, "status", e.HTTPStatus, "correlation_id", e.CorrelationID)
		},
	})
	return handler, keys, err
}

// serve answers requests until ctx ends, and lets those that are under way
// finish.
func serve(ctx context.Context, listener net.Listener, handler http.Handler) error {
	server := &http.Server{Handler: handler, ReadHeaderTimeout: 5 * time.Second, ReadTimeout: 30 * time.Second}
	stopped := make(chan error, 1)
	undo := context.AfterFunc(ctx, func() {
		last, cancel := context.WithTimeout(context.WithoutCancel(ctx), stopTime)
		defer cancel()
		stopped <- server.Shutdown(last)
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		undo()
		return err
	}
	return <-stopped
}

func switchOn(failures *api.Failures, list string) error {
	for name := range strings.SplitSeq(list, ",") {
		failure, err := api.ParseFailure(name)
		if err != nil {
			return err
		}
		failures.Switch(failure, true)
	}
	return nil
}
