// Package gatezerotest is the suite of Gate Zero on a database: what it demands is what
// correct means. Run is called by the tests of gatezero with a function that opens a fresh,
// migrated database of either kind.
package gatezerotest

import (
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// Database is a store that has the tables of Gate Zero, and the audit.
type Database interface {
	SQL() sqldb.DB
	store.AuditReader
	Close() error
}

// Gate is Gate Zero on a database.
type Gate struct {
	*gatezero.Store
	Database
}

const (
	minute = time.Minute
	day    = 24 * time.Hour
	crowd  = 16 // how many do something at once
)

// gateClause is one sentence about Gate Zero and how it is tried.
type gateClause struct {
	says string
	try  func(d *gateDriver)
}

// Run holds a database to the specification of Gate Zero. Each clause runs in
// parallel on a fresh store; open registers its own clean-up.
func Run(t *testing.T, open func(t *testing.T) Database) {
	clauses := slices.Concat(gateImports(), gateResults(), gateClaims(), gateKills(), gateFreezes(),
		gateLists(), gateIntakeClaims(), gateAtomicity(), gateFaults(), gateRaces())
	for _, c := range clauses {
		t.Run(c.says, func(t *testing.T) {
			t.Parallel()
			c.try(newGateDriver(t, open(t)))
		})
	}
}

// gateDriver leads intakes through Gate Zero with the real state machine, the
// default policy and a clock that is moved by hand.
type gateDriver struct {
	conformance.TB
	store Gate
	gate  policy.GateZero
	ids   *recoup.IDSource
	now   time.Time

	mu    sync.Mutex
	known []recoup.ID // every intake
}

func newGateDriver(t conformance.TB, s Database) *gateDriver {
	return &gateDriver{TB: t, store: Gate{gatezero.NewStore(s.SQL()), s}, gate: policy.Default().Gate, ids: recoup.NewIDSource(rand.Reader), now: conformance.Epoch()}
}

// gateLease is for how long the driver's workers hold a recovery.
const gateLease = 10 * time.Minute

// wait moves the clock on.
func (d *gateDriver) wait(by time.Duration) { d.now = d.now.Add(by) }

func (d *gateDriver) id() recoup.ID { return d.ids.New(d.now) }

// step is the decision about an input, at the time it is now.
func (d *gateDriver) step(in gatezero.Input) gatezero.DecideCase {
	now := d.now
	return func(current gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
		return gatezero.Step(d.gate, current, in, now)
	}
}

func (d *gateDriver) must(err error) {
	d.Helper()
	if err != nil {
		d.Fatalf("%v", err)
	}
}

// batch makes a batch.
func (d *gateDriver) batch(id string) string {
	d.Helper()
	_, err := d.store.CreateBatch(d.Context(), id, d.now)
	d.must(err)
	return id
}

// candidates are n companies, the first with the given line of its import.
func (d *gateDriver) candidates(line, n int) []recoup.Intake {
	list := make([]recoup.Intake, n)
	for i := range list {
		list[i] = recoup.Intake{
			ID: d.id(), ImportKey: fmt.Sprint(line + i), CompanyName: fmt.Sprintf("Company %d", line+i),
			Domain: fmt.Sprintf("company%d.example", line+i), LinkedInURL: fmt.Sprintf("linkedin.example/%d", line+i), State: "OH",
		}
	}
	return list
}

// intakes imports n companies into a batch, or into none.
func (d *gateDriver) intakes(batch string, n int) []recoup.ID {
	d.Helper()
	list := d.candidates(len(d.known), n)
	got, err := d.store.ImportIntakes(d.Context(), batch, d.now, list)
	d.must(err)
	if got != (gatezero.ImportCount{Added: n}) {
		d.Fatalf("imported %+v, want %d", got, n)
	}
	ids := make([]recoup.ID, n)
	for i := range list {
		ids[i] = list[i].ID
	}
	d.know(ids...)
	return ids
}

func (d *gateDriver) know(ids ...recoup.ID) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.known = append(d.known, ids...)
}

// record hands the first result of an intake to the store.
func (d *gateDriver) record(intake recoup.ID, in gatezero.Input) (gatezero.Case, error) {
	return only(d.store.RecordResults(d.Context(), []gatezero.CaseStep{{ID: intake, Decide: d.step(in)}}))
}

// finish hands the result of a retry to the store.
func (d *gateDriver) finish(id recoup.ID, in gatezero.Input) (gatezero.Case, error) {
	c, err := only(d.store.FinishRecoveries(d.Context(), []gatezero.CaseStep{{ID: id, Decide: d.step(in)}}))
	if pass, ok := in.(gatezero.Pass); ok && err == nil {
		d.know(pass.NewIntakeID)
	}
	return c, err
}

func only(outcomes []gatezero.CaseOutcome, err error) (gatezero.Case, error) {
	if err != nil {
		return gatezero.Case{}, err
	}
	return outcomes[0].Case, outcomes[0].Err
}

// failed imports a company into a batch, or into none, and fails it.
func (d *gateDriver) failed(batch string) gatezero.Case {
	d.Helper()
	return d.fails(d.intakes(batch, 1)[0])
}

// fails records the first failure of an intake.
func (d *gateDriver) fails(intake recoup.ID) gatezero.Case {
	d.Helper()
	c, err := d.record(intake, gatezero.Fail{Reason: "STATE_MISMATCH", RecoveryID: d.id(), Worker: "w0"})
	d.must(err)
	return c
}

// claim claims up to n recoveries.
func (d *gateDriver) claim(n int) []gatezero.Case {
	d.Helper()
	list, err := d.tryClaim("w1", n)
	d.must(err)
	return list
}

func (d *gateDriver) tryClaim(worker string, n int) ([]gatezero.Case, error) {
	now := d.now
	return d.store.ClaimEligible(d.Context(), gatezero.RecoveryClaim{Limit: n, Now: now,
		Decide: func(current gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			in := gatezero.Claim{Token: d.ids.New(now), Worker: worker, Lease: gateLease}
			return gatezero.Step(d.gate, current, in, now)
		}})
}

// claimed claims a recovery as soon as it is eligible.
func (d *gateDriver) claimed(c gatezero.Case) gatezero.Case {
	d.Helper()
	d.now = c.Recovery.NextEligibleAt
	return d.claimedNow(c)
}

func (d *gateDriver) claimedNow(c gatezero.Case) gatezero.Case {
	d.Helper()
	for _, got := range d.claim(sqldb.MaxPage) {
		if got.Recovery.ID == c.Recovery.ID {
			return got
		}
	}
	d.Fatalf("%v was not to be claimed", c.Recovery.ID)
	return gatezero.Case{}
}

func (d *gateDriver) pass(c gatezero.Case) gatezero.Pass {
	return gatezero.Pass{Token: c.Lease.LeaseToken, NewIntakeID: d.id()}
}

func failing(c gatezero.Case, reason string) gatezero.Fail {
	return gatezero.Fail{Token: c.Lease.LeaseToken, Reason: reason}
}

// stepBatch applies an input to a batch.
func (d *gateDriver) stepBatch(id string, in gatezero.Input) recoup.IntakeBatch {
	d.Helper()
	b, err := d.store.StepBatch(d.Context(), id, d.step(in))
	d.must(err)
	return b
}

// freeze runs the freeze and says how many recoveries it must end.
func (d *gateDriver) freeze(limit, want int) {
	d.Helper()
	got, err := d.store.FreezeDue(d.Context(), d.now, limit, d.step(gatezero.Freeze{}))
	d.must(err)
	if got != want {
		d.Errorf("the freeze ended %d recoveries, want %d", got, want)
	}
}

// wantRefused says that an answer is a refusal with this code.
func (d *gateDriver) wantRefused(err error, code recoup.Code) {
	d.Helper()
	var refusal *gatezero.Refusal
	if !errors.As(err, &refusal) || refusal.Code != code {
		d.Errorf("answered with %v, want %s", err, code)
	}
}

// read reads the case of an intake.
func (d *gateDriver) read(intake recoup.ID) gatezero.Case {
	d.Helper()
	c, err := d.store.Intake(d.Context(), intake)
	d.must(err)
	return c
}

// wantStored says that a case is stored exactly as it was answered.
func (d *gateDriver) wantStored(want ...gatezero.Case) {
	d.Helper()
	for _, c := range want {
		if got := d.read(c.Intake.ID); got != c {
			d.Errorf("stored is\n%+v, answered was\n%+v", got, c)
		}
	}
}

// wantEvents says which events the AIR must have of an intake, in order.
func (d *gateDriver) wantEvents(intake recoup.ID, want ...recoup.AIREvent) []recoup.IntakeEvent {
	d.Helper()
	rows, err := d.store.Timeline(d.Context(), intake, sqldb.MaxPage)
	d.must(err)
	return d.sameEvents(rows, want)
}

// wantBatchEvents says which events the AIR must have of a batch, in order.
func (d *gateDriver) wantBatchEvents(batch string, want ...recoup.AIREvent) []recoup.IntakeEvent {
	d.Helper()
	rows, err := d.store.BatchTimeline(d.Context(), batch, sqldb.MaxPage)
	d.must(err)
	return d.sameEvents(rows, want)
}

func (d *gateDriver) sameEvents(rows []recoup.IntakeEvent, want []recoup.AIREvent) []recoup.IntakeEvent {
	d.Helper()
	got := make([]recoup.AIREvent, len(rows))
	for i := range rows {
		got[i] = rows[i].Event
	}
	if !slices.Equal(got, want) {
		d.Fatalf("the AIR tells of %v, want %v", got, want)
	}
	return rows
}

// checkCounts says that every batch counts what is stored, also when the counts
// are folded.
func (d *gateDriver) checkCounts(batches ...string) {
	d.Helper()
	want := map[string]map[string]int64{}
	for _, id := range d.known {
		c := d.read(id)
		if want[c.Batch.ID] == nil {
			want[c.Batch.ID] = map[string]int64{}
		}
		want[c.Batch.ID][string(c.Intake.Status)]++
		if c.Recovery.Status != "" {
			want[c.Batch.ID][string(c.Recovery.Status)]++
		}
	}
	for range 2 {
		for _, id := range batches {
			s, err := d.store.Batch(d.Context(), id)
			d.must(err)
			got := map[string]int64{}
			for status, n := range s.Intakes {
				got[string(status)] = n
			}
			for status, n := range s.Recoveries {
				got[string(status)] = n
			}
			if fmt.Sprint(got) != fmt.Sprint(want[id]) {
				d.Errorf("batch %s counts %v, want %v", id, got, want[id])
			}
		}
		d.must(d.store.FoldBatchCounts(d.Context()))
	}
}
