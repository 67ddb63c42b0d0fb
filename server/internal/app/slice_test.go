package app_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"testing/fstest"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/recoup-dev/recoup/server/internal/admin"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/config"
	"github.com/recoup-dev/recoup/server/internal/console"
	"github.com/recoup-dev/recoup/server/internal/doctor"
	"github.com/recoup-dev/recoup/server/internal/ledger"
	"github.com/recoup-dev/recoup/server/internal/push"
	"github.com/recoup-dev/recoup/server/internal/scheduler"
	"github.com/recoup-dev/recoup/server/internal/slice"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// noWork is a source that has nothing to deliver, and counts how often it is asked.
type noWork struct{ asked *atomic.Int64 }

func (s noWork) Claim(context.Context, int, int) ([]push.Delivery, error) {
	s.asked.Add(1)
	return nil, nil
}

// lorry is a transport that counts how often it is closed.
type lorry struct{ closed *atomic.Int64 }

func (lorry) Up() bool                                         { return true }
func (lorry) Publish(context.Context, *store.EventBatch) error { return nil }
func (lorry) MaxBatch() int                                    { return 1 }
func (l lorry) Close()                                         { l.closed.Add(1) }

// carrier is a slice with a transport.
func carrier(name string, closed *atomic.Int64) slice.Slice {
	return slice.Slice{Name: name, OpenTransport: func(_ context.Context, core slice.Core) (ledger.Transport, error) {
		if core.Settings == nil || core.Jitter == nil || core.Node == "" || core.Engine != nil || core.Ledger != nil {
			return nil, errors.New("it is opened too late, or without what it needs")
		}
		return lorry{closed}, nil
	}}
}

// The node closes transports also if its start fails: for want of a store that can write batches, or
// because there are two.
func TestTransports(t *testing.T) {
	t.Parallel()
	var closed atomic.Int64
	for want, list := range map[string][]slice.Slice{
		"ledger: a writer with a transport needs a store of batches": {{Name: "none", OpenTransport: func(context.Context, slice.Core) (ledger.Transport, error) { return nil, nil }}, carrier("road", &closed)},
		"rail: events have another transport already":                {carrier("road", &closed), carrier("rail", &closed)},
		"there are no lorries": {{Name: "road", OpenTransport: func(context.Context, slice.Core) (ledger.Transport, error) {
			return nil, errors.New("there are no lorries")
		}}},
	} {
		_, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), Listen: "127.0.0.1:0", Demo: true, Slices: list, Settings: config.Values{{Name: "sample-rate", Value: "3"}}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
	if closed.Load() != 3 {
		t.Errorf("of 3 transports %d were closed", closed.Load())
	}
}

// samplePages are a page that shows the setting of the slice, and a panel.
func samplePages(rate func() string) console.Section {
	return console.Section{
		Pages: []console.Page{{Method: http.MethodGet, Path: "sample", Name: "sample", View: func(*console.Request) (any, error) { return rate(), nil }}},
		Templates: fstest.MapFS{"page_sample.html": {Data: []byte(
			`{{define "title"}}Sample{{end}}{{define "main"}}<p>The rate is {{.Main}}.</p>{{end}}`)}, "panel_rate.html": {Data: []byte(`{{define "panel"}}<section id="rate">{{.Main}}</section>{{end}}`)}},
		Panels:  []console.Panel{{Page: "admin", Name: "rate", View: func(*console.Request) (any, error) { return rate() + "<", nil }}},
		Entries: []console.Entry{{Page: "sample", Path: "sample", Name: "Samples", Key: "q", After: "alerts"}},
	}
}

// page returns what is at an address.
func page(t *testing.T, address string) string {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = answer.Body.Close() }()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// TestSlice proves that a node runs everything that a slice adds, and closes it at the end.
func TestSlice(t *testing.T) {
	t.Parallel()
	var ran, asked, closed, ended atomic.Int64
	looped := make(chan struct{}, 1)
	var rate string
	sample := slice.Slice{
		Name: "sample", Pages: samplePages(func() string { return rate }), Receivers: []push.Kind{{Name: "samples", Outcomes: []string{"taken"}}},
		Open: func(_ context.Context, core slice.Core) (slice.Running, error) {
			if core.Engine == nil || core.DeadLetters == nil || core.Ledger == nil || core.Audit == nil || core.Policy() == nil || core.IDs == nil || core.Now == nil || core.Logger == nil {
				t.Errorf("the core is incomplete: %+v", core)
			}
			rate = core.Settings.Get("sample-rate")
			figure := prometheus.NewGauge(prometheus.GaugeOpts{Name: "sample_things", Help: "Things."})
			figure.Set(7)
			return slice.Running{
				Jobs: []scheduler.Job{{Name: "sample", About: "count samples", Every: time.Hour, Late: time.Hour, After: "leases", Chunk: func(context.Context, scheduler.Run) (int, bool, error) {
					ran.Add(1)
					return 1, false, nil
				}}},
				Loops: []slice.Loop{{Name: "samples", Every: time.Millisecond, Run: func(context.Context) error {
					select {
					case looped <- struct{}{}:
					default:
					}
					return nil
				}}},
				Background: []func(context.Context){func(ctx context.Context) {
					<-ctx.Done()
					ended.Add(1)
				}},
				Collectors: []prometheus.Collector{figure},
				Sources:    map[string]push.OpenSource{"samples": func(string, map[string]string) push.Source { return noWork{&asked} }},
				Checks: func(context.Context) []doctor.Check {
					return []doctor.Check{{Name: "samples", Judge: func(*doctor.Input) []doctor.FixableFinding {
						return []doctor.FixableFinding{{Finding: wire.Finding{Severity: wire.FindingNote, Subject: "rate", Evidence: "It is 3.", Fix: "recoup serve --sample-rate 1"}}}
					}}}
				},
				Close: func(context.Context) error { closed.Add(1); return nil },
			}, nil
		},
	}
	n := live.Start(t, app.Options{
		Database: "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), Demo: true, Slices: []slice.Slice{sample}, Settings: config.Values{{Name: "sample-rate", Value: "3"}},
		Receivers: []push.Config{{Name: "lab", Kind: "samples", Values: map[string]string{"url": "https://lab.example/", "secret": "sixteen characters"}}},
	})
	<-looped
	ctx, c := t.Context(), n.Client()
	if _, err := admin.New(c).Jobs.Run(ctx, "sample", wire.JobRunRequest{Reason: "test"}); err != nil || ran.Load() == 0 {
		t.Errorf("the job ran %d times, %v", ran.Load(), err)
	}
	jobs, err := admin.New(c).Jobs.List(ctx)
	if err != nil || len(jobs.Jobs) < 2 || jobs.Jobs[0].Name != "leases" || jobs.Jobs[1].Name != "sample" {
		t.Errorf("the jobs are %+v, %v", jobs.Jobs, err)
	}
	found, err := admin.New(c).System.Doctor(ctx)
	if err != nil || !slices.ContainsFunc(found.Findings, func(f wire.Finding) bool { return f.Check == "samples" && f.Subject == "rate" }) || found.Checks != len(doctor.Checks())+2 {
		t.Errorf("the doctor says %+v, %v", found, err)
	}
	if text := page(t, n.URL+"/metrics"); !strings.Contains(text, "\nsample_things 7\n") {
		t.Error("the metrics of the slice are missing")
	}
	shown := page(t, n.URL+"/console/sample")
	for _, want := range []string{"<p>The rate is 3.</p>", `aria-current="page">Samples</a>`, ">Alerts</a><a href=\"sample\""} {
		if !strings.Contains(shown, want) {
			t.Errorf("the page has no %s:\n%s", want, shown)
		}
	}
	if platform := page(t, n.URL+"/console/admin"); !strings.Contains(platform, `<section id="rate">3&lt;</section>`) {
		t.Errorf("the page of the platform has no panel of the slice:\n%s", platform)
	}
	if n.Stop(); asked.Load() == 0 || closed.Load() != 1 || ended.Load() != 1 {
		t.Errorf("the source was asked %d times, the slice was closed %d times, and %d of its background work has ended", asked.Load(), closed.Load(), ended.Load())
	}
}

// TestBadSlice proves that a node does not start with a slice that cannot be opened, or whose
// receivers have nothing to deliver.
func TestBadSlice(t *testing.T) {
	t.Parallel()
	away := errors.New("the laboratory is away")
	for want, bad := range map[string]slice.Slice{
		"sample: the laboratory is away":                                            {Name: "sample", Open: func(context.Context, slice.Core) (slice.Running, error) { return slice.Running{}, away }},
		"push: the kind samples of receivers has no source":                         {Name: "sample", Receivers: []push.Kind{{Name: "samples"}}},
		"console: two sections have a page errors":                                  {Name: "sample", Pages: console.Section{Pages: []console.Page{{Method: http.MethodGet, Path: "sample", Name: "errors"}}}},
		"console: panel lost: template: pattern matches no files":                   {Name: "sample", Pages: console.Section{Templates: fstest.MapFS{}, Panels: []console.Panel{{Page: "admin", Name: "lost"}}}},
		"console: the entry Sample follows samples, which is no page":               {Name: "sample", Pages: console.Section{Entries: []console.Entry{{Page: "sample", Name: "Sample", Key: "q", After: "samples"}}}},
		"the entries Errors and Sample of the navigation have the same page or key": {Name: "sample", Pages: console.Section{Entries: []console.Entry{{Page: "sample", Name: "Sample", Key: "e"}}}},
	} {
		_, err := app.Open(t.Context(), app.Options{Database: "sqlite:" + filepath.Join(t.TempDir(), "demo.db"), Listen: "127.0.0.1:0", Demo: true, Slices: []slice.Slice{bad}})
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("got %v, want %s", err, want)
		}
	}
}
