package benchcli

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"runtime"
	"syscall"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/retry"
	adminapi "github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/test/load"
)

// What happens before a run: how many errors are reported for claims to find, and how
// long it is waited for them to fall due, at most.
const (
	maxStock      = 10_000
	maxPatience   = time.Minute
	reportsAtOnce = 500
)

// drain is how long after its time a run still sends what is late.
const drain = 10 * time.Second

// run is the benchmark, from the first look at the server to the last line. Whoever
// interrupts it while it cleans up is obeyed too.
func (b *benchmark) run(ctx context.Context, heard func()) error {
	if err := patiently(ctx, &b.Session, b.inspect); err != nil {
		return err
	}
	if err := b.checkOut(); err != nil {
		return err
	}
	ids := recoup.NewIDSource(rand.Reader)
	id := ids.New(b.Clock())
	w := &workload{Client: b.Client, run: id, tag: tagOf(id), table: b.table, batch: b.batch, now: b.Clock, ids: ids}
	r := b.begin(ctx, w)
	err := patiently(ctx, &b.Session, func(ctx context.Context) error { return b.prepare(ctx, w, &r) })
	if err == nil {
		attended := context.AfterFunc(ctx, func() { b.interrupted(&r, heard) })
		b.measure(ctx, w, &r)
		attended()
	}
	r.Interrupted = ctx.Err() != nil
	heard() // the next interrupt is of what follows
	if r.Interrupted && err != nil {
		err = errors.New("interrupted before the load began")
	}
	err = errors.Join(err, b.tidy(context.WithoutCancel(ctx), &r))
	if r.Load.Elapsed == 0 {
		return err
	}
	return errors.Join(b.finish(&r), err)
}

// inspect looks at the server, and writes nothing.
func (b *benchmark) inspect(ctx context.Context) error {
	key, err := adminapi.New(b.Session.Client).Keys.Current(ctx)
	if err != nil {
		return err
	}
	if err := permit(key, b.mix, b.keep); err != nil || b.table == "" {
		return err
	}
	return b.checkTable(ctx)
}

func (b *benchmark) begin(ctx context.Context, w *workload) result {
	return result{
		Format: resultFormat, Run: w.run, Tag: w.tag, Server: b.target.Server, Version: b.target.version(ctx), StartedAt: b.Clock().UTC().Truncate(time.Second),
		Settings: settings{
			Table: b.table, Rate: b.rate, Seconds: b.spans.duration.Seconds(), Mix: b.mix.String(), Clients: b.clients, Batch: b.batch,
			Seed: b.seed, RetryAfter: b.again,
		},
	}
}

// prepare reports errors for the first claims to find, and waits until they are due. The
// first report shows whether the table is one to claim from.
func (b *benchmark) prepare(ctx context.Context, w *workload, r *result) error {
	if !b.mix.Has(opClaim) {
		return nil
	}
	first, err := w.Report(ctx, w.failing(w.entity("stock", 0)), client.IdempotencyKey(w.entity("stock", 0)))
	if err != nil {
		return err
	}
	r.Prepared = max(r.Prepared, 1)
	due := first.Error.NextRetryAt.Sub(first.Error.CreatedAt)
	switch {
	case first.Error.State != recoup.RetryPending:
		return fmt.Errorf("an error with %s is %s in %s, so claims would find nothing: %s", first.Error.Code, first.Error.State, b.table, b.instead(ctx))
	case due > maxPatience:
		return fmt.Errorf("errors of %s are due %s after they are reported, so claims would find nothing: %s", b.table, policy.FormatDuration(due), b.instead(ctx))
	}
	advance, end := b.ShowProgress("preparing")
	defer end()
	stock := min(maxStock, b.batch*int(1+float64(b.rate)*b.mix.Part(opClaim)*(due+time.Second).Seconds()))
	for r.Prepared < stock {
		var list []recoup.Report
		for n := r.Prepared; n < min(stock, r.Prepared+reportsAtOnce); n++ {
			list = append(list, w.failing(w.entity("stock", n)))
		}
		if _, err := w.ReportBatch(ctx, list); err != nil {
			return err
		}
		r.Prepared += len(list)
		advance(r.Prepared, stock)
	}
	return retry.Sleep(ctx, due)
}

// interrupted says what is waited for, and lets the next interrupt end the program at once: a
// server that hangs answers as late as it likes.
func (b *benchmark) interrupted(r *result, heard func()) {
	left := ""
	if b.writes() && !b.keep {
		left = " What was written then stays: " + cleanCommandLine(&b.target, r.Tag)
	}
	heard()
	b.Notef("Interrupted: waiting up to %s for answers. Interrupt once more to end at once.%s", b.spans.timeout, left)
}

// measure makes the load, and shows it.
func (b *benchmark) measure(ctx context.Context, w *workload, r *result) {
	sleep := b.Sleep
	if sleep == nil {
		sleep = retry.Sleep
	}
	l := load.New(load.Options{
		Plan: load.NewPlan(b.mix, b.rate, b.spans.duration, b.seed), Clients: b.clients, Drain: drain, Again: b.again,
		Do: w.do, Now: b.Clock, Sleep: sleep, CPU: cpu, CPUs: runtime.GOMAXPROCS(0),
	})
	done := make(chan struct{})
	watched := make(chan struct{})
	go func() { defer close(watched); b.watch(l, done) }()
	l.Run(ctx)
	close(done)
	<-watched
	r.Load = l.Figures()
	r.Foreign = w.taken()
}

// tidy cleans up what the run has written, unless that is to be kept.
func (b *benchmark) tidy(ctx context.Context, r *result) error {
	if b.keep || !b.writes() {
		return nil
	}
	ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	c := &cleaner{Session: &b.Session, table: b.table, tag: r.Tag}
	err := c.clean(ctx)
	r.Cleanup = &c.cleanup
	if err != nil {
		b.Notef("Not everything was cleaned up: %v\nTo go on with it: %s", err, cleanCommandLine(&b.target, r.Tag))
	}
	return err
}

// writes reports whether the load makes what has to be cleaned up.
func (b *benchmark) writes() bool {
	return b.mix.Has(opReport) || b.mix.Has(opClaim) || b.mix.Has(opDeadLetter)
}

// finish prints the result and writes it to its file. If one of them fails the other is
// done nevertheless: a run is not repeated that easily.
func (b *benchmark) finish(r *result) error {
	var err error
	if b.Machine() {
		err = b.Print(r)
	} else {
		r.say(&b.Session)
		b.remains(r)
	}
	if b.out != "" {
		err = errors.Join(err, b.save(r))
	}
	if err != nil {
		return err
	}
	if !r.Foreign.IsZero() {
		return fmt.Errorf("a claim leased %s of %s, which is not a benchmark's: claims ended there. When its lease expires this counts as a failed attempt", r.Foreign, b.table)
	}
	if r.Load.All.Failed > 0 {
		return command.ErrSilent
	}
	return nil
}

// checkOut refuses a file that could not be written to, before there is a result to lose.
// One that is there keeps what it has until then.
func (b *benchmark) checkOut() error {
	if b.out == "" {
		return nil
	}
	f, err := os.OpenFile(b.out, os.O_WRONLY|os.O_CREATE, 0o666) //nolint:gosec // as os.Create has it
	if err != nil {
		return fmt.Errorf("the result could not be written to --out: %w", err)
	}
	return f.Close()
}

// save writes the result to a file.
func (b *benchmark) save(r *result) error {
	f, err := os.Create(b.out)
	if err != nil {
		return err
	}
	return errors.Join(command.PrintJSON(f, r), f.Close())
}
