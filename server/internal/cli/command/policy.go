package command

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// PolicyFlags are how a command chooses the policy that it reads: a file, the one in
// force on a server, or the built-in one.
type PolicyFlags struct {
	Argument string // a file that is an argument of the command

	Policy *policy.Policy
	Name   string // what messages call it

	file   string
	server ServerFlags
}

// Add adds the flags.
func (f *PolicyFlags) Add(cmd *cobra.Command) {
	cmd.Flags().StringVar(&f.file, "policy", "", "policy `FILE` ($RECOUP_POLICY; default: the built-in policy)")
	f.server.Add(cmd, "read the policy in force on the server `URL` ($RECOUP_SERVER)")
}

// Offline is a [Runner] that reads the chosen policy first.
func (f *PolicyFlags) Offline(streams Streams, cmd *cobra.Command, forms Forms, run Run) *cobra.Command {
	f.Add(cmd)
	return Offline(streams, cmd, forms, func(ctx context.Context, s *Session, args []string) error {
		if err := f.Load(ctx, s, cmd, args); err != nil {
			return err
		}
		return run(ctx, s, args)
	})
}

// Load reads the chosen policy, for a command and its arguments.
func (f *PolicyFlags) Load(ctx context.Context, s *Session, cmd *cobra.Command, args []string) error {
	if err := f.load(ctx, s); err != nil {
		return f.server.Explain(cmd, args, err)
	}
	return nil
}

// Given is the file that --policy names.
func (f *PolicyFlags) Given() string { return f.file }

// chosen returns the policy file and what named it, or nothing for the policy of a
// server or the built-in one. What a flag says counts before what the environment does:
// a file that is named is read without a server, unless one is named as well.
func (f *PolicyFlags) chosen() (file, by string) {
	switch {
	case f.Argument != "":
		return f.Argument, "the argument"
	case f.file != "":
		return f.file, "--policy"
	}
	f.server.Server = cmp.Or(f.server.Server, os.Getenv("RECOUP_SERVER"))
	if f.server.Server != "" {
		return "", ""
	}
	return os.Getenv("RECOUP_POLICY"), "$RECOUP_POLICY"
}

func (f *PolicyFlags) load(ctx context.Context, s *Session) error {
	file, by := f.chosen()
	if f.server.Server != "" {
		return f.ask(ctx, s, file, by)
	}
	if file == "" {
		f.Policy, f.Name = policy.Default(), policy.DefaultName
		return nil
	}
	return f.Read(s.Streams, file, by, fault.Default())
}

// Read reads a policy file. What is wrong with it is printed line by line, so that
// editors can jump there.
func (f *PolicyFlags) Read(streams Streams, file, by string, codes *fault.Registry) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return fmt.Errorf("cannot read the policy: %w (given by %s)", err, by)
	}
	f.Policy, err = policy.Load(file, data, codes)
	f.Name = filepath.Base(file)
	var refused *policy.LoadError
	if errors.As(err, &refused) {
		fmt.Fprintln(streams.Err, refused)
		fmt.Fprintf(streams.Err, "\n%s is invalid: %s (given by %s).\n", filepath.Base(file), Count(len(refused.Problems), "problem"), by)
		return ErrSilent
	}
	return err
}

// ask reads the policy in force on a server, or a file by the codes that the server knows.
func (f *PolicyFlags) ask(ctx context.Context, s *Session, file, by string) error {
	c, err := f.server.Connect(s.Now, 0)
	if err != nil {
		return err
	}
	defer c.Close()
	own, err := c.Codes.List(ctx)
	if err != nil {
		return err
	}
	codes, err := fault.Default().Replace(notShipped(own)...)
	if err != nil {
		return fmt.Errorf("the codes of %s: %w", f.server.Server, err)
	}
	if file != "" {
		return f.Read(s.Streams, file, by, codes)
	}
	current, err := admin.New(c).Policy.Current(ctx)
	if err != nil {
		return err
	}
	f.Name = fmt.Sprintf("policy %s, in force on %s", current.Version, f.server.Server)
	f.Policy, err = policy.Load(current.Version, []byte(current.Text), codes)
	s.Notef("Read: %s.\n", f.Name)
	return err
}

func notShipped(defs []fault.Definition) (own []fault.Definition) {
	for i := range defs {
		if _, shipped := fault.Default().Lookup(defs[i].Code); !shipped {
			own = append(own, defs[i])
		}
	}
	return own
}
