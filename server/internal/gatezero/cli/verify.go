package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/internal/gatezero/verify"
)

// verifyFlags are how the built-in verifier works.
type verifyFlags struct {
	worker   string
	what     string
	parallel int
	every    time.Duration
	once     bool
	resolver string
}

func verifyCommand(streams command.Streams) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify intakes by their domains, as a worker",
		Long: `Claims intakes and retries from a server, checks whether each domain exists and has an imprint,
and reports the result: DOMAIN_NOT_FOUND, DOMAIN_NO_IMPRINT, or, where it could not check, TIMEOUT
or API_UNAVAILABLE.

It connects to public addresses only. It runs until it is stopped, or with --once until there is
nothing left to do.`,
		Example: `  recoup gate-zero verify --once
  recoup gate-zero verify --what recoveries --parallel 16`,
		Args: command.NoArgs,
	}
	cmd.Flags().StringVar(&f.worker, "worker", "", "worker `NAME` (default: the host's name)")
	cmd.Flags().StringVar(&f.what, "what", "", "only `KIND`: recoveries or intakes (default: both)")
	cmd.Flags().IntVar(&f.parallel, "parallel", 8, "verify `N` domains at once")
	cmd.Flags().DurationVar(&f.every, "every", 10*time.Second, "poll `INTERVAL` while there is nothing to do")
	cmd.Flags().BoolVar(&f.once, "once", false, "stop when there is nothing to do")
	cmd.Flags().StringVar(&f.resolver, "resolver", "", "`HOST:PORT` of a DNS server (default: the host's)")
	return command.OnServer(streams, cmd, command.One, func(ctx context.Context, s *command.Session, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		resolver := f.resolve()
		v, err := verify.New(verify.Options{Resolver: resolver, Transport: verify.NewTransport(resolver, nil)})
		if err != nil {
			return err
		}
		sum, err := verifyAll(ctx, s, f, v.Verify)
		if ctx.Err() != nil {
			err = nil // it was stopped
		}
		return errors.Join(err, printVerified(s, sum))
	})
}

func (f *verifyFlags) check() error {
	if err := command.Within("parallel", f.parallel, 1, 256); err != nil {
		return err
	}
	if f.every <= 0 {
		return command.Usagef("--every is %s: expected a duration such as 10s", f.every)
	}
	what, err := command.OneOf("what", f.what, []string{recoup.ClaimRecoveries, recoup.ClaimIntakes})
	f.what = what
	host, _ := os.Hostname()
	f.worker = cmp.Or(f.worker, host, "verifier")
	return err
}

func (f *verifyFlags) resolve() *net.Resolver {
	if f.resolver == "" {
		return net.DefaultResolver
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		return (&net.Dialer{Timeout: 5 * time.Second}).DialContext(ctx, network, f.resolver)
	}}
}

// verified counts what verifications came to, by reason; PASS is one of them.
type verified map[string]int

// verifyAll claims, looks and reports until ctx ends or, if it is to work once,
// nothing is left. A result that comes too late is not counted.
func verifyAll(ctx context.Context, s *command.Session, f verifyFlags, look func(ctx context.Context, domain, company string) (verify.Reason, error)) (verified, error) {
	sum := verified{}
	for {
		work, err := s.GateZero.Claim(ctx, recoup.GateZeroClaim{Worker: f.worker, Limit: min(f.parallel*4, command.MaxRows), What: f.what})
		if err != nil {
			return sum, err
		}
		if len(work) == 0 {
			if f.once {
				return sum, nil
			}
			if err := retry.Sleep(ctx, f.every); err != nil {
				return sum, err
			}
			continue
		}
		results := lookAll(ctx, work, f, look)
		if ctx.Err() != nil {
			return sum, ctx.Err() // what a stop has interrupted is no result; the leases end
		}
		items, err := s.GateZero.Results(ctx, results)
		if err != nil {
			return sum, err
		}
		for i := range items {
			if _, err := items[i].Get(); err != nil {
				said, _ := errors.AsType[*fault.Error](err)
				fmt.Fprintf(s.Err, "%s: %s\n", results[i].IntakeID, command.Printable(command.Reason(said)))
				continue
			}
			sum[cmp.Or(results[i].Reason, recoup.VerdictPass)]++
		}
	}
}

// lookAll looks at many domains, a few at a time.
func lookAll(ctx context.Context, work []recoup.GateZeroWork, f verifyFlags, look func(ctx context.Context, domain, company string) (verify.Reason, error)) []recoup.GateZeroResult {
	results := make([]recoup.GateZeroResult, len(work))
	turn := make(chan struct{}, f.parallel)
	var all sync.WaitGroup
	for i := range work {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			reason, _ := look(ctx, work[i].Intake.Domain, work[i].Intake.CompanyName) // the reason is all that is reported
			verdict := recoup.VerdictPass
			if reason != verify.Passed {
				verdict = recoup.VerdictFail
			}
			results[i] = work[i].Result(verdict, string(reason))
			results[i].Worker = f.worker
		})
	}
	all.Wait()
	return results
}

func printVerified(s *command.Session, sum verified) error {
	if s.Machine() {
		return s.Print(sum)
	}
	counts := map[string]int64{}
	for reason, n := range sum {
		counts[reason] = int64(n)
	}
	_, err := fmt.Fprintf(s.Out, "verified: %s\n", cmp.Or(tallies(counts), "nothing"))
	return err
}
