package endtoend

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
)

// goDriver does the steps with the Go client.
type goDriver struct {
	*testing.T
	calls      *client.Client // whose waits the scenario sees
	background *client.Client // of the emitter and the worker
	wait       func(ms float64)
	emitter    *client.Emitter
	events     chan workEvent
	stop       func() error
}

// workEvent is what a worker's handler says of itself.
type workEvent struct {
	Event   string    `json:"event"`
	ErrorID recoup.ID `json:"error_id"`
	Aborted string    `json:"aborted,omitempty"`
}

func newGoDriver(t *testing.T, s setting) driver {
	t.Helper()
	d := &goDriver{T: t, events: make(chan workEvent, 100), stop: func() error { return nil }}
	o := client.Options{Server: s.Server, Key: s.Key, Service: "conformance", Timeout: time.Duration(s.TimeoutMS) * time.Millisecond}
	d.background = d.open(o)
	o.Sleep = func(_ context.Context, wait time.Duration) error {
		d.wait(float64(wait) / float64(time.Millisecond))
		return nil
	}
	d.calls = d.open(o)
	t.Cleanup(func() { _ = d.stop() })
	return d
}

func (d *goDriver) open(o client.Options) *client.Client {
	d.Helper()
	c, err := client.New(o)
	if err != nil {
		d.Fatal(err)
	}
	return c
}

func (d *goDriver) do(s step, wait func(ms float64)) outcome {
	d.Helper()
	ctx, cancel := context.WithTimeout(d.Context(), scenarioPatience)
	defer cancel()
	d.wait = wait
	var options []client.CallOption
	if s.IdempotencyKey != "" {
		options = append(options, client.IdempotencyKey(s.IdempotencyKey))
	}
	switch s.Do {
	case "report":
		return came(d.calls.Report(ctx, with[recoup.Report](d.T, s), options...))
	case "promote":
		return came(d.calls.Promote(ctx, with[recoup.Promotion](d.T, s), options...))
	case "gate":
		return came(d.calls.CheckPromotion(ctx, s.Entity, options...))
	case "work":
		d.work(s)
		return outcome{}
	case "await":
		select {
		case e := <-d.events:
			return outcome{Answer: e}
		case <-ctx.Done():
			d.Fatal("nothing has happened to the worker")
		}
	case "stop":
		return came(struct{}{}, d.stop())
	}
	return d.emit(ctx, s)
}

// emit does the steps of the emitter.
func (d *goDriver) emit(ctx context.Context, s step) outcome {
	d.Helper()
	switch s.Do {
	case "emitter":
		o := with[struct {
			Buffer     int `json:"buffer"`
			Batch      int `json:"batch"`
			IntervalMS int `json:"interval_ms"`
		}](d.T, s)
		var err error
		d.emitter, err = client.NewEmitter(client.EmitterOptions{Client: d.background, Buffer: o.Buffer, Batch: o.Batch, Interval: time.Duration(o.IntervalMS) * time.Millisecond})
		if err != nil {
			d.Fatal(err)
		}
		over, end := context.WithCancel(context.Background())
		end() // a scenario that failed leaves events behind, and nobody waits for them
		d.Cleanup(func() { _ = d.emitter.Close(over) })
	case "emit":
		for range s.Count {
			d.emitter.Emit(with[recoup.Event](d.T, s))
		}
	case "flush":
		if s.WithinMS > 0 {
			var cancel context.CancelFunc
			ctx, cancel = context.WithTimeout(ctx, time.Duration(s.WithinMS)*time.Millisecond)
			defer cancel()
		}
		return came(struct{}{}, d.emitter.Flush(ctx))
	case "stats":
		got := d.emitter.Stats()
		return outcome{Answer: map[string]int64{"emitted": got.Emitted, "dropped": got.Dropped, "delivered": got.Delivered, "refused": got.Refused, "waiting": got.Waiting}}
	default:
		d.Fatalf("there is no step %q", s.Do)
	}
	return outcome{}
}

// work starts a worker.
func (d *goDriver) work(s step) {
	d.Helper()
	o := with[struct {
		Name         string `json:"name"`
		Concurrency  int    `json:"concurrency"`
		LeaseSeconds int    `json:"lease_seconds"`
		Handler      string `json:"handler"`
	}](d.T, s)
	w := client.Worker{Client: d.background, Name: o.Name, Concurrency: o.Concurrency, Lease: time.Duration(o.LeaseSeconds) * time.Second, Grace: time.Second}
	w.Handler = func(_ context.Context, e recoup.Error) error {
		d.events <- workEvent{Event: "ended", ErrorID: e.ID}
		return nil
	}
	if o.Handler == "until_aborted" {
		w.Handler = d.untilAborted
	}
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- w.Run(ctx) }()
	d.stop = sync.OnceValue(func() error {
		cancel()
		return <-ended
	})
}

// untilAborted works until it is told to stop.
func (d *goDriver) untilAborted(ctx context.Context, e recoup.Error) error {
	d.events <- workEvent{Event: "began", ErrorID: e.ID}
	<-ctx.Done()
	said := workEvent{Event: "ended", ErrorID: e.ID, Aborted: "stopped"}
	if errors.Is(context.Cause(ctx), client.ErrLeaseLost) {
		said.Aborted = "lease_lost"
	}
	d.events <- said
	return context.Cause(ctx)
}

// with reads what a step is done with.
func with[T any](t *testing.T, s step) (value T) {
	t.Helper()
	if err := json.Unmarshal(s.With, &value); err != nil {
		t.Fatalf("%s with %s: %v", s.Do, s.With, err)
	}
	return value
}

// came is how a call ended.
func came[T any](answer T, err error) outcome {
	if undelivered, ok := errors.AsType[*client.UndeliveredError](err); ok {
		return outcome{Undelivered: undelivered.Events}
	}
	if err == nil {
		return outcome{Answer: answer}
	}
	e, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return outcome{Error: err.Error()}
	}
	return outcome{Error: map[string]any{"code": e.Code, "status": e.Status, "retry_after": e.RetryAfter.Seconds(), "retryable": fault.Classify(err).Retryable()}}
}
