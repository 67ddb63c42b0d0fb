package sdk

import (
	"context"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
	"github.com/recoup-dev/recoup/server/internal/app"
	"github.com/recoup-dev/recoup/server/internal/test/live"
	"github.com/recoup-dev/recoup/stage"
)

// pipeline is one whose stages do what a test says, and count.
type pipeline struct {
	*testing.T
	client *client.Client
	once   bool // its stages must not be run twice

	mu   sync.Mutex
	ran  map[string]int
	does map[string]func(ctx context.Context, in stage.Input) error
}

// newPipeline runs a node of its own.
func newPipeline(t *testing.T) *pipeline {
	t.Helper()
	return newPipelineOn(t, "")
}

func newPipelineOn(t *testing.T, database string) *pipeline {
	t.Helper()
	c := live.Start(t, app.Options{Demo: true, Database: database}).Client()
	return &pipeline{T: t, client: c, ran: map[string]int{}, does: map[string]func(context.Context, stage.Input) error{}}
}

func (p *pipeline) worker() client.StageWorker {
	quick := retry.Stage()
	quick.Schedule.Base, quick.Schedule.Cap = time.Millisecond, time.Millisecond
	var stages []stage.Stage
	for _, name := range []string{"fetch", "llm"} {
		stages = append(stages, stage.Stage{Name: name, Policy: &quick, Once: p.once, Run: func(ctx context.Context, in stage.Input) ([]byte, error) {
			p.mu.Lock()
			p.ran[name]++
			do := p.does[name]
			p.mu.Unlock()
			if do != nil {
				if err := do(ctx, in); err != nil {
					return nil, err
				}
			}
			return []byte(name + " of " + string(in.Payload)), nil
		}})
	}
	return client.StageWorker{Client: p.client, Name: "w", Pipeline: stage.Pipeline{Name: "critic", Stages: stages}, Poll: time.Second, Grace: time.Millisecond}
}

// set says what the last stage does.
func (p *pipeline) set(do func(ctx context.Context, in stage.Input) error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.does["llm"] = do
}

func (p *pipeline) counts() map[string]int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return maps.Clone(p.ran)
}

// until runs a worker until something holds.
func (p *pipeline) until(holds func() bool) {
	p.Helper()
	ctx, stop := context.WithCancel(p.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.worker().Run(ctx) }()
	for !holds() {
		if err := retry.Sleep(p.Context(), 5*time.Millisecond); err != nil {
			p.Fatal(err)
		}
	}
	stop()
	if err := <-ended; err != nil {
		p.Error(err)
	}
}

func (p *pipeline) submit() recoup.ID {
	p.Helper()
	items, err := p.client.Work.Submit(p.Context(), []recoup.NewWorkItem{{Pipeline: "critic", Stage: "fetch", EntityID: "CO-1", Payload: []byte("a page")}})
	if err != nil {
		p.Fatal(err)
	}
	work, err := items[0].Get()
	if err != nil {
		p.Fatal(err)
	}
	return work.WorkID
}

// gone reports whether work is not in the queue any more.
func (p *pipeline) gone(work recoup.ID) func() bool {
	return func() bool {
		_, err := p.client.Work.Progress(p.Context(), work, recoup.ID{})
		return err == nil
	}
}

// What fails for good is a dead letter with all that it needs; its replay goes on
// at the stage that failed, with the outputs of before.
func TestStageWorker(t *testing.T) {
	t.Parallel()
	newPipeline(t).testReplay(t)
}

// Nor is it otherwise where the server has its database through PgBouncer.
func TestStageWorkerBehindAPooler(t *testing.T) {
	t.Parallel()
	newPipelineOn(t, live.Pooled(t).Nodes).testReplay(t)
}

func (p *pipeline) testReplay(t *testing.T) {
	denied := fault.New(fault.CodeInvalidAPIKey, "The model does not know this key.")
	p.set(func(context.Context, stage.Input) error {
		return stage.WithContext(denied, map[string]any{"upstream": "openai", "upstream_status": 401})
	})
	work := p.submit()
	p.until(p.gone(work))
	list, err := p.client.DeadLetters.List(t.Context(), recoup.DeadLetterFilter{Pipeline: "critic"}, client.Page{})
	if err != nil || len(list.DeadLetters) != 1 {
		t.Fatalf("dead letters: %+v, %v", list, err)
	}
	d := list.DeadLetters[0]
	if d.WorkID != work || d.Stage != "llm" || d.Class != fault.CodeInvalidAPIKey || !maps.Equal(p.counts(), map[string]int{"fetch": 1, "llm": 1}) {
		t.Errorf("it is %+v after %v", d, p.counts())
	}
	for _, step := range []func() (recoup.DeadLetter, error){
		func() (recoup.DeadLetter, error) {
			return p.client.DeadLetters.Triage(t.Context(), d.ErrorID, recoup.Triage{Cause: recoup.CauseAuthConfig, Stage: d.Stage, Class: d.Class, Exhausted: &d.Exhausted})
		},
		func() (recoup.DeadLetter, error) {
			return p.client.DeadLetters.Remediate(t.Context(), d.ErrorID, recoup.Remediation{Link: "INC-1", Fixed: "the key"})
		},
		func() (recoup.DeadLetter, error) {
			return p.client.DeadLetters.Validate(t.Context(), d.ErrorID, recoup.Validation{Idempotent: true})
		},
	} {
		if _, err := step(); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := p.client.DeadLetters.Replay(t.Context(), d.ErrorID, recoup.SingleReplay{Reason: "the key was rotated"}); err != nil {
		t.Fatal(err)
	}
	var seen []string
	p.set(func(_ context.Context, in stage.Input) error {
		output, _ := in.Output("fetch")
		seen = append(seen, string(output), in.IdempotencyKey)
		return nil
	})
	p.until(p.gone(work))
	if want := []string{"fetch of a page", work.String() + "/llm"}; !slices.Equal(seen, want) || p.counts()["fetch"] != 1 {
		t.Errorf("the replay saw %q after %v", seen, p.counts())
	}
	if got, err := p.client.DeadLetters.Get(t.Context(), d.ErrorID); err != nil || got.Step != recoup.StepReplayed || len(got.Rounds) != 1 || len(got.Replays) != 1 {
		t.Errorf("it is %+v, %v", got, err)
	}
}

// A stage that fails here is retried here, if it may be: what the runner gives up is a
// dead letter at once, whatever its class says, and closes the gate of the entity that
// the stages knew of.
func TestStageWorkerRetriesHere(t *testing.T) {
	t.Parallel()
	for once, attempts := range map[bool]int{false: 5, true: 1} {
		p := newPipeline(t)
		p.once = once
		p.set(func(_ context.Context, in stage.Input) error {
			if in.EntityID != "CO-1" {
				t.Errorf("the stage is about %q", in.EntityID)
			}
			return fault.New(fault.CodeNetworkTimeout, "The model did not answer.")
		})
		p.until(p.gone(p.submit()))
		list, err := p.client.DeadLetters.List(t.Context(), recoup.DeadLetterFilter{Pipeline: "critic"}, client.Page{})
		if err != nil || len(list.DeadLetters) != 1 || p.counts()["llm"] != attempts || list.DeadLetters[0].Exhausted == once {
			t.Fatalf("once %t: after %v there are %+v, %v", once, p.counts(), list, err)
		}
		g, err := p.client.CheckPromotion(t.Context(), "CO-1")
		if err != nil || len(g.Blockers) != 1 || g.Blockers[0].ErrorID != list.DeadLetters[0].ErrorID || !g.Blockers[0].DeadLetter {
			t.Errorf("once %t: the gate is %+v, %v", once, g, err)
		}
	}
}

// A worker that stops gives back what it has not finished, at once and without
// harm; finished stages stay so.
func TestStageWorkerGivesBack(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	began := make(chan struct{})
	p.set(func(ctx context.Context, _ stage.Input) error {
		close(began)
		<-ctx.Done()
		return ctx.Err()
	})
	work := p.submit()
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	w := p.worker()
	go func() { ended <- w.Run(ctx) }()
	<-began
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	p.set(nil)
	p.until(p.gone(work))
	if !maps.Equal(p.counts(), map[string]int{"fetch": 1, "llm": 2}) {
		t.Errorf("ran %v", p.counts())
	}
	if list, err := p.client.DeadLetters.List(t.Context(), recoup.DeadLetterFilter{}, client.Page{}); err != nil || len(list.DeadLetters) != 0 {
		t.Errorf("dead letters: %+v, %v", list, err)
	}
}

// A runner without the queue keeps its checkpoints on the server all the same.
func TestCheckpointsWithoutTheQueue(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	kept, work := client.Checkpoints{Client: p.client}, recoup.ID{7, 15: 7}
	for name, output := range map[string][]byte{"fetch": []byte("a page"), "llm": {}} {
		if err := kept.Save(t.Context(), work, name, output); err != nil {
			t.Fatal(err)
		}
	}
	got, err := kept.Load(t.Context(), work)
	if err != nil || string(got["fetch"]) != "a page" || got["llm"] == nil || len(got) != 2 {
		t.Errorf("loaded %q, %v", got, err)
	}
	if err := kept.Forget(t.Context(), work); err != nil {
		t.Fatal(err)
	}
	if got, err := kept.Load(t.Context(), work); err != nil || len(got) != 0 {
		t.Errorf("loaded %q, %v", got, err)
	}
}

func TestStageWorkersMustMakeSense(t *testing.T) {
	t.Parallel()
	p := newPipeline(t)
	for name, change := range map[string]func(*client.StageWorker){
		"no client":   func(w *client.StageWorker) { w.Client = nil },
		"no name":     func(w *client.StageWorker) { w.Name = "" },
		"no stages":   func(w *client.StageWorker) { w.Pipeline.Stages = nil },
		"concurrency": func(w *client.StageWorker) { w.Concurrency = -1 },
		"poll":        func(w *client.StageWorker) { w.Poll = time.Hour },
	} {
		w := p.worker()
		change(&w)
		if err := w.Run(t.Context()); err == nil {
			t.Errorf("%s: it runs", name)
		}
	}
}
