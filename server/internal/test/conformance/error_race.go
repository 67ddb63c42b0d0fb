package conformance

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func races() []clause {
	return []clause{
		{"of sixteen first reports of one key at once exactly one stays open and none is lost", raceOneKey},
		{"batches that name the same keys in another order do not lose or block each other", raceBatches},
		{"failures of one family that are reported at once are counted one by one", raceStreak},
		{"sixteen claimers get each due error exactly once", raceClaims},
		{"of two results at once the holder's counts", raceResults},
		{"a claim, a result and a person at once leave one truth", raceEverything},
	}
}

const crowd = 16

// together runs n functions at once and reports what they return.
func (d *Driver) together(n int, run func(i int) error) {
	d.Helper()
	start := make(chan struct{})
	results := make([]error, n)
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			<-start
			results[i] = run(i)
		})
	}
	close(start)
	all.Wait()
	if err := errors.Join(results...); err != nil {
		d.Fatalf("at once: %v", err)
	}
}

func raceOneKey(d *Driver) {
	const each = 4
	d.together(crowd, func(int) error {
		for range each {
			if _, err := d.TryReport(d.Context(), d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)); err != nil {
				return err
			}
		}
		return nil
	})
	d.wantChain(dol, crowd*each)
	d.Check()
}

// wantChain says that the errors of a table are one chain of repeats, whose last
// one has the budget that all of them have used.
func (d *Driver) wantChain(table string, length int) {
	d.Helper()
	open := d.List(store.Filter{Table: table})
	if len(open) != 1 {
		d.Fatalf("%d errors are open, want 1", len(open))
	}
	older := map[recoup.ID]recoup.Error{}
	for _, e := range d.ArchivedAll() {
		older[e.SupersededBy] = e
	}
	last := open[0]
	if want := min(length-1, last.MaxRetries); last.RetryCount != want || (last.State == recoup.Parked) != (want == last.MaxRetries) {
		d.Errorf("the last is %s with %d retries used, want %d", last.State, last.RetryCount, want)
	}
	n := 1
	for e, ok := older[last.ID]; ok; e, ok = older[e.ID] {
		if e.ArchiveReason != recoup.SupersededByNext {
			d.Errorf("%v is archived as %s", e.ID, e.ArchiveReason)
		}
		n++
	}
	if n != length {
		d.Errorf("the chain of repeats has %d errors, want %d", n, length)
	}
}

func raceBatches(d *Driver) {
	const keys = 40
	rounds := 5
	if testing.Short() {
		rounds = 2
	}
	d.together(crowd/2, func(i int) error {
		random := rand.New(rand.NewPCG(1, uint64(i)))
		for range rounds {
			var batch []lifecycle.Report
			for _, k := range random.Perm(keys) {
				batch = append(batch, d.Failing(dol, fmt.Sprint("e", k), "NETWORK_TIMEOUT", recoup.Medium))
			}
			if _, err := d.TryReport(d.Context(), batch...); err != nil {
				return err
			}
		}
		return nil
	})
	d.wantOpen(store.Filter{Table: dol}, keys)
	if got, want := len(d.ArchivedAll()), keys*(rounds*crowd/2-1); got != want {
		d.Errorf("%d errors were superseded, want %d", got, want)
	}
	d.CheckErrors()
}

func raceStreak(d *Driver) {
	const entities = 20
	codes := []recoup.Code{"DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT", "DNS_TIMEOUT"}
	d.together(len(codes), func(i int) error {
		for n := range entities {
			if _, err := d.TryReport(d.Context(), d.Failing(target, fmt.Sprint("e", n), codes[i], recoup.Medium)); err != nil {
				return err
			}
		}
		return nil
	})
	for n := range entities {
		if got := d.List(store.Filter{Entity: fmt.Sprint("e", n), Parked: new(true)}); len(got) != 1 {
			d.Errorf("of three failures of e%d %d are parked, want the last one", n, len(got))
		}
	}
	d.Check()
}

func raceClaims(d *Driver) {
	total := 10_000
	if testing.Short() {
		total = 1_000
	}
	for i := 0; i < total; i += 500 {
		var batch []lifecycle.Report
		for j := range 500 {
			batch = append(batch, d.Failing(dol, fmt.Sprint("e", i+j), "NETWORK_TIMEOUT", recoup.Medium))
		}
		d.ReportAll(batch...)
	}
	d.Wait(minute)
	claimed := make([][]recoup.Error, crowd)
	d.together(crowd, func(i int) error {
		for {
			got, err := d.TryClaim(d.Context(), fmt.Sprint("w", i), 50, dol)
			if err != nil {
				return err
			}
			claimed[i] = append(claimed[i], got...)
			if len(got) == 0 {
				return nil
			}
		}
	})
	// A claimer may come away empty while others hold the rest; one more looks.
	rest := d.Claim([]string{dol}, sqldb.MaxPage)
	all := ids(append(slices.Concat(claimed...), rest...))
	if diff := idDifference(all, ids(d.Known())); diff != "" {
		d.Errorf("claimed: %.500s", diff)
	}
	d.checkCounts()
}

func raceResults(d *Driver) {
	for range 10 {
		e := d.ClaimDue(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium))
		answers := make([]error, crowd)
		d.together(crowd, func(i int) error {
			token := e.LeaseToken
			if i > 0 {
				token = d.ID()
			}
			outcomes, err := d.TryActs(d.Context(), Act{e.ID, lifecycle.Succeed{Token: token}})
			if err == nil {
				answers[i] = outcomes[0].Err
			}
			return err
		})
		if answers[0] != nil {
			d.Errorf("the holder was answered with %v", answers[0])
		}
		for _, answer := range answers[1:] {
			d.wantRefusal(answer, lifecycle.LeaseLost)
		}
		d.wantHistory(e.ID, "report", "succeed")
	}
	d.Check()
}

// raceEverything runs all kinds of verbs at once on few errors. Which of them wins is
// open; afterwards the store must hold what was acknowledged to them.
func raceEverything(d *Driver) {
	d.together(crowd/2, func(i int) error { return d.Churn(d.Context(), uint64(i), 30) })
	d.Check()
}
