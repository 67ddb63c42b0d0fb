package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/recoup-dev/recoup/fault"
)

// maxReply is the most that is read of what an external service answers.
const maxReply = 64 << 10

// external calls services of others: verifiers of e-mail addresses, a scraper.
// What their failures mean, and who may stand in for them, is data that package
// fault ships.
type external struct {
	client    *http.Client
	providers fault.Providers
	now       func() time.Time
}

func newExternal(transport http.RoundTripper, now func() time.Time) external {
	return external{&http.Client{Transport: transport, Timeout: 10 * time.Second}, fault.DefaultProviders(), now}
}

// ask sends a question to a provider. Its failure comes back as an error of the
// contract that names the provider, its own word for what went wrong, and its
// fallback. The question travels in the body: it holds personal data, and
// addresses end up in logs.
func (e external) ask(ctx context.Context, name string, question any) error {
	provider, ok := e.providers.Lookup(name)
	if !ok {
		return fmt.Errorf("no rules for the provider %q", name)
	}
	fault.Annotate(ctx, func(known *fault.Annotations) { known.ExternalService = name })
	body, err := json.Marshal(question)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, "https://"+name+".example/", bytes.NewReader(body))
	if err != nil {
		return err
	}
	reply, err := e.client.Do(request)
	if err != nil {
		return provider.Classify(err, noAnswer).Wrap(err, "%s did not answer.", name)
	}
	defer func() { _ = reply.Body.Close() }()
	data, err := io.ReadAll(io.LimitReader(reply.Body, maxReply))
	if err != nil {
		return provider.Classify(err, noAnswer).Wrap(err, "%s did not finish its answer.", name)
	}
	verdict := provider.ClassifyResponse(reply.StatusCode, reply.Header, data, e.now(), nil)
	if verdict.Code == "" {
		return nil
	}
	return verdict.Wrap(nil, "%s could not do what it was asked.", name)
}

// noAnswer is what callers learn of a connection that failed; what the network
// said goes to the log as the cause.
func noAnswer(string) string { return "no_answer" }
