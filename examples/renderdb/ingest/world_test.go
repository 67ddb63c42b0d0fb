package ingest_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup/examples/renderdb/api"
	"github.com/recoup-dev/recoup/examples/renderdb/ingest"
)

// world is a RenderDB, a client of it, and the clock of both, which only the
// client's waits move.
type world struct {
	t        *testing.T
	client   *ingest.Client
	failures *api.Failures
	waits    []time.Duration
	wake     func(wait int) // called after each wait, which counts from 1

	mu  sync.Mutex
	now time.Time
}

func (w *world) clock() time.Time {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.now
}

func (w *world) sleep(_ context.Context, d time.Duration) error {
	w.mu.Lock()
	w.now = w.now.Add(d)
	w.mu.Unlock()
	w.waits = append(w.waits, d)
	if w.wake != nil {
		w.wake(len(w.waits))
	}
	return nil
}

// newWorld starts a service; transport leads it to the external services, and
// may be nil.
func newWorld(t *testing.T, transport http.RoundTripper) *world {
	t.Helper()
	w := &world{t: t, now: time.Date(2024, 8, 28, 15, 30, 0, 0, time.UTC)}
	w.failures = api.NewFailures(w.clock)
	keys := api.DemoKeys(w.now)
	handler, err := api.New(api.Options{
		Now: w.clock, Random: rand.NewChaCha8([32]byte{1}), Keys: keys, Failures: w.failures, Transport: transport,
		Limits: api.Limits{PerMinute: 4, PerDay: 100, InFlight: 4, Verifications: 4},
	})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	w.client = ingest.New(server.URL, keys[0].Secret)
	w.client.HTTP = server.Client()
	w.client.Retry.Now, w.client.Retry.Sleep = w.clock, w.sleep
	w.client.Retry.Random = func() float64 { return 0 }
	return w
}

// lossy delivers requests and loses the answers: the work is done, and the
// caller cannot know.
type lossy struct {
	http.RoundTripper
	errs []error // one for each answer that is lost
}

func (l *lossy) RoundTrip(r *http.Request) (*http.Response, error) {
	response, err := l.RoundTripper.RoundTrip(r)
	if err != nil || len(l.errs) == 0 {
		return response, err
	}
	lost := l.errs[0]
	l.errs = l.errs[1:]
	return nil, errors.Join(lost, response.Body.Close())
}

func (w *world) lose(errs ...error) {
	w.client.HTTP.Transport = &lossy{w.client.HTTP.Transport, errs}
}

// createCompany is the call that most tests make.
func (w *world) createCompany() (string, error) {
	return w.client.CreateCompany(w.t.Context(), ingest.Company{Name: "Acme", Website: "https://acme.example"})
}

// held is a verifier that answers when the test lets it.
type held struct{ asked, answer chan struct{} }

func (h held) RoundTrip(r *http.Request) (*http.Response, error) {
	close(h.asked)
	<-h.answer
	return &http.Response{StatusCode: http.StatusOK, Body: http.NoBody, Request: r}, nil
}
