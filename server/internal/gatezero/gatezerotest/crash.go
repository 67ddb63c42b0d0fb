package gatezerotest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// gatePass is an entry of a gate victim's journal: a pass that is about to be
// recorded, or one that was acknowledged.
type gatePass struct {
	Old, New recoup.ID // intakes
	Recovery recoup.ID
	Done     bool
	Pad      string // makes a journal long enough to strike at any of its moments
}

// gateBatch is how many passes a victim records at once.
const gateBatch = 8

// Victim passes retries, from several goroutines, until it is killed or the store
// fails, and reports to its parent in a journal: each pass before the store can
// commit it, and again when it was acknowledged. See [conformance.Victim].
func Victim(t conformance.TB, s Database) error {
	ctx, end := context.WithCancel(t.Context())
	defer end()
	out := json.NewEncoder(conformance.Journal(end))
	d := newGateDriver(t, s)
	d.batch("b1")
	var mu sync.Mutex
	write := func(p gatePass) {
		mu.Lock()
		defer mu.Unlock()
		_ = out.Encode(p) // whoever reads sees its end
	}
	errs := make([]error, conformance.Hands)
	var all sync.WaitGroup
	for hand := range errs {
		all.Go(func() {
			for errs[hand] == nil && ctx.Err() == nil {
				errs[hand] = d.passSome(ctx, write)
			}
		})
	}
	all.Wait()
	return errors.Join(append(errs, ctx.Err())...)
}

// passSome leads a few intakes from their import to a pass of their first retry.
func (d *gateDriver) passSome(ctx context.Context, write func(gatePass)) error {
	now, later := d.now, d.now.Add(day)
	list := make([]recoup.Intake, gateBatch)
	fails := make([]gatezero.CaseStep, gateBatch)
	at := func(in gatezero.Input) gatezero.DecideCase {
		return func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(d.gate, c, in, now)
		}
	}
	for i := range list {
		list[i] = recoup.Intake{ID: d.ids.New(now), CompanyName: "Company"}
		fails[i] = gatezero.CaseStep{ID: list[i].ID, Decide: at(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.ids.New(now)})}
	}
	if _, err := d.store.ImportIntakes(ctx, "b1", now, list); err != nil {
		return err
	}
	if _, err := d.store.RecordResults(ctx, fails); err != nil {
		return err
	}
	claimed, err := d.store.ClaimEligible(ctx, gatezero.RecoveryClaim{Limit: gateBatch, Now: later,
		Decide: func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(d.gate, c, gatezero.Claim{Token: d.ids.New(later), Worker: "w1", Lease: gateLease}, later)
		}})
	if err != nil {
		return err
	}
	return d.passAll(ctx, claimed, write)
}

func (d *gateDriver) passAll(ctx context.Context, claimed []gatezero.Case, write func(gatePass)) error {
	later := d.now.Add(day)
	var steps []gatezero.CaseStep
	var passes []gatePass
	for _, c := range claimed {
		in := gatezero.Pass{Token: c.Lease.LeaseToken, NewIntakeID: d.ids.New(later)}
		p := gatePass{Old: c.Intake.ID, New: in.NewIntakeID, Recovery: c.Recovery.ID, Pad: string(bytes.Repeat([]byte{'.'}, 400))}
		write(p)
		passes = append(passes, p)
		steps = append(steps, gatezero.CaseStep{ID: c.Recovery.ID, Decide: func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(d.gate, c, in, later)
		}})
	}
	outcomes, err := d.store.FinishRecoveries(ctx, steps)
	if err != nil {
		return err
	}
	for i, p := range passes {
		if outcomes[i].Err != nil {
			return outcomes[i].Err
		}
		p.Done = true
		write(p)
	}
	return nil
}

// Survived holds a store to the journal of a gate victim: every pass has all
// of its five effects or none, and every acknowledged one has them. It returns how
// many passes are there.
func Survived(t conformance.TB, s Database, journal io.Reader) (passed int) {
	t.Helper()
	d := newGateDriver(t, s)
	done := map[recoup.ID]gatePass{}
	for in := json.NewDecoder(journal); ; {
		var p gatePass
		if in.Decode(&p) != nil {
			break // it died in the middle of a word
		}
		if p.Done || !done[p.Old].Done {
			done[p.Old] = p
		}
	}
	for _, p := range done {
		effects := d.effectsOf(p)
		switch n := countTrue(effects); {
		case n == 5:
			passed++
		case n != 0 || p.Done:
			t.Errorf("of a pass (acknowledged: %t) there are %v", p.Done, effects)
		}
	}
	d.countsAddUp("b1")
	return passed
}

// effectsOf are the five effects of spec 004, 9, each as far as it is there.
func (d *gateDriver) effectsOf(p gatePass) []bool {
	d.Helper()
	old := d.read(p.Old)
	rows, err := d.store.Timeline(d.Context(), p.Old, sqldb.MaxPage)
	d.must(err)
	has := func(event recoup.AIREvent) bool {
		return slices.ContainsFunc(rows, func(r recoup.IntakeEvent) bool {
			return r.Event == event && (event != recoup.AIRReenter || r.NewIntakeID == p.New)
		})
	}
	fresh, err := d.store.Intake(d.Context(), p.New)
	if err != nil && !errors.Is(err, sqldb.ErrNotFound) {
		d.must(err)
	}
	return []bool{
		has(recoup.AIRAuth), has(recoup.AIRReenter), fresh.Intake.Status == recoup.IntakeAuthorized && fresh.Intake.PreviousID == p.Old,
		old.Intake.Status == recoup.IntakeReenterSucceeded, old.Recovery.Status == recoup.RecoverySucceeded,
	}
}

func countTrue(list []bool) (n int) {
	for _, yes := range list {
		if yes {
			n++
		}
	}
	return n
}

// countsAddUp says that a batch counts what is listed.
func (d *gateDriver) countsAddUp(batch string) {
	d.Helper()
	b, err := d.store.Batch(d.Context(), batch)
	if errors.Is(err, sqldb.ErrNotFound) {
		return
	}
	d.must(err)
	got := map[recoup.IntakeStatus]int64{}
	for p := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		list, next, err := d.store.Intakes(d.Context(), recoup.IntakeFilter{BatchID: batch}, p)
		d.must(err)
		for i := range list {
			got[list[i].Status]++
		}
		if p.Cursor = next; next.IsZero() {
			break
		}
	}
	for _, status := range recoup.IntakeStatuses() {
		if got[status] != b.Intakes[status] {
			d.Errorf("%d intakes are %s, and %d are counted", got[status], status, b.Intakes[status])
		}
	}
	if n := b.Recoveries[recoup.RecoverySucceeded]; n != got[recoup.IntakeReenterSucceeded] || n != got[recoup.IntakeAuthorized] {
		d.Errorf("%d succeeded, and the intakes are %v", n, got)
	}
}
