package clockwork_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"hash/fnv"
	"strings"
	"time"

	"recoup"
	"recoup/fault"
	"recoup/internal/engine"
	"recoup/internal/lifecycle"
	"recoup/internal/policy"
	"recoup/internal/store"
)

// How much happens in a year.
const (
	reportsAYear = 100
	personsAYear = 50
	eventsAYear  = 25
	jumpsAYear   = 5
	changesAYear = 3
)

// plan draws when what happens by itself does.
func (y *year) plan(end time.Time) {
	span := end.Sub(y.now)
	for _, p := range []struct {
		n     int
		do    func()
		rough bool
	}{
		{reportsAYear, y.report, false}, {personsAYear, y.person, false}, {eventsAYear, y.event, false},
		{jumpsAYear, y.jump, true}, {changesAYear, y.change, true},
	} {
		for range p.n {
			at := y.now.Add(time.Duration(y.r.Int64N(int64(span))))
			if !p.rough || y.rough {
				y.agenda.add(at, p.do)
			}
		}
	}
}

// receipt makes what is asked for again harmless.
func (y *year) receipt(what string) *store.Receipt {
	y.reports++
	key := fmt.Sprint(what, " ", y.reports)
	return &store.Receipt{Scope: "year", Key: key, Hash: sha256.Sum256([]byte(key)), ExpiresAt: y.clock().Add(day)}
}

var (
	codes      = []string{"NETWORK_TIMEOUT", "RATE_LIMIT_EXCEEDED", "VALIDATION_ERROR", "DNS_TIMEOUT", "DOMAIN_NOT_FOUND", "MISSING_NAME", "SERVICE_UNAVAILABLE"}
	severities = []recoup.Severity{"", "", recoup.Medium, recoup.High, recoup.Critical, recoup.Low}
)

// report reports a failure, often one that was reported before.
func (y *year) report() {
	tables := y.policies.Current().Tables()
	t := tables[y.r.IntN(len(tables))]
	for t.DeadLetter {
		t = tables[y.r.IntN(len(tables))]
	}
	r := engine.Report{
		Table: t.Name, EntityID: fmt.Sprint("co-", y.r.IntN(25)), Code: codes[y.r.IntN(len(codes))],
		Severity: severities[y.r.IntN(len(severities))], Receipt: y.receipt("report"),
	}
	var out []engine.Reported
	y.must(y.insist(func(ctx context.Context) (err error) {
		out, err = y.engine.Report(ctx, engine.Caller{Name: "ada"}, []engine.Report{r})
		return err
	}))
	y.must(out[0].Err)
	e := out[0].Error
	if y.db.sabotage == losesErrors && y.r.IntN(20) == 0 {
		e.ID = y.ids.New(y.clock())
	}
	y.made[e.ID] = &life{reported: e}
	y.order = append(y.order, e.ID)
	y.expectRetry(e)
}

// expectRetry sends a worker when an error is due.
func (y *year) expectRetry(e recoup.Error) {
	if e.State == recoup.RetryPending && e.LeaseToken.IsZero() {
		y.agenda.add(e.NextRetryAt.Add(-y.skew).Add(time.Duration(y.r.IntN(120))*time.Second), y.work)
	}
}

// work claims what is due, and says how it went: well, badly, or nothing at all.
func (y *year) work() {
	var claimed []recoup.Error
	_, err := y.alive(0, func() (err error) {
		claimed, err = y.engine.Claim(y.Context(), engine.Caller{Name: "w"}, engine.Claim{Worker: "w", Limit: 5})
		return err
	})
	if err != nil {
		if !errors.Is(err, errCut) {
			y.must(err)
		}
		y.agenda.add(y.now.Add(2*time.Minute), y.work) // what it got without knowing lapses
		return
	}
	for _, e := range claimed {
		act := engine.Act{ID: e.ID, Receipt: y.receipt("result")}
		switch y.r.IntN(6) {
		case 0: // it is lost
			y.agenda.add(e.LeaseEndsAt.Add(-y.skew).Add(time.Minute), y.work)
			continue
		case 1, 2:
			act.Input = lifecycle.Succeed{Token: e.LeaseToken}
		case 3: // it takes longer
			act.Input = lifecycle.Extend{Token: e.LeaseToken, Lease: 15 * time.Minute}
			y.agenda.add(e.LeaseEndsAt.Add(-y.skew).Add(20*time.Minute), y.work)
		default:
			def, code, err := fault.Default().Fold(codes[y.r.IntN(len(codes))])
			y.must(err)
			act.Input = lifecycle.Fail{Token: e.LeaseToken, Failure: lifecycle.Failure{Code: code, Class: def.Effective(false), Category: def.Category}}
		}
		y.act(act)
	}
}

// act does something to an error, unless the rules refuse it.
func (y *year) act(act engine.Act) {
	var out store.Outcome
	err := y.insist(func(ctx context.Context) (err error) {
		out, err = y.engine.One(ctx, engine.Caller{Name: "ada"}, act)
		return err
	})
	var refusal *lifecycle.Refusal
	switch {
	case err == nil:
		y.expectRetry(out.Error)
	case errors.As(err, &refusal), errors.Is(err, store.ErrNotFound):
	default:
		y.must(err)
	}
}

// person does what people do.
func (y *year) person() {
	if len(y.order) == 0 {
		return
	}
	act := engine.Act{ID: y.order[len(y.order)-1-y.r.IntN(min(len(y.order), 30))], Receipt: y.receipt("act")}
	switch y.r.IntN(10) {
	case 0, 1:
		act.Input = lifecycle.Park{Reason: "look"}
	case 2, 3, 4:
		act.Input = lifecycle.Unpark{Reason: "try again"}
	case 5:
		act.Input = lifecycle.Resolve{Reason: "done"}
	case 6:
		act.Input = lifecycle.Escalate{Reason: "help"}
	case 7:
		act.Input = lifecycle.Review{Reason: "seen"}
	case 8:
		act.Input = lifecycle.Assign{To: "bob", Reason: "yours"}
	default:
		act.Input = lifecycle.ArchiveNow{Reason: "enough"}
	}
	y.act(act)
}

// event is a failure that nobody governs, and that is told of late.
func (y *year) event() {
	at := y.clock().Add(-time.Duration(y.r.Int64N(int64(80 * day)))).Truncate(time.Microsecond)
	e := recoup.Event{ID: y.ids.New(at), TS: at, Code: "NETWORK_TIMEOUT", Service: "import", CorrelationID: y.ids.New(at)}
	y.must(y.insist(func(ctx context.Context) error { return book{y.db}.Record(ctx, y.clock(), []recoup.Event{e}) }))
}

// recorded notes what the ledger has.
func (y *year) recorded(events []store.Event) {
	for _, e := range events {
		y.events[eventKey{e.ID, e.TS.UnixMicro()}] = e.Code
	}
}

// jump makes the clocks wrong, forwards or back, and right again some hours later.
func (y *year) jump() {
	y.jumps++
	y.right()
	y.skew = time.Duration(y.r.Int64N(int64(6*day))) - 3*day
	y.odd = append(y.odd, store.Span{From: y.clock()})
	y.agenda.add(y.now.Add(time.Duration(y.r.Int64N(int64(10*hour)))), y.right)
}

// right puts the clocks right.
func (y *year) right() {
	if y.skew != 0 {
		y.odd[len(y.odd)-1].To = y.clock()
	}
	y.skew = 0
}

// change puts another policy in force, with another ladder and other TTLs, and
// sometimes over the errors that are open.
func (y *year) change() {
	y.changes++
	text := strings.NewReplacer("version: 1.0.0", fmt.Sprint("version: 1.0.", y.changes),
		"after: 48h", fmt.Sprintf("after: %dh", 30+y.r.IntN(40)), "lasts: 30d", fmt.Sprintf("lasts: %dd", 20+y.r.IntN(20)),
	).Replace(string(policy.DefaultFile()))
	next, err := policy.Load("policy", []byte(text), fault.Default())
	y.must(err)
	y.must(y.db.SyncTables(y.Context(), next))
	y.policies.Use(next)
	if y.r.IntN(2) == 0 {
		y.must(y.insist(func(ctx context.Context) error {
			_, err := y.engine.Rebase(ctx, engine.Caller{Name: "ada"}, next, "a change", nil)
			return err
		}))
	}
}

// chance draws for a notice: its id is the database's own, and would make two
// runs of a seed differ.
func (y *year) chance(n *store.PendingNotice, of uint64) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, y.seed, n.ErrorID, n.Kind, n.CreatedAt.UnixMicro(), n.Attempts)
	return h.Sum64() % of
}

// notify delivers notices through a channel that fails, or times out after it has
// delivered.
func (y *year) notify() {
	for range 3 {
		var list []store.PendingNotice
		_, err := y.alive(0, func() (err error) {
			list, err = y.db.ClaimNotices(y.Context(), y.clock(), time.Minute, 100)
			return err
		})
		if err != nil {
			y.agenda.add(y.now.Add(2*time.Minute), func() {})
			return
		}
		if len(list) == 0 {
			return
		}
		done := make([]store.Delivery, len(list))
		for i := range list {
			done[i] = y.send(&list[i])
		}
		_, err = y.alive(0, func() error {
			_, err := y.db.FinishNotices(y.Context(), y.clock(), done)
			return err
		})
		if err != nil && !y.db.applied {
			for _, d := range done {
				if d.Delivered {
					y.received[d.ID].excused++ // nobody knows that it came
				}
			}
			y.agenda.add(y.now.Add(2*time.Minute), func() {})
		}
	}
}

// send is one attempt to deliver a notice.
func (y *year) send(n *store.PendingNotice) store.Delivery {
	d := store.Delivery{ID: n.ID, Attempt: n.Attempts, Delivered: true}
	if y.rough && y.chance(n, 6) == 0 {
		d = store.Delivery{ID: n.ID, Attempt: n.Attempts, RetryAt: y.clock().Add(time.Hour), Error: "no answer"}
		y.agenda.add(y.now.Add(hour+time.Second), func() {})
		if y.chance(n, 12) < 6 {
			return d
		}
	}
	if y.db.sabotage == losesNotices && y.chance(n, 10) == 0 {
		return d
	}
	y.delivered++
	l := y.received[n.ID]
	if l == nil {
		l = &letter{PendingNotice: *n}
		y.received[n.ID] = l
	}
	l.times++
	if !d.Delivered {
		l.excused++ // it came, and nobody knows
	}
	if y.db.sabotage == tellsTwice && y.chance(n, 10) == 0 {
		l.times++
	}
	return d
}
