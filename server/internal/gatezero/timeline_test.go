package gatezero_test

import (
	"fmt"
	"maps"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/gatezero"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// verify holds the end of a fortnight to what must be true of it.
func (f *fortnight) verify(size int, frozen time.Time) {
	f.Helper()
	ctx := f.Context()
	b, err := f.Batch(ctx, fortnightBatch)
	f.must(err)
	intakes, recoveries := map[recoup.IntakeStatus]int64{}, map[recoup.RecoveryStatus]int64{}
	for p := (sqldb.Page{Limit: sqldb.MaxPage}); ; {
		list, next, err := f.Intakes(ctx, recoup.IntakeFilter{BatchID: fortnightBatch}, p)
		f.must(err)
		for i := range list {
			story, err := f.Story(ctx, list[i].ID)
			f.must(err)
			intakes[story.Intake.Status]++
			if story.Recovery.Status != "" {
				recoveries[story.Recovery.Status]++
			}
			if err := f.legal(&story, frozen); err != nil {
				f.Errorf("intake %v: %v", story.Intake.ID, err)
			}
		}
		if p.Cursor = next; next.IsZero() {
			break
		}
	}
	if !maps.Equal(intakes, b.Intakes) || !maps.Equal(recoveries, b.Recoveries) {
		f.Errorf("counted are %v %v, and there are %v %v", b.Intakes, b.Recoveries, intakes, recoveries)
	}
	succeeded, exhausted := recoveries[recoup.RecoverySucceeded], recoveries[recoup.RecoveryExhausted]
	authorized, failed := intakes[recoup.IntakeAuthorized], intakes[recoup.IntakeFailed]
	switch {
	case intakes[recoup.IntakePending] != 0 || recoveries[recoup.RecoveryActive] != 0 || b.FrozenAt.IsZero():
		f.Errorf("not all is over: %v %v, frozen at %v", intakes, recoveries, b.FrozenAt)
	case authorized != f.counted["FIRST"]+succeeded || failed != exhausted || intakes[recoup.IntakeReenterSucceeded] != succeeded:
		f.Errorf("intakes %v and recoveries %v do not fit", intakes, recoveries)
	case int64(size) != f.counted["FIRST"]+succeeded+exhausted:
		f.Errorf("%d came, %d passed at once, %d later, %d never", size, f.counted["FIRST"], succeeded, exhausted)
	case succeeded != f.counted["SUCCEEDED"]:
		f.Errorf("%d succeeded, and %d were told so", succeeded, f.counted["SUCCEEDED"])
	case exhausted == 0 || succeeded == 0 || f.refused[gatezero.BatchKilled] == 0 || f.refused[gatezero.LeaseLost] == 0:
		f.Errorf("it was an easy fortnight: %v %v %v", intakes, recoveries, f.refused)
	}
	rows, err := f.BatchTimeline(ctx, fortnightBatch, sqldb.MaxPage)
	f.must(err)
	var said string
	for _, r := range rows {
		said += string(r.Event) + " "
	}
	if said != "KILL RELEASE KILL RELEASE FREEZE " {
		f.Errorf("the batch went through %s", said)
	}
}

// record is a walk along a timeline: where the recovery stands by then.
type record struct {
	attempt  int
	eligible time.Time
	lapses   int
	status   recoup.RecoveryStatus
	intake   recoup.IntakeStatus
}

// legal holds the record of one intake to spec 004, 8 and 9: every attempt after
// its wait, no more than three of them counted, nothing while the batch was
// killed, one end.
func (f *fortnight) legal(s *gatezero.Story, frozen time.Time) error {
	if !s.Intake.PreviousID.IsZero() {
		return f.legalReentry(s)
	}
	at := record{intake: recoup.IntakePending}
	for i, row := range s.Rows {
		if i > 0 && row.At.Before(s.Rows[i-1].At) {
			return fmt.Errorf("row %d is older than the one before", i)
		}
		if err := f.next(&at, row, i, s.Rows, frozen); err != nil {
			return fmt.Errorf("row %d, %s: %w", i, row.Event, err)
		}
	}
	if at.status != s.Recovery.Status || at.intake != s.Intake.Status || at.status != "" && at.attempt != s.Recovery.AttemptCount {
		return fmt.Errorf("the record ends with %+v, and the intake is %s, its recovery %s", at, s.Intake.Status, s.Recovery.Status)
	}
	return nil
}

// legalReentry holds an intake that took over to the failed one's record.
func (f *fortnight) legalReentry(s *gatezero.Story) error {
	last := s.Rows[len(s.Rows)-1]
	if s.Intake.Status != recoup.IntakeAuthorized || last.Event != recoup.AIRReenter || last.NewIntakeID != s.Intake.ID ||
		last.IntakeID != s.Intake.PreviousID || !s.Recovery.ID.IsZero() {
		return fmt.Errorf("it took over, and the record ends with %+v", last)
	}
	return nil
}

// next takes one step along a timeline, if it is a legal one.
func (f *fortnight) next(at *record, row recoup.IntakeEvent, i int, rows []recoup.IntakeEvent, frozen time.Time) error {
	retry := at.status == recoup.RecoveryActive
	if over := at.intake != recoup.IntakePending && !retry; over && row.Event != recoup.AIRLateResult && row.Event != recoup.AIRReenter {
		return fmt.Errorf("it was over: %+v", *at)
	}
	if retry && (row.Event == recoup.AIRFail || row.Event == recoup.AIRAuth) {
		timedOut := row.Reason == gatezero.Timeout && at.lapses == gatezero.MaxLapses-1
		if row.At.Before(at.eligible) || f.isKilled(row.At) && !timedOut {
			return fmt.Errorf("eligible since %v, killed: %t", at.eligible, f.isKilled(row.At))
		}
	}
	switch row.Event {
	case recoup.AIRFail:
		return f.failed(at, row, i, rows)
	case recoup.AIRAuth:
		at.intake = recoup.IntakeAuthorized
		if retry {
			at.intake, at.status = recoup.IntakeReenterSucceeded, recoup.RecoverySucceeded
		}
	case recoup.AIRReenter:
		if rows[i-1].Event != recoup.AIRAuth || at.status != recoup.RecoverySucceeded {
			return fmt.Errorf("nothing had passed: %+v", *at)
		}
	case recoup.AIRExhausted:
		at.status = recoup.RecoveryExhausted
		if spent := rows[i-1].Event == recoup.AIRFail && row.Reason != gatezero.BatchFrozen; !spent && row.At.Before(frozen) {
			return fmt.Errorf("it had attempts left: %+v", *at)
		}
	case recoup.AIRLapse:
		if at.lapses++; !retry || at.lapses >= gatezero.MaxLapses {
			return fmt.Errorf("%d lapses", at.lapses)
		}
	case recoup.AIRRevoke:
		if !f.isKilled(row.At) || !retry {
			return fmt.Errorf("nobody had killed the batch")
		}
	case recoup.AIRLateResult:
		if at.status != recoup.RecoveryExhausted {
			return fmt.Errorf("it was not too late: %+v", *at)
		}
	default:
		return fmt.Errorf("it is not of an intake")
	}
	return nil
}

// failed is a failed attempt: the wait begins anew, or, after the third wait,
// there is none.
func (f *fortnight) failed(at *record, row recoup.IntakeEvent, i int, rows []recoup.IntakeEvent) error {
	spent := at.attempt == 3
	if !spent {
		at.attempt++
	}
	if row.AttemptCount != at.attempt || row.Reason == "" {
		return fmt.Errorf("it counts as attempt %d for %q, and is number %d", row.AttemptCount, row.Reason, at.attempt)
	}
	if spent && (i+1 == len(rows) || rows[i+1].Event != recoup.AIREvent("EXHAUSTED")) {
		return fmt.Errorf("the last attempt failed, and it is not exhausted")
	}
	at.eligible = row.At.Add([]time.Duration{24 * hour, 72 * hour, 168 * hour}[at.attempt-1])
	at.lapses, at.status, at.intake = 0, recoup.RecoveryActive, recoup.IntakeFailed
	return nil
}
