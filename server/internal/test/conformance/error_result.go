package conformance

import (
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func results() []clause {
	return []clause{
		{"a late result is refused and leaves a history row, also when the error is archived", lateResult},
		{"a stranger's token is refused without a trace", strangersToken},
		{"a result that is sent again is accepted again and changes nothing", sentAgain},
		{"a failed attempt is counted and the row of its result says whose it was", failedAttempt},
		{"a report and a failure of one attempt count once", countedOnce},
	}
}

func lateResult(d *Driver) {
	e := leased(d)
	d.Park(e.ID, "look")
	d.wantRefusal(d.Try(e.ID, lifecycle.Succeed{Token: e.LeaseToken}).Err, lifecycle.LeaseLost)
	d.wantState(e.ID, recoup.Parked)
	d.Archive(e.ID)
	d.Wait(minute)
	late := lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("NETWORK_TIMEOUT")}
	d.wantRefusal(d.Try(e.ID, late).Err, lifecycle.LeaseLost)
	d.wantState(e.ID, recoup.Archived)
	d.wantHistory(e.ID, "report", "park", "succeed", "archive", "fail")
	d.Check()
}

func strangersToken(d *Driver) {
	e := leased(d)
	for _, token := range []recoup.ID{d.ID(), {}} {
		for _, in := range []lifecycle.Input{
			lifecycle.Succeed{Token: token}, lifecycle.Extend{Token: token},
			lifecycle.Fail{Token: token, Failure: Failure("NETWORK_TIMEOUT")},
		} {
			d.wantRefusal(d.Try(e.ID, in).Err, lifecycle.LeaseLost)
		}
	}
	d.wantHistory(e.ID, "report")
	d.Check()
}

// sentAgain repeats results whose answers may have been lost on their way.
func sentAgain(d *Driver) {
	for _, result := range []func(token recoup.ID) lifecycle.Input{
		func(token recoup.ID) lifecycle.Input { return lifecycle.Succeed{Token: token} },
		func(token recoup.ID) lifecycle.Input {
			return lifecycle.Fail{Token: token, Failure: Failure("NETWORK_TIMEOUT")}
		},
	} {
		e := leased(d)
		in := result(e.LeaseToken)
		d.Apply(e.ID, in)
		d.Wait(time.Second)
		d.Apply(e.ID, in)
		d.Check()
		d.Archive(e.ID)
		d.Apply(e.ID, in)
		d.Check()
	}
}

func failedAttempt(d *Driver) {
	e := leased(d)
	d.Wait(10 * time.Second)
	d.Apply(e.ID, lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("TIMEOUT"), Reason: "no answer"})
	rows, err := d.Store.History(d.Context(), e.ID, sqldb.MaxPage)
	if err != nil || len(rows) != 2 {
		d.Fatalf("%d rows, %v", len(rows), err)
	}
	row := rows[1]
	if row.Worker != "w1" || row.Attempt != e.LeaseToken || !row.ClaimedAt.Equal(e.LeasedAt) || row.Actor != "w1" {
		d.Errorf("the row tells of %q, %v, %v", row.Worker, row.Attempt, row.ClaimedAt)
	}
	if got := d.Read(e.ID); got.RetryCount != 1 || got.LastFailureCode != "TIMEOUT" || !got.LeaseToken.IsZero() {
		d.Errorf("after a failed attempt: %d retries, %s, lease %v", got.RetryCount, got.LastFailureCode, got.LeaseToken)
	}
	d.Check()
}

func countedOnce(d *Driver) {
	e := leased(d)
	d.Apply(e.ID, lifecycle.Fail{Token: e.LeaseToken, Failure: Failure("NETWORK_TIMEOUT")})
	in := d.Failing(dol, e.EntityID, "NETWORK_TIMEOUT", recoup.Medium)
	in.Attempt = e.LeaseToken
	if next := d.ReportAll(in)[0]; next.RetryCount != 1 {
		d.Errorf("one attempt was counted %d times", next.RetryCount)
	}
	d.Check()
}
