package bench

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"testing"
	"time"

	"github.com/getsentry/sentry-go"
	"github.com/rs/zerolog"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
)

// BenchmarkEmit hands a failure to Recoup's emitter, which keeps it for its next
// batch, beside what others do with one: sentry-go with a transport that drops it,
// and lines of zerolog and slog that nobody reads. Target: 150 ns, no allocation.
func BenchmarkEmit(b *testing.B) {
	b.Run("recoup", func(b *testing.B) {
		c, err := client.New(client.Options{Server: "http://127.0.0.1:1", Service: "bench"})
		must(b, err)
		m, err := client.NewEmitter(client.EmitterOptions{Client: c, Interval: time.Hour})
		must(b, err)
		defer func() {
			gone, cancel := context.WithCancel(context.Background())
			cancel()
			_ = m.Close(gone) // there is no server
		}()
		e := recoup.Event{Code: "NETWORK_TIMEOUT", Endpoint: "POST /companies", HTTPStatus: 504, Details: map[string]any{"retryable": true}}
		b.ReportAllocs()
		for b.Loop() {
			m.Emit(e)
		}
	})
	b.Run("sentry", func(b *testing.B) {
		hub, err := sentry.NewClient(sentry.ClientOptions{Dsn: "http://key@127.0.0.1:1/1", Transport: nowhere{}})
		must(b, err)
		scope, failed := sentry.NewScope(), errors.New("the provider did not answer")
		b.ReportAllocs()
		for b.Loop() {
			hub.CaptureException(failed, nil, scope)
		}
	})
	b.Run("zerolog", func(b *testing.B) {
		log := zerolog.New(io.Discard)
		b.ReportAllocs()
		for b.Loop() {
			log.Error().Str("code", "NETWORK_TIMEOUT").Str("endpoint", "POST /companies").Int("status", 504).Bool("retryable", true).Msg("failed")
		}
	})
	b.Run("slog", func(b *testing.B) {
		log := slog.New(slog.NewJSONHandler(io.Discard, nil))
		b.ReportAllocs()
		for b.Loop() {
			log.Error("failed", "code", "NETWORK_TIMEOUT", "endpoint", "POST /companies", "status", 504, "retryable", true)
		}
	})
}

// nowhere is a transport that drops everything.
type nowhere struct{}

func (nowhere) Configure(sentry.ClientOptions)        {}
func (nowhere) SendEvent(*sentry.Event)               {}
func (nowhere) Flush(time.Duration) bool              { return true }
func (nowhere) FlushWithContext(context.Context) bool { return true }
func (nowhere) Close()                                {}
