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

	"recoup/client"
	"recoup/fault"
	"recoup/internal/verifier"
	"recoup/retry"
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

func gateZeroVerify(streams Streams) *cobra.Command {
	var f verifyFlags
	cmd := &cobra.Command{
		Use:   "verify",
		Short: "Verify intakes by their domains, as a worker",
		Long: `Claims intakes and retries from a server, looks whether each domain exists and whether
somebody says there who they are, and reports what it found: DOMAIN_NOT_FOUND,
DOMAIN_NO_IMPRINT, or, where it could not look, TIMEOUT or API_UNAVAILABLE.

It connects to public addresses only. It runs until it is stopped, or with --once until
there is nothing left to do.`,
		Example: `  recoup gate-zero verify --once
  recoup gate-zero verify --what recoveries --parallel 16`,
		Args: noArgs,
	}
	cmd.Flags().StringVar(&f.worker, "worker", "", "`NAME` under which it works (default: the machine's)")
	cmd.Flags().StringVar(&f.what, "what", "", "only `WHAT`: recoveries or intakes (default: both)")
	cmd.Flags().IntVar(&f.parallel, "parallel", 8, "look at `N` domains at once")
	cmd.Flags().DurationVar(&f.every, "every", 10*time.Second, "how `LONG` to wait when there is nothing to do")
	cmd.Flags().BoolVar(&f.once, "once", false, "stop when there is nothing to do")
	cmd.Flags().StringVar(&f.resolver, "resolver", "", "`HOST:PORT` of a name server to ask (default: the machine's)")
	return onServer(streams, cmd, func(ctx context.Context, s *session, _ []string) error {
		if err := f.check(); err != nil {
			return err
		}
		ctx, stop := signal.NotifyContext(ctx, syscall.SIGINT, syscall.SIGTERM)
		defer stop()
		resolver := f.resolve()
		v, err := verifier.New(verifier.Options{Resolver: resolver, Transport: verifier.NewTransport(resolver, nil)})
		if err != nil {
			return err
		}
		sum, err := s.verifyAll(ctx, f, v.Verify)
		if ctx.Err() != nil {
			err = nil // it was stopped
		}
		return errors.Join(err, s.printVerified(sum))
	})
}

func (f *verifyFlags) check() error {
	if f.parallel < 1 || f.parallel > 256 {
		return usagef("--parallel is %d: expected a number from 1 to 256", f.parallel)
	}
	if f.every <= 0 {
		return usagef("--every is %s: expected a time such as 10s", f.every)
	}
	what, err := oneOf("what", f.what, []string{client.ClaimRecoveries, client.ClaimIntakes})
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
func (s *session) verifyAll(ctx context.Context, f verifyFlags, look func(ctx context.Context, domain, company string) (verifier.Reason, error)) (verified, error) {
	sum := verified{}
	for {
		work, err := s.ClaimGateZero(ctx, client.GateZeroClaim{Worker: f.worker, Limit: min(f.parallel*4, maxRows), What: f.what})
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
		items, err := s.GateZeroResults(ctx, results)
		if err != nil {
			return sum, err
		}
		for i := range items {
			if _, err := items[i].Get(); err != nil {
				said, _ := errors.AsType[*fault.Error](err)
				fmt.Fprintf(s.Err, "%s: %s\n", results[i].IntakeID, printable(reasonOf(said)))
				continue
			}
			sum[cmp.Or(results[i].Reason, client.VerdictPass)]++
		}
	}
}

// lookAll looks at many domains, a few at a time.
func lookAll(ctx context.Context, work []client.GateZeroWork, f verifyFlags, look func(ctx context.Context, domain, company string) (verifier.Reason, error)) []client.GateZeroResult {
	results := make([]client.GateZeroResult, len(work))
	turn := make(chan struct{}, f.parallel)
	var all sync.WaitGroup
	for i := range work {
		turn <- struct{}{}
		all.Go(func() {
			defer func() { <-turn }()
			reason, _ := look(ctx, work[i].Intake.Domain, work[i].Intake.CompanyName) // the reason is all that is reported
			verdict := client.VerdictPass
			if reason != verifier.Passed {
				verdict = client.VerdictFail
			}
			results[i] = work[i].Result(verdict, string(reason))
			results[i].Worker = f.worker
		})
	}
	all.Wait()
	return results
}

func (s *session) printVerified(sum verified) error {
	if s.json {
		return printJSON(s.Out, sum)
	}
	counts := map[string]int64{}
	for reason, n := range sum {
		counts[reason] = int64(n)
	}
	_, err := fmt.Fprintf(s.Out, "verified: %s\n", cmp.Or(tallies(counts), "nothing"))
	return err
}
