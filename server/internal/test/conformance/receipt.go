package conformance

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func receipts() []clause {
	return []clause{
		{"a report under a receipt is done once, and answered the same again", receiptReport},
		{"another request under the same receipt is in conflict and does nothing", receiptConflict},
		{"a step under a receipt is done once, and answered the same again", receiptStep},
		{"what is refused leaves no receipt", receiptRefused},
		{"two items of a batch with the same receipt mean two calls", receiptBatch},
		{"a receipt that has expired counts for nothing", receiptExpired},
		{"receipts of one key in two scopes have nothing to do with each other", receiptScopes},
		{"a verb that fails leaves no receipt", receiptUndone},
		{"a promotion under a receipt is made once, and answered the same again", receiptPromotion},
		{"of sixteen requests with one receipt at once one is done and all are answered alike", raceReceipt},
		{"batches that hold the same receipts in another order do each thing once", raceReceipts},
	}
}

// receipt is one whose answer says what was done.
func (d *Driver) receipt(key, payload string) *store.Receipt {
	return &store.Receipt{
		Scope: "k1 POST /v1/errors", Key: key, Hash: hashOf(payload), ExpiresAt: d.Now().Add(day),
		Answer: func(out store.Outcome) []byte {
			return fmt.Appendf(nil, "%v %s %d", out.Error.ID, out.Error.State, out.Error.RetryCount)
		},
	}
}

func hashOf(payload string) (hash [32]byte) {
	copy(hash[:], payload)
	return hash
}

// tryReceipt reports a failure of an entity under a receipt. What is done is not
// noted in the driver's book.
func (d *Driver) tryReceipt(entity string, r *store.Receipt) (store.Outcome, error) {
	var made decision
	report := d.report(d.Failing(dol, entity, "NETWORK_TIMEOUT", recoup.Medium), &made)
	report.Receipt = r
	outcomes, err := d.tryReports(report)
	if err != nil {
		return store.Outcome{}, err
	}
	return outcomes[0], nil
}

// tryReports reports until the store is not busy.
func (d *Driver) tryReports(batch ...store.Report) ([]store.Outcome, error) {
	for {
		outcomes, err := d.Store.Report(d.Context(), d.Now(), batch)
		if !errors.Is(err, store.ErrBusy) {
			return outcomes, err
		}
	}
}

func (d *Driver) reportOnce(entity string, r *store.Receipt) store.Outcome {
	d.Helper()
	out, err := d.tryReceipt(entity, r)
	if err != nil {
		d.Fatalf("report: %v", err)
	}
	return out
}

// wantFirst says that an item must have been done, and answered.
func (d *Driver) wantFirst(out store.Outcome) {
	d.Helper()
	want := fmt.Sprintf("%v %s %d", out.Error.ID, out.Error.State, out.Error.RetryCount)
	if out.Err != nil || out.Repeated || string(out.Answer) != want || out.Error.ID.IsZero() {
		d.Fatalf("answered with %q, repeated %v, %v; want %q", out.Answer, out.Repeated, out.Err, want)
	}
}

// wantAgain says that an item must be answered as the first time.
func (d *Driver) wantAgain(out, first store.Outcome) {
	d.Helper()
	if out.Err != nil || !out.Repeated || string(out.Answer) != string(first.Answer) || out.Error != (recoup.Error{}) {
		d.Fatalf("answered with %q, repeated %v, %v; want %q again", out.Answer, out.Repeated, out.Err, first.Answer)
	}
}

func (d *Driver) wantConflict(err error) {
	d.Helper()
	if !errors.Is(err, store.ErrConflict) {
		d.Fatalf("answered with %v, want a conflict", err)
	}
}

func receiptReport(d *Driver) {
	first := d.reportOnce("e1", d.receipt("a", "x"))
	d.wantFirst(first)
	d.Wait(time.Hour)
	d.wantAgain(d.reportOnce("e1", d.receipt("a", "x")), first)
	d.wantOpen(store.Filter{Entity: "e1"}, 1)
	d.wantHistory(first.Error.ID, "report")
	second := d.reportOnce("e1", d.receipt("b", "x"))
	d.wantFirst(second)
	d.wantState(first.Error.ID, recoup.Archived)
	d.wantAgain(d.reportOnce("e1", d.receipt("a", "x")), first)
}

func receiptConflict(d *Driver) {
	first := d.reportOnce("e1", d.receipt("a", "x"))
	out := d.reportOnce("e2", d.receipt("a", "y"))
	d.wantConflict(out.Err)
	d.wantOpen(store.Filter{Entity: "e2"}, 0)
	d.wantAgain(d.reportOnce("e1", d.receipt("a", "x")), first)
}

func (d *Driver) stepOnce(id recoup.ID, in lifecycle.Input, r *store.Receipt) store.Outcome {
	d.Helper()
	var made decision
	outcomes, err := d.Store.ApplySteps(d.Context(), d.Now(), []store.Step{{ID: id, Decide: d.decide(&made, in), Receipt: r}})
	if err != nil {
		d.Fatalf("step: %v", err)
	}
	return outcomes[0]
}

func receiptStep(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	first := d.stepOnce(e.ID, lifecycle.Park{By: "ada", Reason: "look"}, d.receipt("a", "park"))
	d.wantFirst(first)
	d.wantAgain(d.stepOnce(e.ID, lifecycle.Park{By: "ada", Reason: "look"}, d.receipt("a", "park")), first)
	d.wantConflict(d.stepOnce(e.ID, lifecycle.Resolve{By: "ada"}, d.receipt("a", "resolve")).Err)
	d.wantHistory(e.ID, "report", "park")
	d.wantFirst(d.stepOnce(e.ID, lifecycle.ArchiveNow{By: "ada"}, d.receipt("b", "archive")))
	d.wantAgain(d.stepOnce(e.ID, lifecycle.Park{By: "ada", Reason: "look"}, d.receipt("a", "park")), first)
	d.wantHistory(e.ID, "report", "park", "archive")
}

func receiptRefused(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	r := d.receipt("a", "unpark")
	d.wantRefusalOf(d.stepOnce(e.ID, lifecycle.Unpark{By: "ada"}, r), "unpark")
	if out := d.stepOnce(d.ID(), lifecycle.Unpark{By: "ada"}, r); !errors.Is(out.Err, sqldb.ErrNotFound) {
		d.Errorf("an unknown error is answered with %v", out.Err)
	}
	d.Park(e.ID, "look")
	d.wantFirst(d.stepOnce(e.ID, lifecycle.Unpark{By: "ada"}, d.receipt("a", "another")))
}

func receiptBatch(d *Driver) {
	var made [4]decision
	batch := make([]store.Report, len(made))
	for i, r := range []*store.Receipt{d.receipt("a", "x"), d.receipt("a", "x"), d.receipt("a", "y"), nil} {
		batch[i] = d.report(d.Failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium), &made[i])
		batch[i].Receipt = r
	}
	outcomes, err := d.tryReports(batch...)
	if err != nil {
		d.Fatalf("report: %v", err)
	}
	d.wantFirst(outcomes[0])
	d.wantAgain(outcomes[1], outcomes[0])
	d.wantConflict(outcomes[2].Err)
	if out := outcomes[3]; out.Err != nil || out.Answer != nil || out.Repeated {
		d.Errorf("an item without a receipt is answered with %q, %v, %v", out.Answer, out.Repeated, out.Err)
	}
	for i, want := range []int{1, 0, 0, 1} {
		d.wantOpen(store.Filter{Entity: fmt.Sprint("e", i)}, want)
	}
}

func receiptExpired(d *Driver) {
	r := d.receipt("a", "x")
	first := d.reportOnce("e1", r)
	d.WaitUntil(r.ExpiresAt.Add(-time.Microsecond))
	d.wantAgain(d.reportOnce("e1", d.receipt("a", "x")), first)
	d.WaitUntil(r.ExpiresAt)
	second := d.reportOnce("e1", d.receipt("a", "y"))
	d.wantFirst(second)
	d.wantAgain(d.reportOnce("e1", d.receipt("a", "y")), second)
	d.wantConflict(d.reportOnce("e1", d.receipt("a", "x")).Err)
}

func receiptScopes(d *Driver) {
	mine, yours := d.receipt("a", "x"), d.receipt("a", "y")
	yours.Scope = "k2 POST /v1/errors"
	yours.Answer = nil
	first := d.reportOnce("e1", mine)
	if out := d.reportOnce("e2", yours); out.Err != nil || out.Answer != nil || out.Repeated {
		d.Errorf("without an answer to render: %q, %v, %v", out.Answer, out.Repeated, out.Err)
	}
	if out := d.reportOnce("e2", yours); out.Err != nil || len(out.Answer) != 0 || !out.Repeated {
		d.Errorf("and again: %q, %v, %v", out.Answer, out.Repeated, out.Err)
	}
	d.wantAgain(d.reportOnce("e1", mine), first)
	long := d.receipt(strings.Repeat("ключ ", 40), "x")
	long.Answer = func(store.Outcome) []byte { return []byte(strings.Repeat("\x00\xff long", 2000)) }
	d.reportOnce("e3", long)
	if out := d.reportOnce("e3", long); string(out.Answer) != string(long.Answer(out)) {
		d.Errorf("%d bytes came back of a long answer", len(out.Answer))
	}
}

// receiptUndone has a batch refused as a whole by the database.
func receiptUndone(d *Driver) {
	var made [2]decision
	batch := make([]store.Report, len(made))
	for i := range batch {
		batch[i] = d.report(d.Failing(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium), &made[i])
	}
	batch[0].Receipt = d.receipt("a", "x")
	decide := batch[1].Decide
	batch[1].Decide = func(current *recoup.Error, streak int, now time.Time) (recoup.Error, lifecycle.Effects, error) {
		next, effects, err := decide(current, streak, now)
		next.Disposition = recoup.DispositionIgnore
		return next, effects, err
	}
	if _, err := d.Store.Report(d.Context(), d.Now(), batch); !errors.Is(err, store.ErrRefused) {
		d.Fatalf("the database answered with %v", err)
	}
	d.wantFirst(d.reportOnce("e0", d.receipt("a", "y")))
}

func (d *Driver) promoteOnce(entity, payload string, rendered *atomic.Int64) (store.Promoted, error) {
	p := store.Promotion{ID: d.ID(), Entity: entity, Phase: "enrichment", By: "ada", At: d.Now()}
	p.Receipt = &store.PromotionReceipt{
		Scope: "k1 POST /v1/promotions", Key: "a", Hash: hashOf(payload), ExpiresAt: d.Now().Add(day),
		Answer: func(done store.Promoted) []byte {
			rendered.Add(1)
			return fmt.Append(nil, done)
		},
	}
	for {
		done, _, err := d.Store.Promote(d.Context(), p)
		if !errors.Is(err, store.ErrBusy) {
			return done, err
		}
	}
}

func receiptPromotion(d *Driver) {
	var rendered atomic.Int64
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if _, err := d.promoteOnce("e1", "x", &rendered); !errors.Is(err, store.ErrBlocked) {
		d.Fatalf("a blocked entity is answered with %v", err)
	}
	d.Resolve(e.ID)
	done, err := d.promoteOnce("e1", "x", &rendered)
	if err != nil || done.Seq == 0 || !done.At.Equal(d.Now()) {
		d.Fatalf("promote: %v, %v", done, err)
	}
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	var repeat *store.Repeat
	if _, err := d.promoteOnce("e1", "x", &rendered); !errors.As(err, &repeat) || string(repeat.Answer) != fmt.Sprint(done) {
		d.Errorf("again it is answered with %v (%+v), want %v", err, repeat, done)
	}
	_, err = d.promoteOnce("e2", "y", &rendered)
	d.wantConflict(err)
	d.wantPromotions("e1", 1)
	d.wantPromotions("e2", 0)
}

// wantPromotions says how often an entity must have gone on.
func (d *Driver) wantPromotions(entity string, want int) {
	d.Helper()
	log, err := d.Store.GateLog(d.Context(), entity, sqldb.MaxPage)
	if err != nil {
		d.Fatalf("gate log: %v", err)
	}
	got := 0
	for _, entry := range log {
		if entry.Act == store.GatePromote {
			got++
		}
	}
	if got != want {
		d.Errorf("%s went on %d times, want %d", entity, got, want)
	}
}

func raceReceipt(d *Driver) {
	var done, promoted, rendered atomic.Int64
	answers := make([]string, crowd)
	d.together(crowd, func(i int) error {
		out, err := d.tryReceipt(fmt.Sprint("e", i), d.receipt("a", "x")) // so that they meet at nothing but the receipt
		if err != nil {
			return err
		}
		if !out.Repeated {
			done.Add(1)
		}
		answers[i] = string(out.Answer)
		_, err = d.promoteOnce("free", "x", &rendered)
		if repeat := (*store.Repeat)(nil); err == nil {
			promoted.Add(1)
		} else if !errors.As(err, &repeat) {
			return err
		}
		return nil
	})
	if done.Load() != 1 || promoted.Load() != 1 {
		d.Errorf("reported %d times and promoted %d times", done.Load(), promoted.Load())
	}
	for i := range answers {
		if answers[i] != answers[0] || answers[i] == "" {
			d.Errorf("answered were %q and %q", answers[0], answers[i])
		}
	}
	d.wantOpen(store.Filter{Table: dol}, 1)
	d.wantPromotions("free", 1)
}

func raceReceipts(d *Driver) {
	const items = 8
	var done atomic.Int64
	d.together(crowd, func(i int) error {
		made := make([]decision, items)
		batch := make([]store.Report, items)
		for j := range batch {
			n := j
			if i%2 == 1 {
				n = items - 1 - j
			}
			batch[j] = d.report(d.Failing(dol, fmt.Sprint("e", n), "NETWORK_TIMEOUT", recoup.Medium), &made[j])
			batch[j].Receipt = d.receipt(fmt.Sprint(n), "x")
		}
		outcomes, err := d.tryReports(batch...)
		for _, out := range outcomes {
			if out.Err == nil && !out.Repeated {
				done.Add(1)
			}
			err = errors.Join(err, out.Err)
		}
		return err
	})
	if done.Load() != items {
		d.Errorf("%d things were done, want %d", done.Load(), items)
	}
	d.wantOpen(store.Filter{Table: dol}, items)
}
