package conformance

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"os"
	"os/exec"
	"sync"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// A crash is proven with a child process: the test binary runs once more, finds
// in its environment what to write to, and calls [Victim]; its parent calls
// [Outlive], and holds what is left to the journal with [Survived].

// Hands is how many goroutines of a victim write at once.
const Hands = 4

// journalFile is the child's end of the pipe to its parent: the first file after
// the standard ones.
const journalFile = 3

// Victim writes to a store, from several goroutines and at random, until it is
// killed or the store fails, and reports to its parent in a journal. It does not
// outlive its parent.
func Victim(t TB, s Store) error {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	d := NewDriver(t, s)
	d.Journal(Journal(end))
	errs := make([]error, Hands)
	var all sync.WaitGroup
	for hand := range errs {
		all.Go(func() { errs[hand] = d.Churn(ctx, rand.Uint64(), math.MaxInt) })
	}
	all.Wait()
	return errors.Join(errs...)
}

// Journal is the pipe of a victim to its parent, which ends the victim when the parent is gone.
func Journal(end context.CancelFunc) io.Writer {
	return lifeline{os.NewFile(journalFile, "journal"), end}
}

// lifeline is a pipe to the parent that ends the victim when the parent is gone.
type lifeline struct {
	io.Writer
	end context.CancelFunc
}

func (l lifeline) Write(p []byte) (int, error) {
	n, err := l.Writer.Write(p)
	if err != nil {
		l.end()
	}
	return n, err
}

// Outlive starts this test in a child process with an addition to its
// environment, strikes once the child has written so many bytes of its journal,
// and returns all of the journal when the child is dead. A strike that leaves
// the child alive must make it fail.
func Outlive(t TB, name, environment string, after int64, strike func(child *os.Process) error) (*bytes.Buffer, error) {
	t.Helper()
	journal, end, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	defer func() { _ = journal.Close() }()
	said := &bytes.Buffer{}
	child := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^"+name+"$", "-test.count=1")
	child.Env = append(os.Environ(), environment)
	child.ExtraFiles, child.Stdout, child.Stderr = []*os.File{end}, said, said
	err = child.Start()
	if err := errors.Join(err, end.Close()); err != nil {
		return nil, err
	}
	written := &bytes.Buffer{}
	if _, err := io.CopyN(written, journal, after); err != nil {
		return nil, fmt.Errorf("the child ended by itself: %w, %w: %s", err, child.Wait(), said)
	}
	err = strike(child.Process)
	if _, rest := io.Copy(written, journal); rest != nil {
		return nil, errors.Join(err, rest)
	}
	if child.Wait() == nil {
		return nil, errors.New("the child has noticed nothing")
	}
	return written, err
}

// Moment returns a moment to strike, in bytes of a journal: a decision is about
// a thousand.
func Moment() int64 { return 1 + rand.Int64N(200_000) }

// Survived holds a store to the journal of a victim: whatever was acknowledged
// is there, and nothing is half there. It returns how many errors there are.
func Survived(t TB, s Store, journal io.Reader) int {
	t.Helper()
	d := NewDriver(t, s)
	d.Recover(journal)
	d.Check()
	return len(d.Known())
}

// untilFree tries again as long as a lock could not be had.
func untilFree(run func() error) error {
	for {
		if err := run(); !errors.Is(err, store.ErrBusy) {
			return err
		}
	}
}
