package app

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"strings"
	"sync"
	"testing"
)

// A collector that takes requests, answers them with a status, and knows their paths.
type collector struct {
	*httptest.Server
	mu    sync.Mutex
	paths []string
}

func startCollector(t *testing.T, status int) *collector {
	c := &collector{}
	c.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.paths = append(c.paths, r.URL.Path)
		w.WriteHeader(status)
	}))
	t.Cleanup(c.Close)
	return c
}

// traced sends one request to a node whose traces go to an endpoint, and returns the node's log.
func traced(t *testing.T, endpoint string) string {
	t.Helper()
	var log bytes.Buffer
	n := openNode(t, "sqlite:"+filepath.Join(t.TempDir(), "recoup.db"), &shifted{}, func(o *Options) {
		if err := readTraces(o, endpoint); err != nil {
			t.Fatal(err)
		}
		o.Logger = slog.New(slog.NewTextHandler(&log, nil))
	})
	_, end := n.traces.begin(httptest.NewRequest(http.MethodGet, "/v1/errors", nil), "GET /v1/errors")
	end(nil)
	if err := n.traces.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

// A collector's base address stands for its traces; an address with a path is used as it is.
func TestTracesGoToTheCollector(t *testing.T) { // not parallel: the SDK has one handler of errors for the process
	for path, want := range map[string]string{"": "/v1/traces", "/": "/v1/traces", "/v1/traces": "/v1/traces", "/tenant/otlp": "/tenant/otlp"} {
		c := startCollector(t, http.StatusOK)
		traced(t, c.URL+path)
		if len(c.paths) != 1 || c.paths[0] != want {
			t.Errorf("traces for %q are posted to %q, want %s", path, c.paths, want)
		}
	}
}

// What the exporter cannot send is a line of the node's own log.
func TestTracesThatFailAreLogged(t *testing.T) {
	c := startCollector(t, http.StatusBadRequest)
	if log := traced(t, c.URL); !strings.Contains(log, "level=WARN") || !strings.Contains(log, "traces") || !strings.Contains(log, "400") {
		t.Errorf("the log has %q, want a warning with the status of the collector", log)
	}
}
