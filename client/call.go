package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// safety says what repeating a request can do.
type safety int

const (
	harmless safety = iota // it changes nothing, or is idempotent
	keyed                  // its idempotency key makes it idempotent
	once                   // the server would do it again
)

// request is one call of the API, however often it is sent.
type request struct {
	method, path string
	query        url.Values
	body         any         // sent as JSON; a payload as it is
	header       http.Header // beside what every request has
	safety       safety
	wait         time.Duration // how long the server may wait before it answers

	key   string // idempotency key
	id    string // request id
	tries int    // 1: it is not repeated; 0: as often as its failure allows
}

// payload is a body that is not JSON.
type payload struct {
	media string
	data  []byte
}

// CallOption changes one call.
type CallOption func(*request)

// IdempotencyKey makes the server recognise a call that a program makes again,
// even after a restart: the same key with the same content is answered as it was
// the first time. Without it, a call recognises only its own retries.
func IdempotencyKey(key string) CallOption { return func(r *request) { r.key = key } }

// RequestID gives a call the id under which the server logs it, and which its answer
// names; without it every call has one of its own.
func RequestID(id string) CallOption { return func(r *request) { r.id = id } }

// NoRetry returns the first failure.
func NoRetry() CallOption { return func(r *request) { r.tries = 1 } }

// call makes a request and reads its answer. Every error is a *fault.Error.
func call[T any](ctx context.Context, c *Client, r request, options []CallOption) (T, error) {
	var answer T
	if err := c.prepare(&r, options); err != nil {
		return answer, err
	}
	body, media, err := encode(r.body)
	if err != nil {
		return answer, fault.Wrap(err, fault.CodeSchemaInvalid, "The request cannot be written as JSON.")
	}
	work := func(ctx context.Context) error {
		data, err := c.attempt(ctx, &r, body, media)
		if err != nil || data == nil {
			return err
		}
		answer = *new(T)
		if err := json.Unmarshal(data, &answer); err != nil {
			return fault.Wrap(err, fault.CodeSchemaInvalid, "The answer of the server cannot be read.")
		}
		return nil
	}
	if r.tries == 1 || c.o.NoRetry {
		err = work(ctx)
	} else {
		err = retry.Do(ctx, c.retrying(&r), work)
	}
	if err != nil {
		return *new(T), c.failure(err)
	}
	return answer, nil
}

// prepare applies the options and gives the call its ids, once, so that every
// attempt has the same.
func (c *Client) prepare(r *request, options []CallOption) error {
	for _, option := range options {
		option(r)
	}
	if strings.Contains(r.path+"/", "//") {
		return fault.BadField("path", "required", "an id, an entity or a code is missing")
	}
	now := c.o.Now()
	if r.id == "" {
		r.id = c.ids.New(now).String()
	}
	if r.key == "" && r.safety == keyed {
		r.key = c.ids.New(now).String()
	}
	return nil
}

func encode(body any) (data []byte, media string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case payload:
		return b.data, b.media, nil
	}
	data, err = json.Marshal(body)
	return data, "application/json", err
}

// retrying is how this call is repeated: as the registry says of each code, and
// only where that is safe.
func (c *Client) retrying(r *request) retry.Options {
	proven := recoup.ConditionIdempotencyKey
	if r.safety == once && r.key == "" {
		proven = fault.NotIdempotent()
	}
	return retry.Options{
		Policy: c.o.Registry.Policy, Classify: c.o.Registry.Classifier(proven), Observe: c.o.Observe,
		Now: c.o.Now, Sleep: c.o.Sleep, Random: c.random,
	}
}

// attempt sends the request once and returns the body of a good answer, nil if
// it has none.
func (c *Client) attempt(ctx context.Context, r *request, body []byte, media string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout+r.wait)
	defer cancel()
	req, err := c.build(ctx, r, body, media)
	if err != nil {
		return nil, fault.Wrap(err, fault.CodeConfigurationError, "The request cannot be made.")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, err
	}
	defer func() { _ = resp.Body.Close() }() // there is nothing left to lose
	if failure := c.o.Registry.Decode(resp); failure != nil {
		return nil, failure
	}
	switch {
	case resp.StatusCode >= 300:
		return nil, fault.New(fault.CodeConfigurationError, "The server redirects (status %d), which is not followed: check its address.", resp.StatusCode)
	case resp.StatusCode == http.StatusNoContent:
		return nil, nil
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, c.o.MaxAnswer+1))
	switch {
	case err != nil:
		return nil, err
	case int64(len(data)) > c.o.MaxAnswer:
		return nil, fault.New(fault.CodePayloadTooLarge, "The answer has more than %d bytes.", c.o.MaxAnswer)
	}
	return data, nil
}

func (c *Client) build(ctx context.Context, r *request, body []byte, media string) (*http.Request, error) {
	target := c.base + r.path
	if len(r.query) > 0 {
		target += "?" + r.query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.header {
		req.Header[name] = values
	}
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	set("Content-Type", media)
	set("Accept", "application/json")
	set("User-Agent", c.o.UserAgent)
	set("Idempotency-Key", r.key)
	set(fault.RequestIDHeader, r.id)
	set("Traceparent", c.o.Trace(ctx))
	if c.o.Key != "" {
		set("Authorization", "Bearer "+c.o.Key)
	}
	return req, nil
}

// failure turns what ended a call into an error of the contract: what the server
// said last, what the network did, or that the caller gave up.
func (c *Client) failure(err error) *fault.Error {
	gaveUp, repeated := errors.AsType[*retry.Error](err)
	cancelled := repeated && gaveUp.Verdict == retry.Cancelled
	switch last, said := errors.AsType[*fault.Error](err); {
	case said && !cancelled:
		return last
	case said:
		return c.o.Registry.Classify(err).Wrap(err, "The caller gave up before the call succeeded.")
	}
	return c.o.Registry.From(err)
}

// get reads something.
func get[T any](ctx context.Context, c *Client, path string, query url.Values, options []CallOption) (T, error) {
	return call[T](ctx, c, request{method: http.MethodGet, path: path, query: query}, options)
}
