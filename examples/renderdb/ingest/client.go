// Package ingest sends companies and people to RenderDB as an ingest process
// does: it tries again what is worth another try, waits as long as it is asked
// to, and never creates a record twice.
//
// It decides by the codes of the contract alone and knows nothing of how the
// service works.
package ingest

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// Client talks to one RenderDB.
type Client struct {
	URL   string // without a slash at its end
	Key   string
	HTTP  *http.Client
	Retry retry.Options
}

// New returns a client that retries as spec 001 says, code by code. It may
// promise the classifier two things, which [Client.post] keeps: every request
// carries an idempotency key, and a key always stands for the same payload.
func New(url, key string) *Client {
	classify := fault.Classifier(recoup.ConditionIdempotencyKey, recoup.ConditionSamePayload)
	return &Client{
		URL: url, Key: key,
		HTTP:  &http.Client{Timeout: 10 * time.Second},
		Retry: retry.NewOptions(fault.Default().Policy, classify),
	}
}

// Company is a company to be created.
type Company struct {
	Name    string `json:"name"`
	Website string `json:"website"`
}

// CreateCompany returns the uid of the new company. A failure is a
// [*retry.Error], which says why it gave up, around a [*fault.Error] if the
// service answered at all.
func (c *Client) CreateCompany(ctx context.Context, company Company) (string, error) {
	var out struct {
		UID string `json:"company_uid"`
	}
	err := retry.Do(ctx, c.Retry, func(ctx context.Context) error {
		return c.post(ctx, "/companies", company, &out)
	})
	return out.UID, err
}

// Person is a person to be created.
type Person struct {
	Name       string `json:"name"`
	Email      string `json:"email"`
	CompanyUID string `json:"company_uid,omitempty"`
	Verifier   string `json:"verifier,omitempty"`
}

// CreatePerson returns the uid of the new person. Where the verifier of e-mail
// addresses is down and the service names another, that one is asked at once:
// it is not the one that needs the rest.
func (c *Client) CreatePerson(ctx context.Context, person Person) (string, error) {
	var out struct {
		UID string `json:"person_uid"`
	}
	err := retry.Do(ctx, c.Retry, func(ctx context.Context) error {
		err := c.post(ctx, "/people", person, &out)
		if other := fallback(err); other != "" && person.Verifier == "" {
			person.Verifier = other // for this attempt and those that may follow
			err = c.post(ctx, "/people", person, &out)
		}
		return err
	})
	return out.UID, err
}

// fallback returns the provider that the service recommends instead of one that
// failed.
func fallback(err error) string {
	e, ok := errors.AsType[*fault.Error](err)
	if !ok || e.Code != fault.CodeValidationServiceError {
		return ""
	}
	name, _ := e.Details["fallback_provider"].(string)
	return name
}

// post sends in once. The idempotency key is made from what is sent, so a lost
// answer costs nothing: the same request again gets the answer that was lost.
func (c *Client) post(ctx context.Context, path string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+path, bytes.NewReader(body))
	if err != nil {
		return err
	}
	sum := sha256.Sum256(body)
	request.Header.Set("Idempotency-Key", hex.EncodeToString(sum[:]))
	request.Header.Set("Authorization", "Bearer "+c.Key)
	request.Header.Set("Content-Type", fault.MediaJSON)
	request.Header.Set("X-Request-Source", "ingest-repo")
	response, err := c.HTTP.Do(request)
	if err != nil {
		return err // NETWORK_TIMEOUT, CONNECTION_RESET …: the classifier knows what the network said
	}
	defer func() { _ = response.Body.Close() }()
	if failure := fault.Decode(response); failure != nil {
		return failure
	}
	return json.NewDecoder(response.Body).Decode(out)
}
