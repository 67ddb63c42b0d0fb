package conformance

import (
	"context"
	"fmt"
	"math/rand/v2"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Churn does a number of things to the errors of a few entities: it reports,
// claims, fails and succeeds, parks and so on, in batches, as chance has it.
// It may run many times at once, each with a seed of its own, and ends early
// when a verb fails. The clock must not be moved meanwhile.
func (d *Driver) Churn(ctx context.Context, seed uint64, rounds int) error {
	random := rand.New(rand.NewPCG(seed, 1))
	for range rounds {
		do := []func(context.Context, *rand.Rand) error{d.churnReport, d.churnReport, d.churnClaim, d.churnActs, d.churnActs}[random.IntN(5)]
		if err := do(ctx, random); err != nil {
			return err
		}
	}
	return nil
}

func someEntity(random *rand.Rand) string { return fmt.Sprint("e", random.IntN(4)) }

func (d *Driver) churnReport(ctx context.Context, random *rand.Rand) error {
	var batch []lifecycle.Report
	for range 1 + random.IntN(4) {
		batch = append(batch, d.Failing(dol, someEntity(random), "NETWORK_TIMEOUT", recoup.Medium))
	}
	_, err := d.TryReport(ctx, batch...)
	return err
}

// churnClaim claims, and answers for some of what it got.
func (d *Driver) churnClaim(ctx context.Context, random *rand.Rand) error {
	claimed, err := d.TryClaim(ctx, "w1", 1+random.IntN(3), dol)
	var results []Act
	for _, e := range claimed {
		switch random.IntN(3) {
		case 0:
			results = append(results, Act{e.ID, lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("NETWORK_TIMEOUT")}})
		case 1:
			results = append(results, Act{e.ID, lifecycle.Succeed{Token: e.LeaseToken}})
		}
	}
	if err == nil && len(results) > 0 {
		_, err = d.TryActs(ctx, results...)
	}
	return err
}

// churnActs does something to the errors of an entity. Reasons are unique, so
// that each history row differs from all others.
func (d *Driver) churnActs(ctx context.Context, random *rand.Rand) error {
	list, _, err := d.Store.Errors(ctx, store.Filter{Entity: someEntity(random)}, sqldb.Page{Limit: 3})
	if err != nil || len(list) == 0 {
		return err
	}
	var batch []Act
	for _, e := range list {
		why := d.ID().String()
		inputs := []lifecycle.Input{
			lifecycle.Park{By: "ada", Reason: recoup.ParkReason(why)}, lifecycle.Unpark{By: "ada", Reason: why},
			lifecycle.Unpark{By: "ada", Reason: why}, lifecycle.Escalate{By: "ada", Reason: why},
			lifecycle.Resolve{By: "ada", Reason: why}, lifecycle.ArchiveNow{By: "ada", Reason: why},
		}
		batch = append(batch, Act{e.ID, inputs[random.IntN(len(inputs))]})
	}
	_, err = d.TryActs(ctx, batch...)
	return err
}
