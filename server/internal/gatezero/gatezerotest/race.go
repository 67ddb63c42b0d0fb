package gatezerotest

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func gateRaces() []gateClause {
	return []gateClause{
		{"sixteen claimers get each recovery exactly once", gateRaceClaims},
		{"of sixteen results with one token exactly one counts", gateRaceResults},
		{"of sixteen first failures of one intake exactly one begins a recovery", gateRaceFirst},
		{"of imports of one file at once each line comes once", gateRaceImports},
		{"when a kill returns nothing in its batch is leased, however many claim", gateRaceKill},
		{"claims, results, kills and freezes at once leave one truth", gateRaceEverything},
	}
}

// together runs n functions at once and reports what they return.
func (d *gateDriver) together(n int, run func(i int) error) {
	d.Helper()
	start := make(chan struct{})
	results := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = untilFree(func() error { return run(i) })
		})
	}
	close(start)
	all.Wait()
	d.must(errors.Join(results...))
}

// untilFree tries again as long as a lock could not be had.
func untilFree(run func() error) error {
	for {
		if err := run(); !errors.Is(err, store.ErrBusy) {
			return err
		}
	}
}

func gateRaceClaims(d *gateDriver) {
	const each = 60
	for _, batch := range []string{"b1", "b2", ""} {
		if batch != "" {
			d.batch(batch)
		}
		d.failAll(d.intakes(batch, each))
	}
	d.wait(day)
	claimed := make([][]gatezero.Case, crowd)
	d.together(crowd, func(i int) error {
		for {
			got, err := d.tryClaim(fmt.Sprint("w", i), 7)
			if err != nil {
				return err
			}
			claimed[i] = append(claimed[i], got...)
			if len(got) == 0 {
				return nil
			}
		}
	})
	rest := d.claim(sqldb.MaxPage) // left over because others looked at it
	all := slices.Concat(append(claimed, rest)...)
	for _, c := range all {
		if got := d.read(c.Intake.ID); got.Lease.LeaseToken != c.Lease.LeaseToken {
			d.Errorf("%v is stored with another lease than was answered", c.Recovery.ID)
		}
	}
	ids := recoveryIDs(all)
	slices.SortFunc(ids, func(a, b recoup.ID) int { return bytes.Compare(a[:], b[:]) })
	if once := slices.Compact(slices.Clone(ids)); len(once) != 3*each || len(ids) != 3*each {
		d.Errorf("%d claims were given of %d recoveries, want each of %d once", len(ids), len(once), 3*each)
	}
}

// failAll records the first failure of many intakes.
func (d *gateDriver) failAll(intakes []recoup.ID) {
	d.Helper()
	steps := make([]gatezero.CaseStep, len(intakes))
	for i, id := range intakes {
		steps[i] = gatezero.CaseStep{ID: id, Decide: d.step(gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()})}
	}
	outcomes, err := d.store.RecordResults(d.Context(), steps)
	d.must(err)
	for _, out := range outcomes {
		d.must(out.Err)
	}
}

func gateRaceResults(d *gateDriver) {
	d.batch("b1")
	for range 5 {
		c := d.claimed(d.failed("b1"))
		answers := make([]error, crowd)
		d.together(crowd, func(i int) error {
			var in gatezero.Input = failing(c, "TIMEOUT")
			if i%2 == 0 {
				in = d.pass(c)
			}
			_, answers[i] = d.finish(c.Recovery.ID, in)
			if errors.Is(answers[i], store.ErrBusy) {
				return answers[i]
			}
			return nil
		})
		counted := 0
		for _, err := range answers {
			var refusal *gatezero.Refusal
			switch {
			case err == nil:
				counted++
			case !errors.As(err, &refusal):
				d.Errorf("answered with %v", err)
			}
		}
		if counted != 1 {
			d.Errorf("%d results counted", counted)
		}
	}
	d.checkCounts("b1")
}

func gateRaceFirst(d *gateDriver) {
	d.batch("b1")
	intake := d.intakes("b1", 1)[0]
	var mu sync.Mutex
	var begun []gatezero.Case
	d.together(crowd, func(int) error {
		c, err := d.record(intake, gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()})
		var refusal *gatezero.Refusal
		if err != nil && !errors.As(err, &refusal) {
			return err
		}
		if err == nil {
			mu.Lock()
			defer mu.Unlock()
			begun = append(begun, c)
		}
		return nil
	})
	if len(begun) != 1 {
		d.Fatalf("%d recoveries began", len(begun))
	}
	d.wantStored(begun[0])
	d.wantEvents(intake, "FAIL")
	d.checkCounts("b1")
}

func gateRaceImports(d *gateDriver) {
	d.batch("b1")
	const lines = 200
	added := make([]int, crowd/2)
	d.together(len(added), func(i int) error {
		list := d.candidates(0, lines)
		rand.New(rand.NewPCG(1, uint64(i))).Shuffle(lines, func(a, b int) { list[a], list[b] = list[b], list[a] })
		got, err := d.store.ImportIntakes(d.Context(), "b1", d.now, list)
		added[i] = got.Added
		return err
	})
	total := 0
	for _, n := range added {
		total += n
	}
	s, err := d.store.Batch(d.Context(), "b1")
	d.must(err)
	if total != lines || s.Intakes[recoup.IntakePending] != lines {
		d.Errorf("%d lines were added and %d are stored, want %d", total, s.Intakes[recoup.IntakePending], lines)
	}
}

func gateRaceKill(d *gateDriver) {
	d.batch("b1")
	d.failAll(d.intakes("b1", 100))
	d.wait(day)
	for range 5 {
		d.together(crowd, func(i int) error {
			if i == 0 {
				_, err := d.store.StepBatch(d.Context(), "b1", d.step(gatezero.Kill{By: "ada"}))
				return err
			}
			claimed, err := d.tryClaim(fmt.Sprint("w", i), 5)
			for _, c := range claimed {
				_, err := d.finish(c.Recovery.ID, gatezero.Pass{Token: d.id()}) // a stranger
				var refusal *gatezero.Refusal
				if !errors.As(err, &refusal) {
					return fmt.Errorf("a stranger is answered with %w", err)
				}
			}
			return err
		})
		list, _, err := d.store.Eligible(d.Context(), "b1", d.now, sqldb.Page{Limit: sqldb.MaxPage})
		d.must(err)
		for _, c := range list {
			if c.Lease != (gatezero.RecoveryLease{}) || c.Recovery.AttemptCount != 1 {
				d.Errorf("after the kill: %+v", c)
			}
		}
		if len(list) != 100 {
			d.Errorf("%d are eligible after the kill", len(list))
		}
		d.stepBatch("b1", gatezero.Release{By: "ada"})
	}
}

// gateRaceEverything lets all verbs loose on one batch. What they decide among
// themselves is theirs; afterwards what is stored must fit together.
func gateRaceEverything(d *gateDriver) {
	d.batch("b1")
	d.failAll(d.intakes("b1", 60))
	pending := d.intakes("b1", 40)
	d.stepBatch("b1", gatezero.Complete{})
	d.wait(14*day - gateLease)
	freezing := d.now.Add(gateLease)
	d.together(crowd/2, func(i int) error {
		random := rand.New(rand.NewPCG(2, uint64(i)))
		for range 25 {
			if err := untilFree(func() error { return d.gateAnything(random, pending, freezing) }); err != nil {
				return err
			}
		}
		return nil
	})
	d.stepBatch("b1", gatezero.Release{})
	for _, id := range d.known {
		c := d.read(id)
		rows, err := d.store.Timeline(d.Context(), id, sqldb.MaxPage)
		d.must(err)
		d.checkStory(c, rows)
	}
	d.checkCounts("b1")
}

func (d *gateDriver) gateAnything(random *rand.Rand, pending []recoup.ID, freezing time.Time) error {
	var err error
	switch random.IntN(8) {
	case 0:
		_, err = d.store.StepBatch(d.Context(), "b1", d.step(gatezero.Kill{By: "ada"}))
	case 1, 2:
		_, err = d.store.StepBatch(d.Context(), "b1", d.step(gatezero.Release{By: "ada"}))
	case 3:
		_, err = d.store.FreezeDue(d.Context(), freezing, 2, func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
			return gatezero.Step(d.gate, c, gatezero.Freeze{}, freezing)
		})
	case 4:
		_, err = d.record(pending[random.IntN(len(pending))], gatezero.Fail{Reason: "TIMEOUT", RecoveryID: d.id()})
	default:
		var claimed []gatezero.Case
		claimed, err = d.tryClaim("w", 3)
		for _, c := range claimed {
			var in gatezero.Input = failing(c, "STATE_MISSING")
			if random.IntN(2) == 0 {
				in = d.pass(c)
			}
			if _, failed := d.finish(c.Recovery.ID, in); failed != nil {
				err = failed
			}
		}
	}
	var refusal *gatezero.Refusal
	if errors.As(err, &refusal) {
		return nil
	}
	return err
}

// checkStory says that a case and its rows in the AIR agree.
func (d *gateDriver) checkStory(c gatezero.Case, rows []recoup.IntakeEvent) {
	d.Helper()
	n := map[recoup.AIREvent]int{}
	for _, row := range rows {
		n[row.Event]++
	}
	r := c.Recovery
	switch {
	case c.Intake.PreviousID != recoup.ID{}:
		if c.Intake.Status != recoup.IntakeAuthorized || n["REENTER"] != 1 {
			d.Errorf("a re-entered intake: %+v, %v", c, n)
		}
	case r.Status == "":
		if len(rows) != 0 || c.Intake.Status != recoup.IntakePending {
			d.Errorf("an untouched intake: %+v, %v", c, n)
		}
	case n["FAIL"] != r.AttemptCount, n["AUTH"] != n["REENTER"],
		(r.Status == recoup.RecoverySucceeded) != (n["AUTH"] == 1),
		(r.Status == recoup.RecoveryExhausted) != (n["EXHAUSTED"] == 1),
		(c.Intake.Status == recoup.IntakeReenterSucceeded) != (r.Status == recoup.RecoverySucceeded),
		r.Status != recoup.RecoveryActive && c.Lease != (gatezero.RecoveryLease{}):
		d.Errorf("stored is %+v, the AIR tells of %v", c, n)
	}
}
