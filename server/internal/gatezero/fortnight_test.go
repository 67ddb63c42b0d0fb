package gatezero_test

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqlite/sqlitetest"
)

// fortnight is a batch from its import to its freeze, on an embedded store and
// under a clock that is moved by hand. Workers claim every half hour and report half
// an hour later, if they are not lost or late.
type fortnight struct {
	testing.TB
	*gatezero.Service
	store  *gatezero.Store
	gate   policy.GateZero
	chance *mathrand.Rand
	now    time.Time

	work    []report // claimed, and not yet reported
	killed  [][2]time.Time
	counted map[string]int64 // what the answers to results add up to
	refused map[recoup.Code]int
}

// report is a result that is on its way.
type report struct {
	recoup.GateZeroResult
	due time.Time
}

const (
	fortnightBatch = "2026_annual_outreach"
	workerLease    = 50 * time.Minute
	turn           = 30 * time.Minute
)

// Everything that a batch can live through in its fortnight: passes, failures of
// every kind, workers that are lost or late, a kill switch that is used twice, a
// freeze. In the end the counts add up, and every intake's record is legal.
// RECOUP_SOAK=1 makes it a batch of 100,000.
func TestFortnight(t *testing.T) {
	t.Parallel()
	size := 800
	switch {
	case os.Getenv("RECOUP_SOAK") != "":
		size = 100_000
	case testing.Short():
		size = 120
	}
	f := newFortnight(t, 7)
	f.imports(size)
	done, err := f.Complete(t.Context(), fortnightBatch, store.Act{By: "ada", At: f.now})
	f.must(err)
	if !done.FreezeAt.Equal(f.now.Add(14 * day)) {
		t.Fatalf("it freezes at %v", done.FreezeAt)
	}
	begin := f.now
	for f.now.Before(done.FreezeAt) {
		f.turn(size)
		switch f.now.Sub(begin) {
		case 30 * hour, 6 * day:
			f.kill()
		case 41 * hour, 7 * day:
			f.release()
		}
	}
	f.freeze()
	f.verify(size, done.FreezeAt)
	t.Logf("%d intakes: %v; refused: %v", size, f.counted, f.refused)
}

func newFortnight(t *testing.T, seed uint64) *fortnight {
	s := sqlitetest.Open(t)
	f := &fortnight{
		TB: t, store: gatezero.NewStore(s.SQL()), gate: policy.Default().Gate, chance: mathrand.New(mathrand.NewPCG(seed, seed)), now: epoch,
		counted: map[string]int64{}, refused: map[recoup.Code]int{},
	}
	s.UseClock(func() time.Time { return f.now })
	var err error
	f.Service, err = gatezero.New(gatezero.Options{
		Store: f.store, Audit: s, Gate: func() policy.GateZero { return f.gate }, Now: func() time.Time { return f.now }, IDs: recoup.NewIDSource(rand.Reader),
	})
	f.must(err)
	return f
}

func (f *fortnight) must(err error) {
	f.Helper()
	if err != nil {
		f.Fatal(err)
	}
}

// imports takes in a file.
func (f *fortnight) imports(size int) {
	var file strings.Builder
	file.WriteString("company_name,domain\n")
	for i := range size {
		fmt.Fprintf(&file, "Company %d,company%d.example\n", i, i)
	}
	rows, err := gatezero.ReadRows(gatezero.CSV, strings.NewReader(file.String()))
	f.must(err)
	_, err = f.CreateBatch(f.Context(), fortnightBatch)
	f.must(err)
	for added := 0; added < size; {
		list, err := rows.Take(5000)
		f.must(err)
		done, err := f.Import(f.Context(), fortnightBatch, list)
		f.must(err)
		added += done.Added
	}
}

// turn reports what is due, and claims what there is, up to what workers can do.
func (f *fortnight) turn(size int) {
	f.now = f.now.Add(turn)
	var due []recoup.GateZeroResult
	rest := f.work[:0]
	for _, r := range f.work {
		if r.due.After(f.now) {
			rest = append(rest, r)
		} else {
			due = append(due, r.GateZeroResult)
		}
	}
	f.work = rest
	for len(due) > 0 {
		n := min(len(due), 500)
		f.record(due[:n])
		due = due[n:]
	}
	for left := size/12 + 1; left > 0; {
		claimed, err := f.Claim(f.Context(), recoup.GateZeroClaim{Worker: "w1", Limit: min(left, 500), LeaseSeconds: int(workerLease.Seconds())})
		f.must(err)
		if len(claimed) == 0 {
			return
		}
		left -= len(claimed)
		f.look(claimed)
	}
}

// look decides what comes of verifications.
func (f *fortnight) look(claimed []gatezero.Case) {
	for _, c := range claimed {
		if c.Batch.Stopped() || c.Recovery.Status == recoup.RecoveryActive && f.now.Before(c.Recovery.NextEligibleAt) {
			f.Fatalf("claimed is %+v", c)
		}
		r := report{GateZeroResult: recoup.GateZeroResult{IntakeID: c.Intake.ID, RecoveryID: c.Recovery.ID, LeaseToken: c.Lease.LeaseToken, Worker: "w1", Verdict: recoup.VerdictFail}, due: f.now.Add(turn)}
		if f.chance.IntN(100) < 30 {
			r.Verdict = recoup.VerdictPass
		} else {
			r.Reason = f.gate.Reasons[f.chance.IntN(len(f.gate.Reasons))].Name
		}
		switch n := f.chance.IntN(100); {
		case n < 4:
			continue // the worker is lost
		case n < 8:
			r.due = f.now.Add(3 * turn) // late
		}
		f.work = append(f.work, r)
	}
}

// record reports results, and counts what came of them.
func (f *fortnight) record(list []recoup.GateZeroResult) {
	f.Helper()
	out, err := f.Record(f.Context(), list)
	f.must(err)
	for i, o := range out {
		var refusal *gatezero.Refusal
		switch {
		case errors.As(o.Err, &refusal):
			f.refused[refusal.Code]++
			if f.isKilled(f.now) && !list[i].RecoveryID.IsZero() && refusal.Code != gatezero.BatchKilled && refusal.Code != gatezero.InvalidTransition {
				f.Errorf("in a killed batch a result is answered with %v", refusal)
			}
		case o.Err != nil:
			f.Fatal(o.Err)
		case !list[i].RecoveryID.IsZero() && f.isKilled(f.now):
			f.Errorf("in a killed batch a result counts: %+v", o.Case)
		case o.Case.Recovery.Status == recoup.RecoverySucceeded:
			f.counted["SUCCEEDED"]++
		case o.Case.Recovery.Status == "":
			f.counted["FIRST"]++
		case o.Case.Recovery.Status == recoup.RecoveryExhausted:
			f.counted["EXHAUSTED"]++
		}
	}
}

// kill and release use the switch a minute after what else happens, so that it is
// clear what came first.
func (f *fortnight) kill() {
	f.now = f.now.Add(minute)
	defer func() { f.now = f.now.Add(-minute) }()
	at := f.now
	_, err := f.Kill(f.Context(), fortnightBatch, store.Act{By: "ada", Reason: "a look at it"})
	f.must(err)
	f.killed = append(f.killed, [2]time.Time{at, {}})
}

func (f *fortnight) release() {
	f.now = f.now.Add(minute)
	defer func() { f.now = f.now.Add(-minute) }()
	at := f.now
	_, err := f.Release(f.Context(), fortnightBatch, store.Act{By: "ada"})
	f.must(err)
	f.killed[len(f.killed)-1][1] = at
}

func (f *fortnight) isKilled(at time.Time) bool {
	for _, span := range f.killed {
		if !at.Before(span[0]) && (span[1].IsZero() || at.Before(span[1])) {
			return true
		}
	}
	return false
}

// freeze ends the batch in chunks, as the scheduler does: first what nobody holds,
// then what workers have finished or whose leases have expired.
func (f *fortnight) freeze() {
	step := func() {
		for n := 200; n == 200; {
			var err error
			n, err = f.store.FreezeDue(context.Background(), f.now, 200, func(c gatezero.Case, _ time.Time) (gatezero.Case, gatezero.CaseEffects, error) {
				return gatezero.Step(f.gate, c, gatezero.Freeze{}, f.now)
			})
			f.must(err)
			f.counted["EXHAUSTED"] += int64(n)
		}
	}
	step()
	for range 5 {
		f.turn(1500)
		step()
	}
}
