package command

import (
	"context"
	"errors"
	"io"
	"iter"
	"os"
	"sync/atomic"
)

// Ahead reads until io.EOF, the next while one is used, and never more than that.
func Ahead[T any](ctx context.Context, read func() (T, error)) iter.Seq2[T, error] {
	type result struct {
		value T
		err   error
	}
	return func(yield func(T, error) bool) {
		ctx, stop := context.WithCancel(ctx)
		defer stop()
		out := make(chan result)
		go func() {
			defer close(out)
			for {
				value, err := read()
				if errors.Is(err, io.EOF) {
					return
				}
				select {
				case out <- result{value, err}:
				case <-ctx.Done():
					return
				}
				if err != nil {
					return
				}
			}
		}()
		for r := range out {
			if !yield(r.value, r.err) {
				return
			}
		}
	}
}

// Input is a file, and how much of it was read.
type Input struct {
	io.ReadCloser
	Size int // -1: it is not known
	read atomic.Int64
}

func (in *Input) Read(p []byte) (int, error) {
	n, err := in.ReadCloser.Read(p)
	in.read.Add(int64(n))
	return n, err
}

// Done is how many bytes of it were read.
func (in *Input) Done() int { return int(in.read.Load()) }

// OpenInput opens a file, or with - standard input.
func (s *Session) OpenInput(file string) (*Input, error) {
	if file == "-" {
		return &Input{ReadCloser: io.NopCloser(s.In), Size: -1}, nil
	}
	f, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	info, err := f.Stat()
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &Input{ReadCloser: f, Size: int(info.Size())}, nil
}
