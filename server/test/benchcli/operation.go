package benchcli

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/cli/command"
	"github.com/recoup-dev/recoup/server/test/load"
)

// The operations, as --mix names them.
const (
	opReport     = "report"
	opGate       = "gate"
	opEvents     = "events"
	opClaim      = "claim"
	opAck        = "ack"
	opDeadLetter = "dead-letter"
)

// What a benchmark's data is called, so that it is known by its name.
const (
	prefix   = "bench-" // of entities and workers, before the run's tag
	service  = "bench"
	pipeline = "bench"
	stage    = "bench"
	message  = "made by recoup bench" // unchanged since this was a command of recoup: clean finds older runs
)

// What a key must be for.
const admin = "admin"

// cleaners are the roles that may clean up, beside admin.
var cleaners = []string{"operator"}

// operations are what a load can consist of, and who may do it beside admin.
var operations = []struct {
	name  string
	roles []string
	do    func(*workload, context.Context, *load.Operation) load.Outcome
}{
	{opReport, []string{"ingest", "worker", "operator"}, (*workload).report},
	{opGate, []string{"worker", "operator", "reader"}, (*workload).gate},
	{opEvents, []string{"ingest", "worker", "operator"}, (*workload).events},
	{opClaim, []string{"worker"}, (*workload).claim},
	{opAck, []string{"worker"}, (*workload).ack},
	{opDeadLetter, []string{"ingest", "worker", "operator"}, (*workload).deadLetter},
}

func operationNames() (list []string) {
	for _, op := range operations {
		list = append(list, op.name)
	}
	return list
}

// workload carries operations out.
type workload struct {
	*client.Client
	run   recoup.ID // the correlation id of all that it writes
	tag   string    // the same in a few letters, for names
	table string
	batch int
	now   func() time.Time
	ids   *recoup.IDSource

	mu      sync.Mutex
	held    [][]recoup.RetryResult // claims that wait for their results
	foreign recoup.ID              // an error that a claim leased and that is not the benchmark's
}

// tagOf is a name of a run that people can read out. It has letters alone, because
// identifiers that look like telephone numbers are refused.
func tagOf(run recoup.ID) string {
	tag := make([]byte, 6)
	for i := range tag {
		tag[i] = 'a' + run[len(run)-1-i]%26
	}
	return string(tag)
}

// do carries out an operation of the plan.
func (w *workload) do(ctx context.Context, op load.Operation) load.Outcome {
	for _, known := range operations {
		if known.name == op.Kind {
			return known.do(w, ctx, &op)
		}
	}
	return load.Outcome{Skipped: true}
}

func (w *workload) entity(name string, n int) string {
	return fmt.Sprintf("%s%s-%s%d", prefix, w.tag, name, n)
}

// failureCode is what all errors of a benchmark failed with.
const failureCode = fault.CodeNetworkTimeout

// failing is a report of the benchmark.
func (w *workload) failing(entity string) recoup.Report {
	return recoup.Report{Table: w.table, EntityID: entity, Code: string(failureCode), Message: message, CorrelationID: w.run, Service: service}
}

func (w *workload) report(ctx context.Context, op *load.Operation) load.Outcome {
	_, err := w.Report(ctx, w.failing(w.entity("", op.Nth)), client.NoRetry())
	return outcome(1, err)
}

// gate asks about an entity that the plan has reported before.
func (w *workload) gate(ctx context.Context, op *load.Operation) load.Outcome {
	entity := w.entity("none", 0)
	if reported := op.Before(opReport); reported > 0 {
		entity = w.entity("", int(op.Random%uint64(reported)))
	}
	_, err := w.CheckPromotion(ctx, entity, client.NoRetry())
	return outcome(1, err)
}

func (w *workload) events(ctx context.Context, _ *load.Operation) load.Outcome {
	list := make([]recoup.Event, w.batch)
	for i := range list {
		list[i] = recoup.Event{Code: fault.CodeNetworkTimeout, CorrelationID: w.run, Service: service, Endpoint: "GET /bench", HTTPStatus: http.StatusGatewayTimeout}
	}
	answer, err := w.SendEvents(ctx, list, client.NoRetry())
	if err == nil && len(answer.Refused) > 0 {
		_, err = client.Item[struct{}]{Failure: answer.Refused[0].Failure}.Get()
	}
	return outcome(answer.Accepted, err)
}

// claim leases errors, for a later ack. Once it has got one that is not the benchmark's
// there are no more claims.
func (w *workload) claim(ctx context.Context, _ *load.Operation) load.Outcome {
	if !w.taken().IsZero() {
		return load.Outcome{Skipped: true}
	}
	claimed, err := w.Retries.Claim(ctx, recoup.RetryClaim{Tables: []string{w.table}, Worker: prefix + w.tag, Limit: w.batch}, client.NoRetry())
	var results []recoup.RetryResult
	for i := range claimed {
		if e := &claimed[i]; made(e) {
			results = append(results, recoup.RetryResult{ErrorID: e.ID, LeaseToken: e.LeaseToken, Outcome: recoup.OutcomeSucceeded})
		} else {
			w.mu.Lock()
			w.foreign = e.ID
			w.mu.Unlock()
		}
	}
	if len(results) > 0 {
		w.mu.Lock()
		w.held = append(w.held, results)
		w.mu.Unlock()
	}
	return outcome(len(results), err)
}

// made reports whether an error is a benchmark's. Others may have entities of such names.
func made(e *recoup.Error) bool {
	return strings.HasPrefix(e.EntityID, prefix) && e.Message == message
}

// taken is an error that a claim leased and that is not the benchmark's.
func (w *workload) taken() recoup.ID {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.foreign
}

// ack submits the results of the oldest claim that has none; without one there is nothing
// to send.
func (w *workload) ack(ctx context.Context, _ *load.Operation) load.Outcome {
	w.mu.Lock()
	if len(w.held) == 0 {
		w.mu.Unlock()
		return load.Outcome{Skipped: true}
	}
	results := w.held[0]
	w.held = w.held[1:]
	w.mu.Unlock()
	items, err := w.Retries.Results(ctx, results, client.NoRetry(), client.Brief())
	accepted := 0
	for _, item := range items {
		_, failed := item.Get()
		switch {
		case failed == nil:
			accepted++
		case err == nil:
			err = failed
		}
	}
	return outcome(accepted, err)
}

func (w *workload) deadLetter(ctx context.Context, op *load.Operation) load.Outcome {
	now := w.now()
	_, err := w.DeadLetters.Record(ctx, recoup.StageFailure{
		WorkID: w.ids.New(now), EntityID: w.entity("work", op.Nth), Pipeline: pipeline, Stage: stage, Class: fault.CodeNetworkTimeout, Exhausted: true,
		LastStack: message, Context: map[string]any{"attempts": map[string]any{stage: 1}}, FirstFailureAt: now, LastFailureAt: now,
	}, client.NoRetry())
	return outcome(1, err)
}

// outcome is what became of a call.
func outcome(items int, err error) load.Outcome {
	if err == nil {
		return load.Outcome{Items: items}
	}
	said, ok := errors.AsType[*fault.Error](err)
	switch {
	case !ok:
		return load.Outcome{Items: items, Code: string(fault.CodeInternalError), Why: err.Error()}
	case said.Definition().HTTPStatus == http.StatusTooManyRequests:
		return load.Outcome{Items: items, Limited: true, RetryAfter: said.RetryAfter}
	}
	return load.Outcome{Items: items, Code: string(said.Code), Why: command.Reason(said)}
}
