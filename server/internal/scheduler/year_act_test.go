package scheduler_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/engine"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// How much happens in a year.
const (
	reportsAYear = 36
	personsAYear = 20
	eventsAYear  = 12
	jumpsAYear   = 5
	wrongsAYear  = 6
	changesAYear = 3

	incidentsAYear = 4
	silencesAYear  = 4
	outagesAYear   = 2
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
		{incidentsAYear, y.incident, false}, {silencesAYear, y.hush, false},
		{jumpsAYear, y.jump, true}, {wrongsAYear, y.stray, true}, {changesAYear, y.change, true}, {outagesAYear, y.outage, true},
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
	r := recoup.Report{
		Table: t.Name, EntityID: fmt.Sprint("co-", y.r.IntN(25)), Code: codes[y.r.IntN(len(codes))],
		Severity: severities[y.r.IntN(len(severities))],
	}
	receipt := y.receipt("report")
	var out []engine.Reported
	err := y.insist(func(ctx context.Context) (err error) {
		out, err = y.nodes[0].engine.Report(ctx, engine.Caller{Name: "ada"}, []recoup.Report{r}, receipt)
		return err
	})
	if err == nil {
		err = out[0].Err
	}
	if err != nil && y.db.sabotage == keepsHalves {
		y.wrong("the half that was kept is refused: %v", err)
		return
	}
	y.must(err)
	e := out[0].Error
	if y.db.sabotage == losesErrors && y.r.IntN(20) == 0 {
		e.ID = y.ids.New(y.clock())
	}
	if y.r.IntN(3) == 0 { // of some tables it is known how much they do
		y.must(y.insist(func(ctx context.Context) error {
			return y.db.AddProcessed(ctx, []store.Processed{{Minute: store.Minute(y.clock()), Table: t.Name, N: int64(4 + y.r.IntN(40))}})
		}))
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
	before, _, _ := y.ground.state()
	_, err := y.alive(0, func() (err error) {
		claimed, err = y.nodes[0].engine.Claim(y.Context(), engine.Caller{Name: "w"}, recoup.RetryClaim{Worker: "w", Limit: 5})
		return err
	})
	if err != nil {
		if struck, _, _ := y.ground.state(); struck == before {
			y.must(err)
		}
		y.agenda.add(y.now.Add(2*time.Minute), y.work) // the lease of what it got without knowing expires
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
		out, err = y.nodes[0].engine.One(ctx, engine.Caller{Name: "ada"}, act)
		return err
	})
	var refusal *lifecycle.Refusal
	switch {
	case err == nil:
		y.expectRetry(out.Error)
	case errors.As(err, &refusal), errors.Is(err, sqldb.ErrNotFound):
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

// event is a failure that nobody governs, and that is reported late.
func (y *year) event() {
	at := y.clock().Add(-time.Duration(y.r.Int64N(int64(80 * day)))).Truncate(time.Microsecond)
	e := recoup.Event{ID: y.ids.New(at), TS: at, Code: "NETWORK_TIMEOUT", Service: "import", CorrelationID: y.ids.New(at)}
	y.must(y.insist(func(ctx context.Context) error { return y.nodes[0].book.Record(ctx, y.clock(), []recoup.Event{e}) }))
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

// stray makes a node's own clock wrong by minutes, forwards or back, for some hours.
func (y *year) stray() {
	y.wrongs++
	i := y.r.IntN(len(y.off))
	y.off[i] = time.Duration(y.r.Int64N(int64(20*time.Minute))) - 10*time.Minute
	y.agenda.add(y.now.Add(time.Duration(y.r.Int64N(int64(10*hour)))), func() { y.off[i] = 0 })
}

// right puts the clocks right.
func (y *year) right() {
	clear(y.off[:])
	if y.skew != 0 {
		y.odd[len(y.odd)-1].To = y.clock()
	}
	y.skew = 0
}

// policy is the default one, with routes to the year's channels, rules that wait
// before they fire, and rates that are made of as little as happens in a year.
func (y *year) policy(changes ...string) *policy.Policy {
	text := strings.NewReplacer(append(changes,
		"    - {channel: log}", "    - {channel: chat}\n    - {channel: pager, from: PAGE}", "min_samples: 20", "min_samples: 3",
		"average_ttl_utilization > 80%, per", "average_ttl_utilization > 80%, for: 30m, per", "external_service_errors > 20, window: 5m, per", "external_service_errors > 20, window: 5m, for: 1m, per",
	)...).Replace(string(policy.DefaultFile()))
	p, err := policy.Load("policy", []byte(text), fault.Default())
	y.must(err)
	return p
}

// change puts another policy in force, with another ladder and other TTLs, and
// sometimes over the errors that are open.
func (y *year) change() {
	y.changes++
	next := y.policy("version: 1.0.0", fmt.Sprint("version: 1.0.", y.changes),
		"after: 48h", fmt.Sprintf("after: %dh", 30+y.r.IntN(40)), "lasts: 30d", fmt.Sprintf("lasts: %dd", 20+y.r.IntN(20)))
	y.must(y.insist(func(ctx context.Context) error { return y.db.SyncTables(ctx, next) }))
	y.policies.Use(next)
	if y.r.IntN(2) == 0 {
		y.must(y.insist(func(ctx context.Context) error {
			_, err := y.nodes[0].engine.Rebase(ctx, engine.Caller{Name: "ada"}, next, "a change", nil)
			return err
		}))
	}
}
