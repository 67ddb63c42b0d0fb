package load_test

import (
	"math"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup/server/test/load"
)

var kinds = []string{"report", "gate", "claim"}

func mixOf(t testing.TB, text string) load.Mix {
	t.Helper()
	mix, err := load.ParseMix(text, kinds)
	if err != nil {
		t.Fatal(err)
	}
	return mix
}

// all are the operations of a plan.
func all(p *load.Plan) (list []load.Operation) {
	for {
		op, ok := p.Next()
		if !ok {
			return list
		}
		list = append(list, op)
	}
}

// A plan has exactly as many operations as its rate and time say, evenly spaced, numbered
// by kind, and the same for the same seed.
func TestPlan(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		rate := rapid.IntRange(1, 3000).Draw(t, "rate")
		ms := rapid.IntRange(1, 3000).Draw(t, "ms")
		duration := time.Duration(ms) * time.Millisecond
		seed := rapid.Uint64().Draw(t, "seed")
		mix := load.Mix{{Kind: "report", Weight: 3}, {Kind: "gate", Weight: rapid.IntRange(0, 3).Draw(t, "gate")}, {Kind: "claim", Weight: 1}}
		plan := all(load.NewPlan(mix, rate, duration, seed))
		if want := (rate*ms + 999) / 1000; len(plan) != want {
			t.Fatalf("%d/s for %v are %d operations: expected %d", rate, duration, len(plan), want)
		}
		counts := map[string]int{}
		for i, op := range plan {
			if want := time.Duration(i) * time.Second / time.Duration(rate); op.Due != want || op.Due >= duration {
				t.Fatalf("operation %d is due after %v: expected %v", i, op.Due, want)
			}
			for _, kind := range kinds {
				if op.Before(kind) != counts[kind] {
					t.Fatalf("operation %d says %d %s come before it, and %d do", i, op.Before(kind), kind, counts[kind])
				}
			}
			if op.Nth != counts[op.Kind] || op.Before("unheard of") != 0 || !mix.Has(op.Kind) {
				t.Fatalf("operation %d is %+v", i, op)
			}
			counts[op.Kind]++
		}
		again := all(load.NewPlan(mix, rate, duration, seed))
		if !slices.EqualFunc(plan, again, func(a, b load.Operation) bool { return a.Kind == b.Kind && a.Random == b.Random && a.Due == b.Due }) {
			t.Fatal("the same seed gives another plan")
		}
	})
}

// The shares of a long plan are those of its mix.
func TestPlanKeepsItsMix(t *testing.T) {
	t.Parallel()
	mix := mixOf(t, "report=60,gate=30,claim=10")
	plan := all(load.NewPlan(mix, 10_000, 5*time.Second, 7))
	for _, kind := range kinds {
		n := 0
		for _, op := range plan {
			if op.Kind == kind {
				n++
			}
		}
		if got, want := float64(n)/float64(len(plan)), mix.Part(kind); math.Abs(got-want) > 0.01 {
			t.Errorf("%s is %.3f of the plan: expected %.3f", kind, got, want)
		}
	}
}

func TestMix(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"report=40,gate=30":    "report=40,gate=30",
		" gate=1 , report=2 ":  "report=2,gate=1",
		"claim=5,gate=0":       "claim=5",
		"":                     `"" has no weight: expected KIND=WEIGHT, such as report=40`,
		"report":               `"report" has no weight`,
		"reports=1":            `unknown operation "reports": operations are report, gate, claim`,
		"report=1,report=2":    "report is given twice",
		"report=-1":            `the weight of report is "-1": expected a whole number from 0 to 1000000`,
		"report=1.5":           `the weight of report is "1.5"`,
		"report=99999999":      `the weight of report is "99999999"`,
		"report=0,gate=0":      `every weight of "report=0,gate=0" is 0`,
		"report=1,gate=two,a=": `the weight of gate is "two"`,
	} {
		mix, err := load.ParseMix(text, kinds)
		got := mix.String()
		if err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(got, want) || (err == nil && got != want) {
			t.Errorf("%q is read as %q: expected %q", text, got, want)
		}
	}
}
