package app

import (
	"bytes"
	"io"
	"log"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
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
	var text bytes.Buffer
	n := openNode(t, "sqlite:"+filepath.Join(t.TempDir(), "recoup.db"), &shifted{}, func(o *Options) {
		if err := readTraces(o, endpoint); err != nil {
			t.Fatal(err)
		}
		o.Logger = slog.New(slog.NewTextHandler(&text, nil))
	})
	_, end := n.traces.begin(httptest.NewRequest(http.MethodGet, "/v1/errors", nil), "GET /v1/errors")
	end(nil)
	if err := n.traces.close(t.Context()); err != nil {
		t.Fatal(err)
	}
	return text.String()
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
	if text := traced(t, c.URL); !strings.Contains(text, "level=WARN") || !strings.Contains(text, "traces") || !strings.Contains(text, "400") {
		t.Errorf("the log has %q, want a warning with the status of the collector", text)
	}
}

// Neither headers of the environment nor the path of the endpoint are logged.
func TestTraceSecretsAreNotLogged(t *testing.T) { // not parallel: the environment and the SDK are the process's
	t.Setenv("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%zzSuperSecretHeader")
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	stderr := log.Writer()
	log.SetOutput(write)
	standard := os.Stderr
	os.Stderr = write
	c := startCollector(t, http.StatusOK)
	c.Close() // every export fails
	text := traced(t, c.URL+"/tenant/SuperSecretPath")
	os.Stderr = standard
	log.SetOutput(stderr)
	_ = write.Close()
	printed, err := io.ReadAll(read)
	if err != nil {
		t.Fatal(err)
	}
	if text += string(printed); strings.Contains(text, "SuperSecret") || !strings.Contains(text, strings.TrimPrefix(c.URL, "http://")) {
		t.Errorf("the log has %q, want the host and no secret", text)
	}
	if got := withoutAddress(&url.Error{Op: "Post", URL: "https://u:SuperSecret@otel.example:4318/SuperSecret?k=SuperSecret", Err: io.EOF}); got != "otel.example:4318: EOF" {
		t.Errorf("got %q", got)
	}
}
