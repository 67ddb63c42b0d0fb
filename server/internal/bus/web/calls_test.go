package web_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/server/internal/bus"
	"github.com/recoup-dev/recoup/server/internal/bus/web"
)

// Each call sends what the route of the bus reads.
func TestCalls(t *testing.T) {
	t.Parallel()
	act := bus.QuarantineAct{Numbers: []int{3}, Reason: "why"}
	for want, call := range map[string]func(context.Context, web.Calls) (any, error){
		`GET /v1/bus`:                    func(ctx context.Context, c web.Calls) (any, error) { return c.Status(ctx) },
		`GET /v1/bus/quarantine?after=7`: func(ctx context.Context, c web.Calls) (any, error) { return c.Quarantine(ctx, "7") },
		`POST /v1/bus/quarantine/retry {"numbers":[3],"reason":"why"}`: func(ctx context.Context, c web.Calls) (any, error) {
			return c.RetryQuarantined(ctx, act)
		},
		`POST /v1/bus/quarantine/drop {"numbers":[3],"reason":"why"}`: func(ctx context.Context, c web.Calls) (any, error) {
			return c.DropQuarantined(ctx, act)
		},
	} {
		var got string
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, _ := io.ReadAll(r.Body)
			got = strings.TrimSuffix(r.Method+" "+r.URL.RequestURI()+" "+string(body), " ")
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write([]byte("{}"))
		}))
		c, err := client.New(client.Options{Server: server.URL, Key: "k"})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := call(t.Context(), web.Calls{Client: c}); err != nil || got != want {
			t.Errorf("got %s, %v, want %s", got, err, want)
		}
		c.Close()
		server.Close()
	}
}
