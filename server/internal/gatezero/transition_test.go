package gatezero_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
)

// specimen brings a case into a status in which nothing but the status stands
// in the way of an input.
func specimen(t *testing.T, status recoup.RecoveryStatus, kind gatezero.Kind) *world {
	w := newWorld(t)
	if kind == gatezero.Frozen || kind == gatezero.Killed || kind == gatezero.Released || kind == gatezero.Completed {
		if status == "" {
			w.c.Intake = recoup.Intake{} // an input to the batch
		}
	}
	if status != "" {
		w.must(w.fail())
		w.now = w.c.Recovery.NextEligibleAt
		if kind != gatezero.Claimed && kind != gatezero.Frozen || status == recoup.RecoverySucceeded {
			w.must(w.claim())
		}
	}
	switch {
	case status == recoup.RecoverySucceeded:
		w.must(w.pass())
	case status == recoup.RecoveryExhausted:
		was := w.c.Batch
		w.freezeBatch()
		w.now = w.now.Add(lease)
		w.must(gatezero.Freeze{})
		w.c.Batch = was
	}
	if kind == gatezero.Frozen {
		w.freezeBatch()
	}
	return w
}

func inputs(w *world) map[gatezero.Kind]gatezero.Input {
	return map[gatezero.Kind]gatezero.Input{
		"pass": w.pass(), "fail": w.fail(), "claim": w.claim(), "freeze": gatezero.Freeze{},
		"kill": gatezero.Kill{By: "ada"}, "release": gatezero.Release{By: "ada"}, "complete": gatezero.Complete{}, "give back": gatezero.GiveBack{Token: w.c.Lease.LeaseToken},
	}
}

// Every status meets every input: accepted as the table says, or refused with
// nothing changed.
func TestEveryStatusMeetsEveryInput(t *testing.T) {
	statuses := []recoup.RecoveryStatus{"", recoup.RecoveryActive, recoup.RecoveryExhausted, recoup.RecoverySucceeded}
	table := gatezero.Transitions()
	if len(table) != len(inputs(newWorld(t))) {
		t.Fatalf("the table has %d inputs", len(table))
	}
	for _, row := range table {
		for _, from := range statuses {
			t.Run(fmt.Sprintf("%s/%s", row.Input, from), func(t *testing.T) {
				w := specimen(t, from, row.Input)
				if w.c.Recovery.Status != from {
					t.Fatalf("the specimen is %s", w.c.Recovery.Status)
				}
				_, err := w.step(inputs(w)[row.Input])
				if !slices.Contains(row.From, from) {
					w.wantRefused(err, gatezero.InvalidTransition)
				} else if err != nil || !slices.Contains(row.To, w.c.Recovery.Status) {
					t.Errorf("got %s, %v; want one of %v", w.c.Recovery.Status, err, row.To)
				}
			})
		}
	}
}

// guard is something that stands in the way of an input beside the status.
type guard struct {
	name string
	set  func(w *world)
}

var guards = []guard{
	{"nothing", func(*world) {}},
	{"no batch", func(w *world) { w.c.Batch, w.c.Intake.BatchID, w.c.Recovery.BatchID = recoup.IntakeBatch{}, "", "" }},
	{"killed", func(w *world) { w.c.Batch.KilledAt, w.c.Batch.KilledBy = w.now, "ada" }},
	{"frozen", func(w *world) { w.freezeBatch() }},
	{"killed and frozen", func(w *world) { w.c.Batch.KilledAt, w.c.Batch.KilledBy = w.now, "ada"; w.freezeBatch() }},
	{"not eligible", func(w *world) { w.c.Recovery.NextEligibleAt = w.now.Add(1) }},
	{"wrong token", func(w *world) { w.c.Lease.LeaseToken = w.id() }},
	{"no lease", func(w *world) { w.c.Lease = gatezero.RecoveryLease{} }},
	{"lapsed", func(w *world) { w.c.Lease.LeaseEndsAt = w.now }},
	{"lapsed in a frozen batch", func(w *world) { w.c.Lease.LeaseEndsAt = w.now; w.freezeBatch() }},
}

// verdicts is what a leased, eligible recovery answers to each input when
// something stands in the way: its next status, or the code of the refusal.
// Empty means ACTIVE.
var verdicts = map[string]map[gatezero.Kind]string{
	"nothing":                  {"pass": "SUCCEEDED", "fail": "", "claim": "!INVALID_TRANSITION", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": ""},
	"no batch":                 {"pass": "SUCCEEDED", "fail": "", "claim": "!INVALID_TRANSITION", "freeze": "!INVALID_TRANSITION", "kill": "!INVALID_TRANSITION", "give back": ""},
	"killed":                   {"pass": "!BATCH_KILLED", "fail": "!BATCH_KILLED", "claim": "!BATCH_KILLED", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": "!BATCH_KILLED"},
	"frozen":                   {"pass": "SUCCEEDED", "fail": "EXHAUSTED", "claim": "!INVALID_TRANSITION", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": ""},
	"killed and frozen":        {"pass": "!BATCH_KILLED", "fail": "!BATCH_KILLED", "claim": "!BATCH_KILLED", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": "!BATCH_KILLED"},
	"not eligible":             {"pass": "SUCCEEDED", "fail": "", "claim": "!INVALID_TRANSITION", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": ""},
	"wrong token":              {"pass": "!LEASE_LOST", "fail": "!LEASE_LOST", "claim": "!INVALID_TRANSITION", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": "!LEASE_LOST"},
	"no lease":                 {"pass": "!LEASE_LOST", "fail": "!LEASE_LOST", "claim": "", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": "!LEASE_LOST"},
	"lapsed":                   {"pass": "SUCCEEDED", "fail": "", "claim": "", "freeze": "!INVALID_TRANSITION", "kill": "", "give back": ""},
	"lapsed in a frozen batch": {"pass": "SUCCEEDED", "fail": "EXHAUSTED", "claim": "!INVALID_TRANSITION", "freeze": "EXHAUSTED", "kill": "", "give back": ""},
}

// Every input meets everything that can stand in its way.
func TestEveryGuardMeetsEveryInput(t *testing.T) {
	for _, g := range guards {
		for kind, want := range verdicts[g.name] {
			t.Run(g.name+"/"+string(kind), func(t *testing.T) {
				w := newWorld(t)
				w.must(w.fail())
				w.claimed()
				in := inputs(w)[kind]
				g.set(w)
				count := w.c.Recovery.AttemptCount
				_, err := w.step(in)
				if want != "" && want[0] == '!' {
					w.wantRefused(err, recoup.Code(want[1:]))
					return
				}
				if want == "" {
					want = "ACTIVE"
				}
				if err != nil || string(w.c.Recovery.Status) != want {
					t.Errorf("got %s, %v; want %s", w.c.Recovery.Status, err, want)
				}
				if want != "ACTIVE" && w.c.Lease != (gatezero.RecoveryLease{}) {
					t.Errorf("it is over and leased: %+v", w.c.Lease)
				}
				if counts := kind == "fail"; counts != (w.c.Recovery.AttemptCount == count+1) {
					t.Errorf("%d attempts became %d", count, w.c.Recovery.AttemptCount)
				}
			})
		}
	}
}
