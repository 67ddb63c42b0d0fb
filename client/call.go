package client

import (
	"bytes"
	"cmp"
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

// Safety says what repeating a request can do.
type Safety int

// What repeating a request can do. The client repeats a request only where that is safe.
const (
	SafetyOfMethod  Safety = iota // POST and PATCH: [NotIdempotent]; all others: [Idempotent]
	Idempotent                    // the request changes nothing, or a repetition changes nothing more
	IdempotentByKey               // the server recognises a repetition by its idempotency key
	NotIdempotent                 // the server would do it again
)

// Request is one call of the HTTP API, for [Client.Do].
type Request struct {
	Method string // default GET
	Path   string // "/v1/errors"; escape what you put into it with url.PathEscape
	Query  url.Values
	Header http.Header // beside the headers that every request has
	Body   any         // sent as JSON; a [RawBody] as it is; nil: none
	Safety Safety

	// Wait is how long the server may wait before it answers, beside the timeout of the client.
	Wait time.Duration
}

// RawBody is the body of a request that is not JSON.
type RawBody struct {
	Media string // such as text/csv
	Data  []byte
}

// invocation is one request with its ids, however often it is sent.
type invocation struct {
	Request
	key   string // idempotency key
	id    string // request id
	tries int    // 1: it is not repeated; 0: as often as its failure allows
}

// CallOption changes one call.
type CallOption func(*invocation)

// IdempotencyKey makes the server recognise a call that a program makes again,
// even after a restart: the same key with the same content is answered as it was
// the first time. Without it, a call recognises only its own retries.
func IdempotencyKey(key string) CallOption { return func(r *invocation) { r.key = key } }

// RequestID gives a call the id under which the server logs it, and which its answer
// names; without it every call has one of its own.
func RequestID(id string) CallOption { return func(r *invocation) { r.id = id } }

// NoRetry returns the first failure.
func NoRetry() CallOption { return func(r *invocation) { r.tries = 1 } }

// Do makes a call for which the client has no method, with everything that other calls have:
// ids, retries, and failures as a [*fault.Error]. It decodes the JSON of the answer into answer,
// which is a pointer; nil ignores it. An answer without content leaves it as it is.
//
// If answer is a func(*http.Response) error, Do calls it with the answer, to be read as it
// arrives. Such a call is not repeated, and only ctx limits how long it takes.
func (c *Client) Do(ctx context.Context, r Request, answer any, options ...CallOption) error {
	in := &invocation{Request: r}
	if err := c.prepare(in, options); err != nil {
		return err
	}
	body, media, err := encode(in.Body)
	if err != nil {
		return fault.Wrap(err, fault.CodeSchemaInvalid, "The request cannot be written as JSON.")
	}
	if read, ok := answer.(func(*http.Response) error); ok {
		if err := c.follow(ctx, in, body, media, read); err != nil {
			return c.failure(err)
		}
		return nil
	}
	work := func(ctx context.Context) error {
		data, err := c.attempt(ctx, in, body, media)
		if err != nil || data == nil || answer == nil {
			return err
		}
		if err := json.Unmarshal(data, answer); err != nil {
			return fault.Wrap(err, fault.CodeSchemaInvalid, "The answer of the server cannot be read.")
		}
		return nil
	}
	if in.tries == 1 || c.o.NoRetry {
		err = work(ctx)
	} else {
		err = retry.Do(ctx, c.retrying(in), work)
	}
	if err != nil {
		return c.failure(err)
	}
	return nil
}

// call makes a request and returns its answer.
func call[T any](ctx context.Context, c *Client, r Request, options []CallOption) (T, error) {
	var answer T
	if err := c.Do(ctx, r, &answer, options...); err != nil {
		return *new(T), err
	}
	return answer, nil
}

// follow sends a request once and has its answer read.
func (c *Client) follow(ctx context.Context, r *invocation, body []byte, media string, read func(*http.Response) error) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	req, err := c.build(ctx, r, body, media)
	if err != nil {
		return fault.Wrap(err, fault.CodeConfigurationError, "The request cannot be made.")
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // nothing more is read
	if failure := c.o.Registry.Decode(resp); failure != nil {
		return failure
	}
	return read(resp)
}

// prepare applies the options and gives the call its ids, once, so that every
// attempt has the same.
func (c *Client) prepare(r *invocation, options []CallOption) error {
	for _, option := range options {
		option(r)
	}
	r.Method = cmp.Or(r.Method, http.MethodGet)
	if r.Safety == SafetyOfMethod {
		r.Safety = Idempotent
		if r.Method == http.MethodPost || r.Method == http.MethodPatch {
			r.Safety = NotIdempotent
		}
	}
	if strings.Contains(r.Path+"/", "//") {
		return fault.BadField("path", "required", "an id, an entity or a code is missing")
	}
	now := c.o.Now()
	if r.id == "" {
		r.id = c.ids.New(now).String()
	}
	if r.key == "" && r.Safety == IdempotentByKey {
		r.key = c.ids.New(now).String()
	}
	return nil
}

func encode(body any) (data []byte, media string, err error) {
	switch b := body.(type) {
	case nil:
		return nil, "", nil
	case RawBody:
		return b.Data, b.Media, nil
	}
	data, err = json.Marshal(body)
	return data, "application/json", err
}

// retrying is how this call is repeated: as the registry says of each code, and
// only where that is safe.
func (c *Client) retrying(r *invocation) retry.Options {
	proven := recoup.ConditionIdempotencyKey
	if r.Safety == NotIdempotent && r.key == "" {
		proven = fault.NotIdempotent()
	}
	return retry.Options{
		Policy: c.o.Registry.Policy, Classify: c.o.Registry.Classifier(proven), Observe: c.o.Observe,
		Now: c.o.Now, Sleep: c.o.Sleep, Random: c.random,
	}
}

// attempt sends the request once and returns the body of a good answer, nil if
// it has none.
func (c *Client) attempt(ctx context.Context, r *invocation, body []byte, media string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, c.o.Timeout+r.Wait)
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

func (c *Client) build(ctx context.Context, r *invocation, body []byte, media string) (*http.Request, error) {
	target := c.base + r.Path
	if len(r.Query) > 0 {
		target += "?" + r.Query.Encode()
	}
	req, err := http.NewRequestWithContext(ctx, r.Method, target, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	for name, values := range r.Header {
		req.Header[name] = values
	}
	set := func(name, value string) {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	set("Content-Type", media)
	if req.Header.Get("Accept") == "" {
		set("Accept", "application/json")
	}
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
	return call[T](ctx, c, Request{Method: http.MethodGet, Path: path, Query: query}, options)
}
