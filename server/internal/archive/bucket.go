package archive

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/recoup-dev/recoup/server/internal/archive/s3"
)

// bucket is the place that is a bucket of an object store. An object appears whole, so
// that nothing has another name before; what is written and read goes through files
// without a name on this machine, which are gone with the process.
type bucket struct{ *s3.Bucket }

// Scratch makes a file of this machine.
func (bucket) Scratch(time.Time) (*os.File, error) {
	file, err := os.CreateTemp("", prefix+"*"+extPart)
	if err != nil {
		return nil, err
	}
	if err := os.Remove(file.Name()); err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Put stores an object and compares what is stored with the file.
func (b bucket) Put(ctx context.Context, name string, scratch *os.File) error {
	sum, size, err := digest(scratch)
	if err != nil {
		return err
	}
	err = b.Bucket.Put(ctx, name, scratch, size, sum)
	if errors.Is(err, s3.ErrExists) {
		return fmt.Errorf("%s/%s: %w", b, name, ErrExists)
	}
	return translate(err)
}

// Verify compares an object with a checksum.
func (b bucket) Verify(ctx context.Context, name string, size int64, sum string) error {
	return translate(b.Bucket.Verify(ctx, name, size, sum))
}

func translate(err error) error {
	if errors.Is(err, s3.ErrDiffers) || errors.Is(err, s3.ErrTooLarge) {
		return fmt.Errorf("%w: %w", ErrChecksum, err)
	}
	return err
}

// Open copies an object to this machine, so that what is read is what was compared with
// its checksum.
func (b bucket) Open(ctx context.Context, name string, limit int64) (File, error) {
	file, err := b.Scratch(time.Time{})
	if err != nil {
		return nil, err
	}
	err = translate(b.Get(ctx, name, limit, file))
	if err == nil {
		_, err = file.Seek(0, io.SeekStart)
	}
	if err != nil {
		return nil, errors.Join(err, file.Close())
	}
	return file, nil
}

// Remove deletes an object.
func (b bucket) Remove(ctx context.Context, name string) error { return b.Delete(ctx, name) }
