package stage_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/stage"
)

var workID = recoup.ID{0x01, 0x98, 0xc0, 0xde, 0, 0, 0x70, 0, 0x80, 15: 1}

var epoch = time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)

// world is a runner whose time passes only while it waits.
type world struct {
	now   time.Time
	waits []time.Duration
	ran   []string // stages, in the order of their attempts
	saved stage.Memory
	*rand.Rand
}

func newWorld(seed uint64) *world {
	return &world{now: epoch, Rand: rand.New(rand.NewPCG(seed, 1))}
}

func (w *world) options() stage.Options {
	return stage.Options{
		Checkpoints: &w.saved, Now: func() time.Time { return w.now }, Random: w.Float64,
		Sleep: func(ctx context.Context, d time.Duration) error {
			w.waits, w.now = append(w.waits, d), w.now.Add(d)
			return ctx.Err()
		},
	}
}

// does returns a stage that fails with these errors and then succeeds.
func (w *world) does(name string, failures ...error) stage.Stage {
	left := slices.Clone(failures)
	return stage.Stage{Name: name, Run: func(context.Context, stage.Input) ([]byte, error) {
		w.ran = append(w.ran, name)
		if len(left) > 0 {
			err := left[0]
			left = left[1:]
			return nil, err
		}
		return []byte(`"` + name + `"`), nil
	}}
}

func (w *world) run(t *testing.T, stages ...stage.Stage) (stage.Result, error) {
	t.Helper()
	r, err := stage.New(stage.Pipeline{Name: "criticizer", Stages: stages}, w.options())
	if err != nil {
		t.Fatal(err)
	}
	return r.Run(t.Context(), work())
}

func work() stage.Work {
	return stage.Work{
		ID: workID, EntityID: "CO-1", Payload: []byte(`{"url":"https://example.com"}`),
		PayloadRef: "s3://bucket/key", RequestIDs: map[string]string{"openai": "chatcmpl-9"},
	}
}

func repeat(err error, n int) []error { return slices.Repeat([]error{err}, n) }

var timeout = fault.New(fault.CodeNetworkTimeout, "The upstream did not answer.")

func dead(t *testing.T, err error) *recoup.StageFailure {
	t.Helper()
	var d *recoup.StageFailure
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a dead letter", err)
	}
	return d
}

// Every row of spec 002, 8.1: what is retryable is tried five times, the rest once.
func TestEveryCategory(t *testing.T) {
	t.Parallel()
	for _, row := range fault.StageCategories() {
		for _, code := range row.Codes {
			t.Run(row.Name+"/"+string(code), func(t *testing.T) {
				t.Parallel()
				w := newWorld(1)
				s := w.does("llm", repeat(fault.New(code, "It failed."), 9)...)
				d := func() *recoup.StageFailure { _, err := w.run(t, s); return dead(t, err) }()
				want := 1
				if row.Retryable {
					want = 5
				}
				if len(w.ran) != want || d.Class != code || d.Exhausted != row.Retryable {
					t.Errorf("%d attempts, class %s, exhausted %v; want %d attempts", len(w.ran), d.Class, d.Exhausted, want)
				}
			})
		}
	}
}

// A stage that must not be done twice is not retried where it may have been done.
func TestOnce(t *testing.T) {
	t.Parallel()
	for code, want := range map[recoup.Code]int{
		fault.CodeNetworkTimeout: 1, fault.CodeDuplicateRecord: 1, fault.CodeVersionConflict: 1, fault.CodeRateLimitExceeded: 5,
	} {
		w := newWorld(1)
		s := w.does("notify", repeat(fault.New(code, "It failed."), 9)...)
		s.Once = true
		_, err := w.run(t, s)
		if dead(t, err); len(w.ran) != want {
			t.Errorf("%s: %d attempts, want %d", code, len(w.ran), want)
		}
	}
}

// The waits are drawn evenly from zero to 1, 2, 4 and 8 seconds (spec 002, 8.2).
func TestFullJitter(t *testing.T) {
	t.Parallel()
	const draws = 2000
	w := newWorld(7)
	sums := make([]float64, 4)
	for range draws {
		w.waits = nil
		w.saved = stage.Memory{}
		_, err := w.run(t, w.does("fetch", repeat(timeout, 9)...))
		dead(t, err)
		if len(w.waits) != len(sums) {
			t.Fatalf("waits are %v", w.waits)
		}
		for i, wait := range w.waits {
			limit := time.Second << i
			if wait < 0 || wait > limit {
				t.Fatalf("wait %d is %v", i+1, wait)
			}
			sums[i] += wait.Seconds() / limit.Seconds()
		}
	}
	for i, sum := range sums { // the mean of the share is 1/2 with a deviation of 0.0065
		if mean := sum / draws; mean < 0.47 || mean > 0.53 {
			t.Errorf("wait %d has the mean %.3f of its limit", i+1, mean)
		}
	}
}

func TestRetryAfterWinsWhenLargerUpToFiveMinutes(t *testing.T) {
	t.Parallel()
	for asked, want := range map[time.Duration]time.Duration{90 * time.Second: 90 * time.Second, time.Hour: 5 * time.Minute} {
		w := newWorld(1)
		limited := fault.New(fault.CodeRateLimitExceeded, "Slow down.")
		limited.RetryAfter = asked
		if _, err := w.run(t, w.does("llm", limited)); err != nil {
			t.Fatal(err)
		}
		if !slices.Equal(w.waits, []time.Duration{want}) {
			t.Errorf("asked for %v it waits %v", asked, w.waits)
		}
	}
}

func TestReclassifiedStopsAtOnce(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	_, err := w.run(t, w.does("llm", timeout, timeout, fault.New(fault.CodeValidationError, "Not JSON."), timeout))
	if d := dead(t, err); len(w.ran) != 3 || d.Exhausted || d.Class != fault.CodeValidationError {
		t.Errorf("%v, %+v", w.ran, d)
	}
}

// Budgets are isolated: each stage has five attempts whatever the others needed.
func TestBudgetsAreIsolated(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	result, err := w.run(t, w.does("fetch", repeat(timeout, 4)...), w.does("llm", repeat(timeout, 4)...), w.does("notify", repeat(timeout, 4)...))
	if err != nil {
		t.Fatal(err)
	}
	if want := map[string]int{"fetch": 5, "llm": 5, "notify": 5}; !maps.Equal(result.Attempts, want) {
		t.Errorf("attempts are %v", result.Attempts)
	}
}

// A later run goes on at the stage that failed, with the outputs of before.
func TestResumesAtTheFailedStage(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	fetch, llm := w.does("fetch"), w.does("llm", repeat(timeout, 5)...)
	var given, key string
	notify := stage.Stage{Name: "notify", Run: func(_ context.Context, in stage.Input) ([]byte, error) {
		if err := in.Decode("llm", &given); err != nil {
			return nil, err
		}
		_, known := in.Output("notify")
		key = in.IdempotencyKey
		w.ran = append(w.ran, fmt.Sprint("notify ", known, string(in.Payload)))
		return nil, nil
	}}
	_, err := w.run(t, fetch, llm, notify)
	if d := dead(t, err); d.Stage != "llm" {
		t.Fatalf("it failed at %s", d.Stage)
	}
	w.ran = nil
	result, err := w.run(t, fetch, llm, notify)
	if err != nil {
		t.Fatal(err)
	}
	if want := []string{"llm", `notify false{"url":"https://example.com"}`}; !slices.Equal(w.ran, want) || given != "llm" {
		t.Errorf("ran %q, given %q", w.ran, given)
	}
	if want := work().ID.String() + "/notify"; key != want {
		t.Errorf("the key is %s", key)
	}
	if want := map[string]int{"llm": 1, "notify": 1}; !maps.Equal(result.Attempts, want) {
		t.Errorf("attempts are %v", result.Attempts)
	}
	w.ran = nil
	if _, err := w.run(t, fetch, llm, notify); err != nil || len(w.ran) != 0 {
		t.Errorf("what is finished ran again: %v, %v", w.ran, err)
	}
}

func TestPanicIsAFailureWithAStack(t *testing.T) {
	t.Parallel()
	for _, value := range []any{"broken", errors.New("broken"), timeout, io.ErrUnexpectedEOF} {
		w := newWorld(1)
		attempts := 0
		_, err := w.run(t, stage.Stage{Name: "llm", Run: func(context.Context, stage.Input) ([]byte, error) {
			attempts++
			panic(value)
		}})
		d := dead(t, err)
		if attempts != 1 || d.Class != fault.CodeRuntimeBug || !strings.Contains(d.LastStack, "runner_test.go") {
			t.Errorf("%v: %d attempts, %s\n%s", value, attempts, d.Class, d.LastStack)
		}
	}
}

// The end of the context is no failure: nothing is dead, and the work can go on.
func TestCancellationIsNoFailure(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	ctx, cancel := context.WithCancel(t.Context())
	r, err := stage.New(stage.Pipeline{Name: "criticizer", Stages: []stage.Stage{w.does("fetch"), {
		Name: "llm", Run: func(ctx context.Context, _ stage.Input) ([]byte, error) {
			cancel()
			return nil, ctx.Err()
		},
	}}}, w.options())
	if err != nil {
		t.Fatal(err)
	}
	_, err = r.Run(ctx, work())
	var d *recoup.StageFailure
	if !errors.Is(err, context.Canceled) || errors.As(err, &d) {
		t.Errorf("got %v", err)
	}
	if kept, _ := w.saved.Load(t.Context(), work().ID); len(kept) != 1 {
		t.Errorf("kept are %v", kept)
	}
}

// A stage that takes too long is a failure like others.
func TestTimeoutOfAnAttempt(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	attempts := 0
	_, err := w.run(t, stage.Stage{Name: "fetch", Timeout: time.Millisecond, Run: func(ctx context.Context, _ stage.Input) ([]byte, error) {
		attempts++
		<-ctx.Done()
		return nil, ctx.Err()
	}})
	if d := dead(t, err); attempts != 5 || !d.Exhausted {
		t.Errorf("%d attempts, %+v", attempts, d)
	}
}

// A checkpoint that cannot be kept ends the run; nothing is dead.
func TestCheckpointsThatFail(t *testing.T) {
	t.Parallel()
	broken := errors.New("the disk is full")
	for _, c := range []stage.Checkpoints{&failing{load: broken}, &failing{save: broken}} {
		w := newWorld(1)
		o := w.options()
		o.Checkpoints = c
		r, err := stage.New(stage.Pipeline{Name: "p", Stages: []stage.Stage{w.does("a"), w.does("b")}}, o)
		if err != nil {
			t.Fatal(err)
		}
		var d *recoup.StageFailure
		if _, err := r.Run(t.Context(), work()); !errors.Is(err, broken) || errors.As(err, &d) || slices.Contains(w.ran, "b") {
			t.Errorf("got %v after %v", err, w.ran)
		}
	}
}

type failing struct {
	stage.Memory
	load, save error
}

func (f *failing) Load(context.Context, recoup.ID) (map[string][]byte, error) { return nil, f.load }
func (f *failing) Save(context.Context, recoup.ID, string, []byte) error      { return f.save }

func TestBadPipelines(t *testing.T) {
	t.Parallel()
	run := func(context.Context, stage.Input) ([]byte, error) { return nil, nil }
	for name, p := range map[string]stage.Pipeline{
		"no name":    {Stages: []stage.Stage{{Name: "a", Run: run}}},
		"no stages":  {Name: "p"},
		"no run":     {Name: "p", Stages: []stage.Stage{{Name: "a"}}},
		"twice":      {Name: "p", Stages: []stage.Stage{{Name: "a", Run: run}, {Name: "a", Run: run}}},
		"bad name":   {Name: "p", Stages: []stage.Stage{{Name: "a b", Run: run}}},
		"bad policy": {Name: "p", Stages: []stage.Stage{{Name: "a", Run: run, Policy: &retry.Policy{MaxRetries: -1}}}},
		"timeout":    {Name: "p", Stages: []stage.Stage{{Name: "a", Run: run, Timeout: -1}}},
	} {
		if _, err := stage.New(p, stage.Options{}); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

// A response of an upstream is classified by its status.
func TestUpstreamStatus(t *testing.T) {
	t.Parallel()
	w := newWorld(1)
	verdict := fault.ClassifyResponse(http.StatusForbidden, nil, nil, epoch)
	err := stage.WithContext(verdict.Wrap(errors.New("403"), "Denied."), map[string]any{
		"upstream": "openai", "upstream_status": 403, "prompt": "the whole prompt", "prompt_hash": "0123456789abcdef",
	})
	_, got := w.run(t, w.does("llm", err))
	d := dead(t, got)
	want := map[string]any{"upstream": "openai", "upstream_status": int64(403), "prompt_hash": "0123456789abcdef"}
	for key, value := range want {
		if d.Context[key] != value {
			t.Errorf("%s is %v", key, d.Context[key])
		}
	}
	if _, there := d.Context["prompt"]; there || len(w.ran) != 1 {
		t.Errorf("context is %v after %v", d.Context, w.ran)
	}
}
