package api_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/httpapi"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// open is a store that knows what blocks without looking.
type open struct{ app.Store }

func (open) Blocking(_ context.Context, entities []string, _ int) ([][]store.Blocker, error) {
	found := make([][]store.Blocker, len(entities))
	for i := range found {
		found[i] = []store.Blocker{{ID: recoup.ID{1}, Table: dol, Code: "NETWORK_TIMEOUT", State: recoup.RetryPending, CreatedAt: epoch, ExpiresAt: epoch.Add(time.Hour)}}
	}
	return found, nil
}

// sink is a response without a connection.
type sink struct{ header http.Header }

func (s *sink) Header() http.Header              { return s.header }
func (s *sink) WriteHeader(int)                  {}
func (s *sink) Write(b []byte) (int, error)      { return len(b), nil }
func (s *sink) SetReadDeadline(time.Time) error  { return nil }
func (s *sink) SetWriteDeadline(time.Time) error { return nil }

// BenchmarkGateHandler answers a gate check without network and database: what
// keys, limits, logs, metrics, reading and writing cost.
func BenchmarkGateHandler(b *testing.B) {
	s, err := app.OpenStore(b.Context(), "sqlite:"+filepath.Join(b.TempDir(), "recoup.db"), nil)
	if err != nil {
		b.Fatal(err)
	}
	var key string
	node, err := app.OpenOn(b.Context(), open{s}, app.Options{Listen: "127.0.0.1:0", Limits: httpapi.Limits{PerKey: 1 << 20}, FirstKey: func(secret string) error { key = secret; return nil }})
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = node.Close(context.Background()) })
	handler := node.Handler()
	r := httptest.NewRequestWithContext(b.Context(), http.MethodGet, "/v1/promotion/CO-1", nil)
	r.Header.Set("Authorization", "Bearer "+key)
	r.Header.Set("User-Agent", "Go-http-client/1.1")
	b.ReportAllocs()
	for b.Loop() {
		ctx, cancel := context.WithCancel(b.Context()) // as net/http makes one
		handler.ServeHTTP(&sink{http.Header{}}, r.WithContext(ctx))
		cancel()
	}
}
