package conformance

import (
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func claims() []clause {
	return []clause{
		{"a claim hands out the longest overdue first, and no more than asked for", claimOrder},
		{"a claim takes only from the tables it names", claimTables},
		{"an error is not claimed before it is due", claimNotDue},
		{"an error is not claimed outside its retry window", claimWindow},
		{"an error is not claimed when its TTL is over", claimTTL},
		{"only errors that wait for a retry are claimed", claimStates},
		{"an error is claimed once while its lease lasts", claimLeased},
		{"an extended lease lasts longer", claimExtended},
		{"a lapsed lease counts as a lost worker, and the error is claimed again", claimLapsed},
		{"a lapsed lease that was the last try parks the error, which is not handed out", claimSpent},
		{"a lapsed lease outside the retry window parks the error, which is not handed out", claimLapsedLate},
		{"what the decision refuses is skipped and the rest is claimed", claimPaused},
		{"a claim passes over what it is to leave out, and takes what is due behind it", claimWithout},
		{"a lease is lost when its error is parked, resolved, archived or replaced", leaseRevoked},
	}
}

// each reports one failure for each of n entities, a second apart.
func (d *Driver) each(n int) []recoup.Error {
	d.Helper()
	var list []recoup.Error
	for i := range n {
		list = append(list, d.Report(dol, fmt.Sprint("e", i), "NETWORK_TIMEOUT", recoup.Medium))
		d.Wait(time.Second)
	}
	return list
}

func claimOrder(d *Driver) {
	list := ids(d.each(5))
	late := d.Report(dol, "urgent", "NETWORK_TIMEOUT", recoup.Medium)
	d.Park(late.ID, "look")
	d.Apply(late.ID, lifecycle.Unpark{By: "ada"}) // due at once, and so after those that have waited
	d.Wait(minute)
	d.wantIDs(d.Claim([]string{dol}, 2), list[0], list[1])
	d.wantIDs(d.Claim([]string{dol}, 3), list[2], list[3], late.ID)
	d.wantIDs(d.Claim([]string{dol}, 3), list[4])
	d.wantIDs(d.Claim([]string{dol}, 3))
	d.Check()
}

func claimTables(d *Driver) {
	a := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	b := d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	c := d.Report(target, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(minute)
	d.wantIDs(d.Claim([]string{people}, 10), b.ID)
	d.wantIDs(d.Claim([]string{discovery, "no.such_table"}, 10))
	rest := d.Claim([]string{dol, target, people}, 10)
	if diff := idDifference(ids(rest), []recoup.ID{a.ID, c.ID}); diff != "" {
		d.Errorf("claimed from the rest: %s", diff)
	}
	d.Check()
}

func claimNotDue(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(e.NextRetryAt.Add(-time.Microsecond))
	d.wantIDs(d.Claim([]string{dol}, 10))
	d.Wait(time.Microsecond)
	d.wantIDs(d.Claim([]string{dol}, 10), e.ID)
	d.Check()
}

func claimWindow(d *Driver) {
	in := d.Report(dol, "in", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(in.WindowEndsAt)
	out := d.Report(people, "out", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantIDs(d.Claim([]string{dol}, 10), in.ID)
	d.WaitUntil(out.WindowEndsAt.Add(time.Microsecond))
	d.wantIDs(d.Claim([]string{people}, 10))
	d.Check()
}

func claimTTL(d *Driver) {
	// QUOTA_EXCEEDED waits a quarter of an hour: a TTL can end before that only
	// where an unpark has renewed the window late in life.
	in, out := d.lateInLife("in"), d.lateInLife("out")
	d.WaitUntil(in.ExpiresAt.Add(-time.Microsecond))
	d.wantIDs(d.Claim([]string{dol}, 1), in.ID)
	d.WaitUntil(out.ExpiresAt)
	d.wantIDs(d.Claim([]string{dol}, 10))
	d.Check()
}

// lateInLife makes an error that waits for a retry an hour before it expires.
func (d *Driver) lateInLife(entity string) recoup.Error {
	d.Helper()
	e := d.Report(dol, entity, "NETWORK_TIMEOUT", recoup.Medium)
	d.Park(e.ID, "look")
	if at := Epoch().Add(30*day - time.Hour); d.Now().Before(at) {
		d.WaitUntil(at)
	}
	return d.Apply(e.ID, lifecycle.Unpark{By: "ada"})
}

func claimStates(d *Driver) {
	d.Park(d.Report(dol, "parked", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	escalated := d.Park(d.Report(dol, "escalated", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	d.Apply(escalated.ID, lifecycle.Escalate{By: "ada"})
	d.Resolve(d.Report(dol, "resolved", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.Archive(d.Report(dol, "archived", "NETWORK_TIMEOUT", recoup.Medium).ID)
	d.Report(dol, "low", "NETWORK_TIMEOUT", recoup.Low)
	e := d.Report(dol, "waiting", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(minute)
	d.wantIDs(d.Claim([]string{dol}, 10), e.ID)
	d.Check()
}

func claimLeased(d *Driver) {
	e := d.ClaimDue(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium))
	d.wantIDs(d.Claim([]string{dol}, 10))
	d.WaitUntil(e.LeaseEndsAt.Add(-time.Microsecond))
	d.wantIDs(d.Claim([]string{dol}, 10))
	d.Apply(e.ID, lifecycle.Succeed{Token: e.LeaseToken})
	d.Check()
}

func claimExtended(d *Driver) {
	e := d.ClaimDue(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium))
	d.Wait(30 * time.Second)
	extended := d.Apply(e.ID, lifecycle.Extend{Token: e.LeaseToken, Lease: 5 * minute})
	if want := d.Now().Add(5 * minute); !extended.LeaseEndsAt.Equal(want) {
		d.Errorf("the lease ends at %v, want %v", extended.LeaseEndsAt, want)
	}
	d.WaitUntil(extended.LeaseEndsAt.Add(-time.Microsecond))
	d.wantIDs(d.Claim([]string{dol}, 10))
	d.Apply(e.ID, lifecycle.Succeed{Token: e.LeaseToken})
	d.Check()
}

func claimLapsed(d *Driver) {
	lost := d.ClaimDue(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium))
	d.WaitUntil(lost.LeaseEndsAt)
	again := d.Claim([]string{dol}, 10)
	d.wantIDs(again, lost.ID)
	if got := d.Read(lost.ID); got.RetryCount != 1 || got.LastFailureCode != "WORKER_LOST" || got.LeaseToken == lost.LeaseToken {
		d.Errorf("%d retries, %s, the same token: %v", got.RetryCount, got.LastFailureCode, got.LeaseToken == lost.LeaseToken)
	}
	d.wantRefusal(d.Try(lost.ID, lifecycle.Succeed{Token: lost.LeaseToken}).Err, lifecycle.LeaseLost)
	d.Apply(lost.ID, lifecycle.Succeed{Token: again[0].LeaseToken})
	d.wantHistory(lost.ID, "report", "claim", "succeed", "succeed")
	d.Check()
}

func claimSpent(d *Driver) {
	e := d.Report(people, "e1", "UNREGISTERED_CODE", recoup.Medium)
	for range e.MaxRetries {
		e = d.ClaimDue(e)
		d.WaitUntil(e.LeaseEndsAt)
	}
	other := d.Report(people, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(other.NextRetryAt)
	d.wantIDs(d.Claim([]string{people}, 10), other.ID)
	got := d.Read(e.ID)
	if got.State != recoup.Parked || got.ParkReason != recoup.MaxRetriesExceeded || got.RetryCount != got.MaxRetries {
		d.Errorf("it is %s, %s, after %d of %d retries", got.State, got.ParkReason, got.RetryCount, got.MaxRetries)
	}
	d.wantNotices(e.ID, wire.NoticeParked)
	d.Check()
}

func claimLapsedLate(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.WaitUntil(e.WindowEndsAt)
	lost := d.ClaimDue(e)
	d.WaitUntil(lost.LeaseEndsAt)
	d.wantIDs(d.Claim([]string{dol}, 10))
	if got := d.Read(e.ID); got.State != recoup.Parked || got.ParkReason != recoup.RetryWindowClosed {
		d.Errorf("it is %s, %s", got.State, got.ParkReason)
	}
	d.Check()
}

func claimWithout(d *Driver) {
	lost := d.ClaimDue(d.Report(dol, "lost", "NETWORK_TIMEOUT", recoup.Medium))
	list := d.each(5)
	d.WaitUntil(lost.LeaseEndsAt)
	d.Wait(minute)
	without := []recoup.ID{lost.ID, list[0].ID, list[2].ID, d.ID()}
	for _, want := range [][]recoup.ID{{list[1].ID, list[3].ID}, {list[4].ID}, {}} {
		claimed, err := d.TryClaimBut(d.Context(), "w1", 2, without, dol)
		if err != nil {
			d.Fatal(err)
		}
		d.wantIDs(claimed, want...)
	}
	if claimed := d.Claim([]string{dol}, 10); len(claimed) != 3 {
		d.Errorf("claimed %v in the end", ids(claimed))
	}
	d.Check()
}

func claimPaused(d *Driver) {
	list := d.each(4)
	d.Wait(minute)
	var decisions []decision
	claimed, err := d.Store.ClaimDue(d.Context(), store.Claim{Tables: []string{dol}, Limit: 10, Now: d.Now(),
		Decide: func(current *recoup.Error, now time.Time) (recoup.Error, lifecycle.Effects, error) {
			var made decision
			paused := slices.Contains([]recoup.ID{list[0].ID, list[2].ID}, current.ID)
			next, effects, err := d.decide(&made, lifecycle.Claim{Token: d.ID(), Worker: "w1", Paused: paused})(current, 0, now)
			decisions = append(decisions, made)
			return next, effects, err
		}})
	if err != nil {
		d.Fatalf("claim: %v", err)
	}
	d.learnClaims(decisions, claimed)
	d.wantIDs(claimed, list[1].ID, list[3].ID)
	d.Check()
}

func leaseRevoked(d *Driver) {
	revoke := map[string]func(e recoup.Error){
		"park":    func(e recoup.Error) { d.Park(e.ID, "look") },
		"resolve": func(e recoup.Error) { d.Resolve(e.ID) },
		"archive": func(e recoup.Error) { d.Archive(e.ID) },
		"replace": func(e recoup.Error) { d.Report(dol, e.EntityID, e.Code, recoup.Medium) },
	}
	for name, end := range revoke {
		e := d.ClaimDue(d.Report(dol, name, "NETWORK_TIMEOUT", recoup.Medium))
		end(e)
		if got := d.Read(e.ID); !got.LeaseToken.IsZero() {
			d.Errorf("%s leaves the lease", name)
		}
		d.wantRefusal(d.Try(e.ID, lifecycle.Succeed{Token: e.LeaseToken}).Err, lifecycle.LeaseLost)
		for _, left := range d.List(store.Filter{Table: dol, State: recoup.RetryPending}) {
			d.Archive(left.ID)
		}
	}
	d.Check()
}
