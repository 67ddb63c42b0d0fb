package postgres_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
)

// A claimer passes over what somebody else holds at this moment, and waits for
// nobody.
func TestClaimWaitsForNobody(t *testing.T) {
	t.Parallel()
	s, _, app := governed(t)
	d := conformance.NewDriver(t, s)
	held := d.Report(dol, "held", "NETWORK_TIMEOUT", recoup.Medium)
	free := d.Report(dol, "free", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(time.Minute)
	impatient, err := postgres.Open(t.Context(), app.Config().ConnString(), postgres.Options{LockTimeout: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = impatient.Close() })
	app.run("begin")
	app.run("select from recoup.due where error_id = $1 for update", held.ID[:])
	leased, err := impatient.ClaimDue(t.Context(), store.Claim{Tables: []string{dol}, Limit: 10, Now: d.Now(),
		Decide: func(current *recoup.Error, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
			return lifecycle.Step(d.Policy, current, lifecycle.Claim{Token: d.ID(), Worker: "w"}, d.Now())
		}})
	if err != nil || len(leased) != 1 || leased[0].ID != free.ID {
		t.Errorf("leased %d, %v", len(leased), err)
	}
	app.run("rollback")
}

// What is decided together is what is decided one by one.
func TestDecidedTogether(t *testing.T) {
	t.Parallel()
	conformance.RunTogether(t, func(t *testing.T) conformance.Remembering {
		s, _, _ := governed(t)
		return s
	})
}
