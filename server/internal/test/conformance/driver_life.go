package conformance

import (
	"fmt"
	"math/rand/v2"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// chance chooses one of n. It is drawn by rapid where a failure is to be made
// small, and by a seeded generator where a crowd of errors is wanted.
type chance func(what string, n int) int

func drawn(t *rapid.T) chance {
	return func(what string, n int) int { return rapid.IntRange(0, n-1).Draw(t, what) }
}

func seeded(seed uint64) chance {
	random := rand.New(rand.NewPCG(seed, seed))
	return func(_ string, n int) int { return random.IntN(n) }
}

// anew begins again on the same store with a test of its own, after it has
// archived whatever an earlier driver left open.
func (d *Driver) anew(t TB) *Driver {
	t.Helper()
	next := NewDriver(t, d.Store)
	for _, e := range next.List(store.Filter{}) {
		if e.Table != masterLog {
			next.Archive(e.ID)
		}
	}
	next.book = newBook()
	return next
}

// live lets errors live: reports, acts and the passing of time in any order,
// all of it legal or refused.
func (d *Driver) live(choose chance, events int) {
	d.Helper()
	for range events {
		switch known := d.Known(); {
		case len(known) == 0 || choose("event", 4) == 0:
			d.reportAny(choose)
		default:
			e := known[choose("error", len(known))]
			d.pass(choose, &e)
			d.actAny(choose, &e)
		}
	}
}

func (d *Driver) reportAny(choose chance) {
	d.Helper()
	tables := []string{dol, dol, target, people, discovery, errorLog, masterLog, orphans, letters}
	codes := []recoup.Code{"NETWORK_TIMEOUT", "QUOTA_EXCEEDED", "UNREGISTERED_CODE", "VALIDATION_ERROR", "DOMAIN_NOT_FOUND"}
	severities := []recoup.Severity{recoup.Medium, recoup.Medium, recoup.High, recoup.Low, recoup.Critical, recoup.SeverityNone}
	d.Report(
		tables[choose("table", len(tables))], fmt.Sprint("e", choose("entity", 6)),
		codes[choose("code", len(codes))], severities[choose("severity", len(severities))],
	)
}

// actAny does something to an error that its state may or may not allow.
func (d *Driver) actAny(choose chance, e *recoup.Error) {
	d.Helper()
	if choose("claim", 3) == 0 {
		d.Claim([]string{e.Table}, 1+choose("limit", 3))
		return
	}
	token := e.LeaseToken
	inputs := []lifecycle.Input{
		lifecycle.Fail{Token: token, Failure: Failure("NETWORK_TIMEOUT")}, lifecycle.Succeed{Token: token},
		lifecycle.Extend{Token: token, Lease: 15 * minute}, lifecycle.Lapse{}, lifecycle.CloseWindow{},
		lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"}, lifecycle.Unpark{By: "ada"},
		lifecycle.Escalate{By: "ada"}, lifecycle.Escalate{}, lifecycle.Assign{By: "ada", To: "bob"},
		lifecycle.Review{By: "ada"}, lifecycle.Remind{}, lifecycle.Resolve{By: "ada"},
		lifecycle.ArchiveNow{By: "ada"}, lifecycle.Expire{},
	}
	d.Try(e.ID, inputs[choose("input", len(inputs))])
}

// pass lets time pass: to a deadline of the error, a moment beside it, or some
// while. Lives end before the first history is old enough to be dropped.
func (d *Driver) pass(choose chance, e *recoup.Error) {
	d.Helper()
	to := d.Now()
	switch choose("pass", 4) {
	case 0:
		return
	case 1:
		to = to.Add(time.Duration(choose("seconds", 3*86400)) * time.Second)
	default:
		if list := lifecycle.Deadlines(d.Policy, e); len(list) > 0 {
			at := list[choose("deadline", len(list))].At.Add(time.Microsecond - 1).Truncate(time.Microsecond)
			to = at.Add(time.Duration(choose("beside", 3)-1) * time.Microsecond)
		}
	}
	if to.After(d.Now()) && to.Before(Epoch().Add(300*day)) {
		d.WaitUntil(to)
	}
}
