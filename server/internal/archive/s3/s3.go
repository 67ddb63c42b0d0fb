// Package s3 speaks the S3 protocol to a bucket: objects are put, read, looked at,
// listed and deleted, with requests signed by Signature Version 4. It keeps nothing and
// knows nothing of what is in an object. The time that requests are signed with is a parameter.
//
// No error and no log has a secret key, a session token or a signature in it.
package s3

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/retry"
)

// Options are where a bucket is and who asks.
type Options struct {
	Address string               // s3://BUCKET or s3://BUCKET/PREFIX
	Getenv  func(string) string  // has the settings of AWS's own tools, such as AWS_REGION
	Now     func() time.Time     // the time that requests are signed with
	Retry   func(*retry.Options) // changes how requests are tried again; nil: as in production
}

// Bucket is the objects of a bucket whose keys begin with a prefix, by the rest of their keys.
type Bucket struct {
	at     location
	who    func() (credentials, error)
	now    func() time.Time
	retry  retry.Options
	client *http.Client

	mu     sync.Mutex
	proven bool // the store keeps an object that is there when it is asked to
}

// Open checks an address and that there are credentials. It asks no server: one that is
// away is no reason not to begin.
func Open(o Options) (*Bucket, error) {
	at, err := locate(o.Address, o.Getenv)
	if err != nil {
		return nil, err
	}
	who := findCredentials(o.Getenv)
	if _, err := who(); err != nil {
		return nil, err
	}
	again := retry.NewOptions(retry.Request, classify)
	if o.Retry != nil {
		o.Retry(&again)
	}
	return &Bucket{at: at, who: who, now: o.Now, retry: again, client: newClient()}, nil
}

// String is the bucket's address.
func (b *Bucket) String() string { return b.at.String() }

// Limits of one request. What is sent or received has, beyond patience, the time that it
// takes at a rate that is slow for any network.
const (
	patience = time.Minute
	slowest  = 256 << 10 // bytes per second
)

func timeFor(size int64) time.Duration {
	return patience + time.Duration(max(size, 0)/slowest)*time.Second
}

func newClient() *http.Client {
	return &http.Client{
		Transport: &http.Transport{
			Proxy:                 http.ProxyFromEnvironment,
			DialContext:           (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext,
			TLSHandshakeTimeout:   10 * time.Second,
			ResponseHeaderTimeout: patience,
			IdleConnTimeout:       patience,
			MaxIdleConnsPerHost:   4,
			DisableCompression:    true, // a checksum is one of what was stored
			ForceAttemptHTTP2:     true,
		},
		// A redirect names another region, which is a setting: a signature is for one host.
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// body is what a request sends, again for every attempt.
type body struct {
	from   io.ReaderAt
	size   int64
	sha256 []byte
}

// call is one request.
type call struct {
	method string
	name   string // of the object; empty: the bucket itself
	query  [][2]string
	header http.Header
	body   *body
}

// ask makes a request until it succeeds or cannot, and hands its answer to read, whose
// errors are those of a connection that broke.
func (b *Bucket) ask(ctx context.Context, c call, read func(*http.Response) error) error {
	err := retry.Do(ctx, b.retry, func(ctx context.Context) error { return b.try(ctx, c, read) })
	switch gave := (*retry.Error)(nil); {
	case !errors.As(err, &gave) || gave.Verdict == retry.Cancelled:
		return err
	case gave.Attempts > 1:
		return fmt.Errorf("%w (tried %d times)", gave.Err, gave.Attempts)
	default:
		return gave.Err
	}
}

// try makes a request once.
func (b *Bucket) try(ctx context.Context, c call, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	request, err := b.request(ctx, c)
	if err != nil {
		return err
	}
	limit := time.AfterFunc(timeFor(request.ContentLength), func() { cancel(errTooSlow) })
	defer limit.Stop()
	answer, err := b.client.Do(request)
	if err != nil {
		return b.broken(context.Cause(ctx), err)
	}
	defer func() { _ = answer.Body.Close() }()
	if answer.StatusCode >= http.StatusMultipleChoices {
		return b.explain(request, c.name, answer)
	}
	limit.Reset(timeFor(answer.ContentLength))
	if err := read(answer); err != nil {
		return b.broken(context.Cause(ctx), err)
	}
	return nil
}
