package cli

import (
	"cmp"
	"context"
	"errors"
	"os"
	"time"

	"github.com/spf13/cobra"

	"recoup/client"
	"recoup/fault"
	"recoup/internal/app"
	"recoup/retry"
)

// defaultServer is where recoup serve listens unless somebody says otherwise.
const defaultServer = "http://" + app.DefaultListen

// serverFlags are how a command finds its server.
type serverFlags struct{ server, key string }

func (f *serverFlags) add(cmd *cobra.Command) {
	f.addAs(cmd, "`URL` of the server ($RECOUP_SERVER) (default "+defaultServer+")")
}

func (f *serverFlags) addAs(cmd *cobra.Command, server string) {
	cmd.Flags().StringVar(&f.server, "server", "", server)
	cmd.Flags().StringVar(&f.key, "key", "", "API `KEY` ($RECOUP_KEY, which other users of the machine cannot see)")
}

// session is a command's talk with a server.
type session struct {
	*client.Client
	Streams
	json bool
}

// patience is how long a command waits by itself, in all, to try a request again.
// Longer waits are left to the person or script that called it.
const patience = 5 * time.Second

// errNoPatience ends a call that could be repeated, later or once a server runs.
var errNoPatience = errors.New("not repeated here")

// connect makes a client. It sends nothing yet.
func (f *serverFlags) connect(now func() time.Time, timeout time.Duration) (*client.Client, error) {
	options := client.FromEnv(os.Getenv)
	options.Server = cmp.Or(f.server, options.Server, defaultServer)
	options.Key = cmp.Or(f.key, options.Key)
	options.UserAgent = "recoup/" + ownVersion()
	options.Timeout, options.Now = timeout, now
	f.server = options.Server
	var last retry.Attempt
	var waited time.Duration
	options.Observe = func(a retry.Attempt) { last = a }
	options.Sleep = func(ctx context.Context, d time.Duration) error {
		if last.Number == 1 {
			waited = 0
		}
		if waited += d; waited > patience || unreachable(last.Err) {
			return errNoPatience
		}
		return retry.Sleep(ctx, d)
	}
	c, err := client.New(options)
	if err != nil {
		return nil, usageError{err}
	}
	return c, nil
}

// onServer makes cmd a command that talks to a server: it gives it the flags for
// that and --json, and run a session. What the server refuses is told as a whole.
func onServer(streams Streams, cmd *cobra.Command, run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	return onSlowServer(streams, cmd, 0, run)
}

// onSlowServer is onServer for calls that may take longer than others.
func onSlowServer(streams Streams, cmd *cobra.Command, timeout time.Duration, run func(ctx context.Context, s *session, args []string) error) *cobra.Command {
	var flags serverFlags
	s := &session{Streams: streams}
	flags.add(cmd)
	jsonFlag(cmd, &s.json)
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		c, err := flags.connect(streams.Now, timeout)
		if err != nil {
			return err
		}
		defer c.Close()
		s.Client = c
		return flags.explain(subjectOf(cmd, args), run(cmd.Context(), s, args))
	}
	return cmd
}

// explain marks what the server, or the way to it, has to say about a subject.
func (f *serverFlags) explain(about subject, err error) error {
	said, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return about.explain(err)
	}
	if errors.Is(err, errNoPatience) {
		if first, ok := errors.AsType[*fault.Error](said.Unwrap()); ok {
			said = first
		}
	}
	return &serverError{server: f.server, about: about, said: said, err: err}
}
