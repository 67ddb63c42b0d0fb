package conformance

import (
	"fmt"
	"sync/atomic"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
)

func leaderClauses() []serviceClause {
	return []serviceClause{
		{"what is free or has expired is led by the next who bids, as another term", leaderTerms},
		{"a term that a wrong clock has begun holds nobody up", leaderAhead},
		{"of ten nodes at once one leads, and all know who", leaderRace},
		{"what a leader writes whose term is over is refused", leaderSlept},
		{"jobs are kept as their leader writes them, by name", jobKept},
	}
}

const term = 30 * time.Second

func (d *serviceDriver) bid(node string) (store.Term, bool) {
	d.Helper()
	t, held, err := d.store.Lead(d.Context(), store.Bid{Name: "clockwork", Node: node, Now: d.now, Tenure: term})
	d.must(err)
	return t, held
}

// leads says that a node must lead now, in which term.
func (d *serviceDriver) leads(node string, number int64) store.Term {
	d.Helper()
	t, held := d.bid(node)
	wantSame(d, t, store.Term{Name: "clockwork", Number: number, Holder: node, Until: d.now.Add(term)})
	if !held {
		d.Fatalf("%s does not lead", node)
	}
	return t
}

// wantLeader says who every node must see as leader.
func (d *serviceDriver) wantLeader(want store.Term) {
	d.Helper()
	got, err := d.store.Leader(d.Context(), "clockwork")
	d.must(err)
	wantSame(d, got, want)
}

func leaderTerms(d *serviceDriver) {
	d.wantLeader(store.Term{})
	first := d.leads("n1", 1)
	d.wantLeader(first)
	d.wait(term - time.Microsecond)
	if t, held := d.bid("n2"); held || t != first {
		d.Errorf("n2 was answered %+v", t)
	}
	renewed := d.leads("n1", 1)
	d.wait(term)
	second := d.leads("n2", 2)
	if t, held := d.bid("n1"); held || t != second {
		d.Errorf("n1 was answered %+v", t)
	}
	d.must(d.store.Resign(d.Context(), renewed)) // it is over
	if t, held := d.bid("n1"); held || t != second {
		d.Errorf("n1 was answered %+v", t)
	}
	d.must(d.store.Resign(d.Context(), second))
	d.wantLeader(store.Term{Name: "clockwork", Number: 2})
	d.leads("n3", 3)
	d.wait(term)
	d.leads("n3", 4) // somebody else may have led in between
	other, held, err := d.store.Lead(d.Context(), store.Bid{Name: "other", Node: "n1", Now: d.now, Tenure: term})
	if d.must(err); !held || other.Number != 1 {
		d.Errorf("another leadership is %+v", other)
	}
}

func leaderAhead(d *serviceDriver) {
	d.wait(term)
	ahead := d.leads("n1", 1)
	d.wait(-term)
	if t, held := d.bid("n2"); held || t != ahead {
		d.Errorf("n2 was answered %+v", t) // a clock may be late by a term
	}
	d.wait(-time.Microsecond)
	d.leads("n2", 2)
	d.wantErr(d.store.SaveJob(d.Context(), ahead, store.Job{Name: "expiry"}), store.ErrRefused)
	d.leads("n2", 2)
}

func leaderRace(d *serviceDriver) {
	for round := range 5 {
		terms := make([]store.Term, 10)
		var leaders atomic.Int64
		d.together(10, func(i int) error {
			b := store.Bid{Name: "clockwork", Node: fmt.Sprint("n", i), Now: d.now, Tenure: term}
			t, held, err := d.store.Lead(d.Context(), b)
			if held {
				leaders.Add(1)
			}
			terms[i] = t
			return err
		})
		for _, t := range terms {
			wantSame(d, t, terms[0])
		}
		if leaders.Load() != 1 || terms[0].Number != int64(round+1) {
			d.Fatalf("%d lead in term %d of round %d", leaders.Load(), terms[0].Number, round)
		}
		d.wait(term)
	}
}

func leaderSlept(d *serviceDriver) {
	job := store.Job{Name: "expiry", StartedAt: d.now, Runs: 1}
	asleep := d.leads("n1", 1)
	d.must(d.store.SaveJob(d.Context(), asleep, job))
	d.wait(term)
	awake := d.leads("n2", 2)
	job.Runs = 2
	d.wantErr(d.store.SaveJob(d.Context(), asleep, job), store.ErrRefused)
	d.wantErr(d.store.SaveJob(d.Context(), asleep, store.Job{Name: "new"}), store.ErrRefused)
	d.wantErr(d.store.SaveJob(d.Context(), store.Term{Name: "none", Number: 1}, job), store.ErrRefused)
	d.must(d.store.SaveJob(d.Context(), awake, job))
	d.must(d.store.Resign(d.Context(), awake))
	d.wantErr(d.store.SaveJob(d.Context(), awake, store.Job{Name: "expiry", Runs: 3}), store.ErrRefused)
	list, err := d.store.Jobs(d.Context())
	d.must(err)
	wantSame(d, list, []store.Job{job})
}

func jobKept(d *serviceDriver) {
	t := d.leads("n1", 1)
	a := store.Job{Name: "archive", StartedAt: d.now, FinishedAt: d.now.Add(time.Second), Rows: 1 << 40, Lag: 90*time.Minute + time.Microsecond,
		Cursor: "2026-02-02/x", Error: "no answer", Runs: 7, Failures: 3}
	b := store.Job{Name: "zero"}
	d.must(d.store.SaveJob(d.Context(), t, b))
	d.must(d.store.SaveJob(d.Context(), t, a))
	list, err := d.store.Jobs(d.Context())
	d.must(err)
	wantSame(d, list, []store.Job{a, b})
	a = store.Job{Name: "archive", StartedAt: d.now.Add(time.Hour), Runs: 8, Failures: 3}
	d.must(d.store.SaveJob(d.Context(), t, a))
	list, err = d.store.Jobs(d.Context())
	d.must(err)
	wantSame(d, list, []store.Job{a, b})
}
