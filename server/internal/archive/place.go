package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive/s3"
)

// Place is where files are kept. Whoever reads it sees a file whole or not at all.
type Place interface {
	fmt.Stringer

	// Scratch makes a file to write to, which is not in the place until Put gives it a
	// name. Whoever made it removes what is left.
	Scratch(now time.Time) (*os.File, error)

	// Put keeps what is in a scratch file under a name, whole and to stay, or not at all.
	// A name is given once: where there is another file, it stays, and Put returns
	// ErrExists. The same file once more is no error.
	Put(ctx context.Context, name string, scratch *os.File) error

	// Verify returns os.ErrNotExist if a file is not there, and ErrChecksum if it has
	// another size or SHA-256, in hexadecimal.
	Verify(ctx context.Context, name string, size int64, sum string) error

	// Open opens a file. It returns os.ErrNotExist if there is none, and ErrChecksum if it has
	// more than limit bytes: a bucket copies it to this machine, at most that many bytes.
	Open(ctx context.Context, name string, limit int64) (File, error)

	List(ctx context.Context, begin string) ([]string, error) // the names that begin so, sorted
	Remove(ctx context.Context, name string) error            // one that is not there is removed
}

// File is a file of a place that is read.
type File interface {
	io.ReadSeekCloser
	io.ReaderAt
}

// ErrExists is returned for a name that another file has.
var ErrExists = errors.New("another node has written a file of that name")

// PlaceOptions say which place is opened, and with what.
type PlaceOptions struct {
	Address string              // a folder, or s3://BUCKET/PREFIX
	Create  bool                // a folder that is not there is made
	Getenv  func(string) string // has the settings of an object store
	Now     func() time.Time    // the time that requests to it are signed with
}

// OpenPlace opens a folder or a bucket. A bucket is not asked whether it is there.
func OpenPlace(o PlaceOptions) (Place, error) {
	if !strings.HasPrefix(o.Address, s3.Scheme) {
		return OpenFolder(o.Address, o.Create)
	}
	b, err := s3.Open(s3.Options{Address: o.Address, Getenv: o.Getenv, Now: o.Now})
	if err != nil {
		return nil, err
	}
	return &bucket{b}, nil
}

// ignoreMissing takes what is not there for removed.
func ignoreMissing(err error) error {
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	return err
}

// verify compares a file that is read with its size and checksum.
func verifySum(file io.ReadSeeker, size int64, sum string) error {
	got, n, err := digest(file)
	if err == nil && (got != sum || n != size) {
		err = fmt.Errorf("%w (%d bytes with SHA-256 %.12s…, not %d with %.12s…)", ErrChecksum, n, got, size, sum)
	}
	return err
}
