package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/client"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/retry"
)

// The tables that failures are reported to. All of them block.
var tables = []string{"outreach.dol_errors", "outreach.company_target_errors", "people.people_errors"}

const (
	entities = 24                    // few, so that clients meet
	patience = 600                   // attempts of one call
	recent   = 64                    // errors that operators choose from
	pause    = 20 * time.Millisecond // between attempts of one call
)

// Workload is clients of all kinds. Each call is made under a key until a node has
// answered it, now at this node and now at that.
type Workload struct {
	Nodes   []*client.Client
	History *History
	Seed    uint64
	Pace    time.Duration // between the calls of one client, on average
	Senders int           // clients that send events
	Batch   int           // events in one call of theirs, at most
	Now     func() time.Time
	IDs     *recoup.IDSource

	mu      sync.Mutex
	errors  []recoup.ID // that were reported lately
	letters []letter    // that are not through their workflow
}

// letter is a dead letter as whoever takes care of it knows it.
type letter struct {
	id    recoup.ID
	stage string
}

// actor is one client, with randomness of its own.
type actor struct {
	*Workload
	name   string
	random *rand.Rand
	n      int
}

// Run makes calls until begin is done, and finishes what it has begun by then.
func (w *Workload) Run(begin, ctx context.Context) {
	var all sync.WaitGroup
	kinds := map[string][]func(*actor, context.Context){
		"reporter": {(*actor).report, (*actor).report, (*actor).reportMany},
		"worker":   {(*actor).work, (*actor).work, (*actor).work},
		"promoter": {(*actor).promote, (*actor).promote},
		"operator": {(*actor).operate, (*actor).operate, (*actor).operateMany},
		"stager":   {(*actor).stage, (*actor).stage},
		"replayer": {(*actor).replay, (*actor).submit},
		"sender":   slices.Repeat([]func(*actor, context.Context){(*actor).emit}, w.Senders),
	}
	for kind, act := range kinds {
		for i, do := range act {
			name := fmt.Sprintf("%s-%d", kind, i)
			a := w.actor(name)
			all.Go(func() {
				for begin.Err() == nil {
					do(a, ctx)
					_ = retry.Sleep(begin, time.Duration(a.random.Int64N(int64(2*w.Pace))))
				}
			})
		}
	}
	all.Wait()
}

func (w *Workload) actor(name string) *actor {
	var number uint64
	for _, c := range name {
		number = number*31 + uint64(c)
	}
	return &actor{Workload: w, name: name, random: rand.New(rand.NewPCG(w.Seed, number))}
}

// Drain does all staged work that there is, so that replays can end.
func (w *Workload) Drain(ctx context.Context) { w.actor("drain").drain(ctx) }

// key names the next thing that the actor asks for.
func (a *actor) key() string {
	a.n++
	return fmt.Sprintf("%s-%d", a.name, a.n)
}

func (a *actor) entity() string { return fmt.Sprintf("E-%d", a.random.IntN(entities)) }

// request is a call at one node, under a key. It returns what it was answered, as
// many operations as it asked for; their names and times are the actor's business.
type request func(ctx context.Context, c *client.Client, key client.CallOption) ([]Operation, error)

// insist makes a call until its outcome is known, at one node after the other, and
// returns what was answered. Each attempt is recorded, of each of its parts.
func (a *actor) insist(ctx context.Context, parts []Operation, call request) []Operation {
	var answered []Operation
	for range patience {
		if answered = a.try(ctx, parts, call); answered != nil || retry.Sleep(ctx, pause) != nil {
			break
		}
	}
	return answered
}

// try makes one attempt. It returns nothing if the outcome is unknown.
func (a *actor) try(ctx context.Context, parts []Operation, call request) []Operation {
	node := a.random.IntN(len(a.Nodes))
	begin := a.Now()
	answered, err := call(ctx, a.Nodes[node], client.IdempotencyKey(parts[0].Key))
	end := a.Now()
	if err != nil {
		outcome, code := judge(err)
		answered = make([]Operation, len(parts))
		for i, p := range parts {
			p.Outcome, p.Code = outcome, code
			answered[i] = p
		}
	}
	known := len(answered) == 0
	for i := range answered {
		o := &answered[i]
		o.Client, o.Node, o.Begin, o.End = a.name, node, begin, end
		known = known || o.Outcome != Unknown
	}
	a.History.Record(answered...)
	if !known {
		return nil
	}
	return answered
}

// one is insist for what is one operation.
func (a *actor) one(ctx context.Context, op Operation, call func(context.Context, *client.Client, client.CallOption, *Operation) error) Operation {
	answered := a.insist(ctx, []Operation{op}, func(ctx context.Context, c *client.Client, key client.CallOption) ([]Operation, error) {
		done := op
		done.Outcome = OK
		err := call(ctx, c, key, &done)
		return []Operation{done}, err
	})
	if len(answered) == 0 {
		return Operation{Outcome: Unknown}
	}
	return answered[0]
}

// judge says what is known of a call that failed. What the server refuses for the
// caller's sake has not happened; of all else nobody knows.
func judge(err error) (Outcome, string) {
	failure, ok := errors.AsType[*fault.Error](err)
	if !ok {
		return Unknown, err.Error()
	}
	status := failure.Status
	if status == 0 {
		status = failure.Definition().HTTPStatus
	}
	switch {
	case status == http.StatusRequestTimeout, status == http.StatusTooManyRequests, status >= http.StatusInternalServerError, status < http.StatusBadRequest:
		return Unknown, string(failure.Code)
	case failure.Code == fault.CodeNetworkTimeout:
		return Unknown, string(failure.Code)
	}
	return Refused, string(failure.Code)
}

// remember keeps an error for operators.
func (w *Workload) remember(id recoup.ID) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.errors = append(w.errors, id); len(w.errors) > recent {
		w.errors = w.errors[1:]
	}
}

// some returns up to n errors that were reported lately, each once.
func (a *actor) some(n int) (list []recoup.ID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for _, i := range a.random.Perm(len(a.errors))[:min(n, len(a.errors))] {
		list = append(list, a.errors[i])
	}
	return list
}
