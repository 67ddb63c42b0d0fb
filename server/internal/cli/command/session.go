package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// DefaultServer is where recoup serve listens unless somebody says otherwise.
const DefaultServer = "http://" + app.DefaultListen

// ServerFlags are how a command finds its server.
type ServerFlags struct{ Server, key, caFile string }

// Add adds the flags. Help is what --server means; empty: the usual.
func (f *ServerFlags) Add(cmd *cobra.Command, help string) {
	cmd.Flags().StringVar(&f.Server, "server", "", cmp.Or(help, "server `URL` ($RECOUP_SERVER; default "+DefaultServer+")"))
	cmd.Flags().StringVar(&f.key, "key", "", "API `KEY` ($RECOUP_KEY is safer: other users can see flags)")
	cmd.Flags().StringVar(&f.caFile, "ca-file", "", "PEM `FILE` with the authority of the server's certificate ($RECOUP_CA_FILE; default: those of this machine)")
}

// Session is a command's talk with a server.
type Session struct {
	*client.Client
	Streams
	Output

	Find Find // by a part of an id
}

// Print writes a value for programs.
func (s *Session) Print(v any) error { return s.print(s.Streams, v) }

// Sayf writes a line of the result.
func (s *Session) Sayf(format string, args ...any) { fmt.Fprintf(s.Out, format+"\n", seen(args)...) }

// Notef writes a line for people, beside the result. On a terminal it is wrapped.
func (s *Session) Notef(format string, args ...any) {
	text := fmt.Sprintf(format, seen(args)...)
	if s.Width > 0 && !s.Machine() {
		text = wrapLines(text, s.Width)
	}
	fmt.Fprintln(s.Err, text)
}

// patience is how long a command waits by itself, in all, to try a request again.
// Longer waits are left to the person or script that called it.
const patience = 5 * time.Second

// errNoPatience ends a call that could be repeated, later or once a server runs.
var errNoPatience = errors.New("not repeated here")

// Connect makes a client, with options that may be changed. It sends nothing yet.
func (f *ServerFlags) Connect(now func() time.Time, timeout time.Duration, change ...func(*client.Options)) (*client.Client, error) {
	options := client.FromEnv(os.Getenv)
	options.Server = cmp.Or(f.Server, options.Server, DefaultServer)
	options.Key = cmp.Or(f.key, options.Key)
	options.CAFile = cmp.Or(f.caFile, options.CAFile)
	options.UserAgent = "recoup/" + app.OwnVersion().Version
	options.Timeout, options.Now = timeout, now
	f.Server = options.Server
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
	for _, do := range change {
		do(&options)
	}
	c, err := client.New(options)
	if err != nil {
		return nil, UsageError{Err: err}
	}
	return c, nil
}

// Dial is the session of a command that has not run, for who completes its arguments.
// Its server is the one that the flags name, or the environment.
func Dial(cmd *cobra.Command, streams Streams) (*Session, error) {
	var f ServerFlags
	for name, to := range map[string]*string{"server": &f.Server, "key": &f.key, "ca-file": &f.caFile} {
		if flag := cmd.Flags().Lookup(name); flag != nil {
			*to = flag.Value.String()
		}
	}
	c, err := f.Connect(streams.Now, 0)
	return &Session{Client: c, Streams: streams}, err
}

// Run is what a command does.
type Run func(ctx context.Context, s *Session, args []string) error

// Runner makes cmd a command that does run, with what that needs: a server, or a
// database. Forms are those of its output.
type Runner func(streams Streams, cmd *cobra.Command, forms Forms, run Run) *cobra.Command

// OnServer is the [Runner] of commands that talk to a server.
func OnServer(streams Streams, cmd *cobra.Command, forms Forms, run Run) *cobra.Command {
	return Slow(0)(streams, cmd, forms, run)
}

// Slow is [OnServer] for calls that may take longer than others.
func Slow(timeout time.Duration) Runner {
	return func(streams Streams, cmd *cobra.Command, forms Forms, run Run) *cobra.Command {
		var flags ServerFlags
		s := &Session{Streams: streams}
		flags.Add(cmd, "")
		s.Flags(cmd, forms)
		cmd.RunE = func(cmd *cobra.Command, args []string) error {
			c, err := flags.Connect(streams.Now, timeout)
			if err != nil {
				return err
			}
			defer c.Close()
			s.Client = c
			s.Find = func(kind recoup.IDKind, part string) (wire.FoundIDs, error) {
				return admin.New(c).System.FindIDs(cmd.Context(), kind, part)
			}
			return flags.Explain(cmd, args, run(cmd.Context(), s, args))
		}
		return cmd
	}
}

// Offline is the [Runner] of commands that need nobody.
func Offline(streams Streams, cmd *cobra.Command, forms Forms, run Run) *cobra.Command {
	s := &Session{Streams: streams}
	s.Flags(cmd, forms)
	cmd.RunE = func(cmd *cobra.Command, args []string) error { return run(cmd.Context(), s, args) }
	return cmd
}

// Explain completes what the server, or the way to it, has to say about a command
// and its arguments.
func (f *ServerFlags) Explain(cmd *cobra.Command, args []string, err error) error {
	about := subjectOf(cmd, args)
	said, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return about.explain(err)
	}
	if errors.Is(err, errNoPatience) {
		if first, ok := errors.AsType[*fault.Error](said.Unwrap()); ok {
			said = first
		}
	}
	return &serverError{server: f.Server, about: about, said: said, err: err}
}
