package client

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// Options configure a [Client]. Server is required; all else has a default.
type Options struct {
	Server string // where the server is: "https://recoup.example.com"
	Key    string // an API key; none is needed where the server asks for none

	// Service and Region are put on reports, events and counts that name none.
	Service string
	Region  string

	// CAFile is a PEM file with authorities to trust beside the machine's, for a server whose
	// certificate is signed by a private one, or by itself.
	CAFile string

	HTTP      *http.Client    // redirects are never followed: they would carry the key elsewhere
	NoRetry   bool            // every call returns its first failure, as with the option NoRetry
	Timeout   time.Duration   // of one attempt, the wait of a claim not included; default 30 s
	MaxAnswer int64           // bytes of an answer; default 16 MiB
	UserAgent string          // default "recoup-client"
	Registry  *fault.Registry // default fault.Default, for programs with codes of their own

	// Trace returns the W3C traceparent that calls made under a context carry;
	// empty: none. By default it continues the trace of the request that fault's
	// middleware is serving.
	Trace func(context.Context) string

	// Observe is called after every attempt, retries included.
	Observe func(retry.Attempt)

	Now    func() time.Time                           // default time.Now
	Sleep  func(context.Context, time.Duration) error // between the attempts of a call; default retry.Sleep
	Random io.Reader                                  // default crypto/rand.Reader
}

// The variables that [FromEnv] reads.
const (
	EnvServer = "RECOUP_SERVER"
	EnvKey    = "RECOUP_KEY"
	EnvCAFile = "RECOUP_CA_FILE"
)

// FromEnv returns options with the server, the key and the authorities of the environment,
// which getenv reads: os.Getenv in production.
func FromEnv(getenv func(string) string) Options {
	return Options{Server: getenv(EnvServer), Key: getenv(EnvKey), CAFile: getenv(EnvCAFile)}
}

func (o Options) withDefaults() Options {
	if o.HTTP == nil {
		o.HTTP = &http.Client{Transport: transport()}
	}
	if o.Timeout == 0 {
		o.Timeout = 30 * time.Second
	}
	if o.MaxAnswer == 0 {
		o.MaxAnswer = 16 << 20
	}
	if o.UserAgent == "" {
		o.UserAgent = "recoup-client"
	}
	if o.Registry == nil {
		o.Registry = fault.Default()
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Sleep == nil {
		o.Sleep = retry.Sleep
	}
	if o.Random == nil {
		o.Random = rand.Reader
	}
	return o
}

// transport is the standard one, with connections kept for as many calls as a
// busy worker has at once.
func transport() http.RoundTripper {
	standard, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return http.DefaultTransport // the program has put its own in its place
	}
	own := standard.Clone()
	own.MaxIdleConnsPerHost = 32
	return own
}

func (o Options) validate() error {
	server, err := url.Parse(o.Server)
	switch {
	case o.Server == "":
		return errors.New("client: no server: set Options.Server, or " + EnvServer)
	case err != nil, server.Scheme != "http" && server.Scheme != "https", server.Host == "":
		return errors.New("client: the server must be an address such as https://recoup.example.com")
	case server.User != nil || server.RawQuery != "" || server.Fragment != "":
		return errors.New("client: the server's address must have no user, query or fragment; a key belongs into Options.Key")
	case strings.ContainsFunc(o.Key, func(r rune) bool { return r <= ' ' || r > '~' }):
		return errors.New("client: the key has characters that no key has; is there a line break behind it?")
	case o.Timeout < 0 || o.MaxAnswer < 0:
		return fmt.Errorf("client: the timeout %v and the %d bytes of an answer must not be negative", o.Timeout, o.MaxAnswer)
	}
	return nil
}

// Client calls a server. The calls that every program needs are its methods; all others are
// methods of its services. It is safe for concurrent use. [New] makes one.
type Client struct {
	Errors           ErrorService           // reads errors and acts on them
	Retries          RetryService           // claims errors that are due and takes the results
	Work             WorkService            // submits and claims staged work
	DeadLetters      DeadLetterService      // reads dead letters and takes them through their workflow
	DeadLetterGroups DeadLetterGroupService // does the same for a group
	Replays          ReplayService          // sends many dead letters back to work
	Operations       OperationService       // acts on many errors, in the background
	ErrorGroups      ErrorGroupService      // reads groups of errors with the same cause
	Events           EventService           // reads the ledger and its counts
	Codes            CodeService            // reads the registry of codes and adds to it
	Providers        ProviderService        // says which provider of a group is in use
	GateZero         GateZeroService        // takes candidates in, and verifies them

	o    Options
	base string
	http *http.Client
	ids  *recoup.IDSource
}

// New checks the options and reads the file of authorities. It makes no request.
func New(o Options) (*Client, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	o = o.withDefaults()
	o.Random = &sharedReader{r: o.Random}
	c := &Client{o: o, base: strings.TrimRight(o.Server, "/"), ids: recoup.NewIDSource(o.Random)}
	own := *o.HTTP
	if o.CAFile != "" {
		trusts, err := trusting(o.HTTP, o.CAFile)
		if err != nil {
			return nil, err
		}
		own = *trusts
	}
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	c.http = &own
	if o.Trace == nil {
		c.o.Trace = c.trace
	}
	c.serve()
	c.GateZero = GateZeroService{c}
	return c, nil
}

// Close closes idle connections. Running calls are not affected, and
// the client can still be used.
func (c *Client) Close() { c.http.CloseIdleConnections() }

// trace continues the trace of the request that is being served, if any.
func (c *Client) trace(ctx context.Context) string {
	info, ok := fault.FromContext(ctx)
	if !ok {
		return ""
	}
	var span [8]byte
	if _, err := io.ReadFull(c.o.Random, span[:]); err != nil {
		return ""
	}
	span[0] |= 1 // all zero is no span
	return "00-" + info.TraceID + "-" + hex.EncodeToString(span[:]) + "-01"
}

// random returns a number in [0, 1) for jitter.
func (c *Client) random() float64 {
	var b [8]byte
	if _, err := io.ReadFull(c.o.Random, b[:]); err != nil {
		return 1 // the longest wait is never wrong
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}

// sharedReader lets many goroutines read one source of randomness.
type sharedReader struct {
	mu sync.Mutex
	r  io.Reader
}

func (s *sharedReader) Read(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.r.Read(b)
}
