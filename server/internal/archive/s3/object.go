package s3

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// MaxSize is the largest object that one request may put.
const MaxSize = 5 << 30

// Info is what a store says of an object.
type Info struct {
	Size   int64
	SHA256 string // hexadecimal; empty: the store has not kept it
}

// request makes a signed request.
func (b *Bucket) request(ctx context.Context, c call) (*http.Request, error) {
	who, err := b.who()
	if err != nil {
		return nil, err
	}
	key := ""
	if c.name != "" {
		key = b.at.prefix + c.name
	}
	u := *b.at.endpoint
	u.Path = b.at.path(key)
	u.RawPath, u.RawQuery = escape(u.Path, true), escapeQuery(c.query)
	r, err := http.NewRequestWithContext(ctx, c.method, u.String(), nil)
	if err != nil {
		return nil, err
	}
	for name, list := range c.header {
		r.Header[name] = list
	}
	payload := emptySum[:]
	if c.body != nil {
		payload = c.body.sha256
		r.ContentLength = c.body.size
		if r.Body = http.NoBody; c.body.size > 0 {
			r.Body = io.NopCloser(io.NewSectionReader(c.body.from, 0, c.body.size))
		}
	}
	sign(r, who, b.at.region, payload, b.now())
	return r, nil
}

var emptySum = sha256.Sum256(nil)

// Put stores a new object of which size bytes are read and whose checksum is given in
// hexadecimal. An object appears whole or not at all; one of that name that is there
// already stays, and is ErrExists, unless it is the same. What is stored is then compared.
func (b *Bucket) Put(ctx context.Context, name string, from io.ReaderAt, size int64, sum string) error {
	if size > MaxSize {
		return fmt.Errorf("%s has %d bytes: an object that is put with one request has at most %d", name, size, int64(MaxSize))
	}
	if err := b.prove(ctx); err != nil {
		return err
	}
	raw, err := hex.DecodeString(sum)
	if err != nil {
		return err
	}
	put := b.put(ctx, name, &body{from, size, raw})
	if put != nil && !errors.Is(put, ErrExists) {
		return put
	}
	// An attempt whose answer was lost may have stored it, and the next one finds it there.
	err = b.Verify(ctx, name, size, sum)
	if put != nil && errors.Is(err, ErrDiffers) {
		return put
	}
	return err
}

const (
	headerChecksum = "X-Amz-Checksum-Sha256"
	headerIfNone   = "If-None-Match"
)

// put stores an object unless there is one.
func (b *Bucket) put(ctx context.Context, name string, what *body) error {
	header := http.Header{headerChecksum: {base64.StdEncoding.EncodeToString(what.sha256)}, headerIfNone: {"*"}}
	return b.ask(ctx, call{method: http.MethodPut, name: name, header: header, body: what}, nothing)
}

func nothing(*http.Response) error { return nil }

// probe is an object that is put twice.
const probe = ".recoup-probe"

// prove finds out, once, whether the store refuses to overwrite an object: old ones ignore
// what they were asked, and say that all went well.
func (b *Bucket) prove(ctx context.Context) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.proven {
		return nil
	}
	var err error
	for try := 0; try < 2 && err == nil; try++ {
		err = b.put(ctx, probe, &body{sha256: emptySum[:]})
	}
	if b.proven = errors.Is(err, ErrExists); b.proven {
		return b.Delete(ctx, probe)
	}
	if err == nil {
		err = &Error{Bucket: b.String(), Endpoint: b.at.endpoint.String(), Err: errUnconditional}
	}
	return err
}

// Verify compares an object with its size and checksum: by what the store has kept of it,
// and where it keeps no checksum by reading it.
func (b *Bucket) Verify(ctx context.Context, name string, size int64, sum string) error {
	info, err := b.Head(ctx, name)
	if err != nil {
		return err
	}
	if info.Size == size && info.SHA256 == "" {
		hash := sha256.New()
		if err := b.Get(ctx, name, size, hash); err != nil {
			return err
		}
		info.SHA256 = hex.EncodeToString(hash.Sum(nil))
	}
	if info.Size != size || info.SHA256 != sum {
		return fmt.Errorf("%s/%s: %w: %d bytes with SHA-256 %.12s…, not %d with %.12s…", b, name, ErrDiffers, info.Size, info.SHA256, size, sum)
	}
	return nil
}

// Head returns the size and the checksum of an object, or ErrNotExist of package os.
func (b *Bucket) Head(ctx context.Context, name string) (info Info, err error) {
	head := call{method: http.MethodHead, name: name, header: http.Header{"X-Amz-Checksum-Mode": {"ENABLED"}}}
	err = b.ask(ctx, head, func(answer *http.Response) error {
		info.Size = answer.ContentLength
		// Of an object in parts it is the checksum of theirs, with a hyphen and their number.
		if raw, err := base64.StdEncoding.DecodeString(answer.Header.Get(headerChecksum)); err == nil && len(raw) == sha256.Size {
			info.SHA256 = hex.EncodeToString(raw)
		}
		return nil
	})
	return info, err
}

// Get reads an object, or returns ErrNotExist of package os. An object of more than limit bytes
// is ErrTooLarge, and at most limit bytes of it are written. What was written of an attempt that
// broke is taken back if to can: Reset and Truncate are asked for.
func (b *Bucket) Get(ctx context.Context, name string, limit int64, to io.Writer) error {
	large := false // which is not tried again
	err := b.ask(ctx, call{method: http.MethodGet, name: name}, func(answer *http.Response) error {
		if err := rewind(to); err != nil {
			return err
		}
		if large = answer.ContentLength > limit; large {
			return nil
		}
		n, err := io.Copy(to, io.LimitReader(answer.Body, limit))
		if err == nil && answer.ContentLength >= 0 && n != answer.ContentLength {
			err = io.ErrUnexpectedEOF
		}
		if err == nil && n == limit { // a store that announces no length may send more
			more, _ := io.CopyN(io.Discard, answer.Body, 1)
			large = more > 0
		}
		return err
	})
	if err == nil && large {
		err = fmt.Errorf("%s/%s: %w: more than %d bytes", b, name, ErrTooLarge, limit)
	}
	return err
}

// rewind has a writer forget what was written to it.
func rewind(to io.Writer) error {
	switch to := to.(type) {
	case interface{ Reset() }:
		to.Reset()
	case interface {
		io.Seeker
		Truncate(size int64) error
	}:
		_, err := to.Seek(0, io.SeekStart)
		return errors.Join(err, to.Truncate(0))
	}
	return nil
}

// Delete removes an object. One that is not there is removed.
func (b *Bucket) Delete(ctx context.Context, name string) error {
	return b.ask(ctx, call{method: http.MethodDelete, name: name}, nothing)
}

// listed is a page of a list. Its names are encoded as in an address, if the store does
// as it is asked: some characters cannot be written in XML.
type listed struct {
	XMLName               xml.Name `xml:"ListBucketResult"`
	EncodingType          string
	IsTruncated           bool
	NextContinuationToken string
	Contents              []struct{ Key string }
}

// List names the objects that begin with a text, sorted, without those that have a slash
// in the rest of their names.
func (b *Bucket) List(ctx context.Context, begin string) ([]string, error) {
	var names []string
	for token := ""; ; {
		page, err := b.page(ctx, begin, token)
		if err != nil {
			return nil, err
		}
		more, err := b.names(&page)
		if err != nil {
			return nil, err
		}
		names = append(names, more...)
		if !page.IsTruncated {
			return names, nil
		}
		if next := page.NextContinuationToken; next == "" || next == token || len(names) > maxNames {
			return nil, fmt.Errorf("%s lists %d objects below %q and says that there are more, but not how to go on: the store does not speak version 2 of the list", b, len(names), begin)
		}
		token = page.NextContinuationToken
	}
}

// names are those of a page, without the prefix.
func (b *Bucket) names(page *listed) (names []string, err error) {
	for _, object := range page.Contents {
		key := object.Key
		if page.EncodingType == "url" {
			if key, err = url.QueryUnescape(key); err != nil {
				return nil, fmt.Errorf("%s lists the name %q: %w", b, object.Key, err)
			}
		}
		if name, found := strings.CutPrefix(key, b.at.prefix); found && name != "" {
			names = append(names, name)
		}
	}
	return names, nil
}

// maxNames is where a list is taken for endless: a day has a handful of objects.
const maxNames = 1_000_000

// maxPage is the most that is read of a page: a thousand names of a thousand bytes, thrice.
const maxPage = 8 << 20

func (b *Bucket) page(ctx context.Context, begin, token string) (page listed, err error) {
	query := [][2]string{{"list-type", "2"}, {"prefix", b.at.prefix + begin}, {"delimiter", "/"}, {"encoding-type", "url"}, {"max-keys", strconv.Itoa(pageSize)}}
	if token != "" {
		query = append(query, [2]string{"continuation-token", token})
	}
	err = b.ask(ctx, call{method: http.MethodGet, query: query}, func(answer *http.Response) error {
		page = listed{}
		return xml.NewDecoder(io.LimitReader(answer.Body, maxPage)).Decode(&page)
	})
	return page, err
}

// pageSize is how many names a page has: the most that the protocol allows.
const pageSize = 1000
