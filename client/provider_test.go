package client_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// directory is a server that knows providers, and can be away.
type directory struct {
	active atomic.Value // string
	away   atomic.Bool
	asked  atomic.Int64
}

func (d *directory) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.asked.Add(1)
	if d.away.Load() || r.URL.Path != "/v1/providers" {
		http.Error(w, "away", http.StatusServiceUnavailable)
		return
	}
	name, _ := d.active.Load().(string)
	_ = json.NewEncoder(w).Encode(recoup.ProviderList{Providers: []recoup.Provider{{Group: "email_validation", Active: name}}})
}

// A program asks before every use; the server is asked every few seconds, and its
// last answer stands while it is away.
func TestActiveProvider(t *testing.T) {
	t.Parallel()
	d := &directory{}
	d.active.Store("millionverifier")
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	now := time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)
	c, err := client.New(client.Options{
		Server: server.URL, Now: func() time.Time { return now }, Sleep: func(context.Context, time.Duration) error { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	check := func(want string, asked int64) {
		t.Helper()
		got, err := c.Providers.Active(t.Context(), "email_validation")
		if err != nil || got != want || d.asked.Load() != asked {
			t.Fatalf("%q is in use, %v, asked %d times; want %q and %d", got, err, d.asked.Load(), want, asked)
		}
	}
	d.away.Store(true)
	if got, err := c.Providers.Active(t.Context(), "email_validation"); err == nil {
		t.Fatalf("without any answer %q is in use", got)
	}
	d.away.Store(false)
	d.asked.Store(0)
	check("millionverifier", 1)
	d.active.Store("zerobounce")
	now = now.Add(4 * time.Second)
	check("millionverifier", 1)
	now = now.Add(time.Second)
	check("zerobounce", 2)
	d.away.Store(true)
	now = now.Add(time.Hour)
	check("zerobounce", 3)
	check("zerobounce", 3) // nor is a server that is away asked every time
	now = now.Add(5 * time.Second)
	d.away.Store(false)
	d.active.Store("millionverifier")
	check("millionverifier", 4)
	if _, err := c.Providers.Active(t.Context(), "sms"); fault.From(err).Code != fault.CodeNotFound {
		t.Errorf("a group that there is not: %v", err)
	}
}
