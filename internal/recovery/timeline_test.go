package recovery_test

import (
	"fmt"
	"maps"
	"time"

	"recoup/internal/recovery"
	"recoup/internal/store"
)

// verify holds the end of a fortnight to what must be true of it.
func (f *fortnight) verify(size int, frozen time.Time) {
	f.Helper()
	ctx := f.Context()
	b, err := f.Batch(ctx, fortnightBatch)
	f.must(err)
	intakes, recoveries := map[store.IntakeStatus]int64{}, map[store.RecoveryStatus]int64{}
	for p := (store.Page{Limit: store.MaxPage}); ; {
		list, next, err := f.Intakes(ctx, store.IntakeFilter{Batch: fortnightBatch}, p)
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
	succeeded, exhausted := recoveries[store.RecoverySucceeded], recoveries[store.RecoveryExhausted]
	authorized, failed := intakes[store.IntakeAuthorized], intakes[store.IntakeFailed]
	switch {
	case intakes[store.IntakePending] != 0 || recoveries[store.RecoveryActive] != 0 || b.FrozenAt.IsZero():
		f.Errorf("not all is over: %v %v, frozen at %v", intakes, recoveries, b.FrozenAt)
	case authorized != f.counted["FIRST"]+succeeded || failed != exhausted || intakes[store.IntakeReenterSucceeded] != succeeded:
		f.Errorf("intakes %v and recoveries %v do not fit", intakes, recoveries)
	case int64(size) != f.counted["FIRST"]+succeeded+exhausted:
		f.Errorf("%d came, %d passed at once, %d later, %d never", size, f.counted["FIRST"], succeeded, exhausted)
	case succeeded != f.counted["SUCCEEDED"]:
		f.Errorf("%d succeeded, and %d were told so", succeeded, f.counted["SUCCEEDED"])
	case exhausted == 0 || succeeded == 0 || f.refused[recovery.BatchKilled] == 0 || f.refused[recovery.LeaseLost] == 0:
		f.Errorf("it was an easy fortnight: %v %v %v", intakes, recoveries, f.refused)
	}
	rows, err := f.BatchTimeline(ctx, fortnightBatch, store.MaxPage)
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
	status   store.RecoveryStatus
	intake   store.IntakeStatus
}

// legal holds the record of one intake to spec 004, 8 and 9: every attempt after
// its wait, no more than three of them counted, nothing while the batch was
// killed, one end.
func (f *fortnight) legal(s *recovery.Story, frozen time.Time) error {
	if !s.Intake.PreviousID.IsZero() {
		return f.legalReentry(s)
	}
	at := record{intake: store.IntakePending}
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
func (f *fortnight) legalReentry(s *recovery.Story) error {
	last := s.Rows[len(s.Rows)-1]
	if s.Intake.Status != store.IntakeAuthorized || last.Event != store.AIRReenter || last.NewIntakeID != s.Intake.ID ||
		last.IntakeID != s.Intake.PreviousID || !s.Recovery.ID.IsZero() {
		return fmt.Errorf("it took over, and the record ends with %+v", last)
	}
	return nil
}

// next takes one step along a timeline, if it is a legal one.
func (f *fortnight) next(at *record, row store.AIR, i int, rows []store.AIR, frozen time.Time) error {
	retry := at.status == store.RecoveryActive
	if over := at.intake != store.IntakePending && !retry; over && row.Event != store.AIRLateResult && row.Event != store.AIRReenter {
		return fmt.Errorf("it was over: %+v", *at)
	}
	if retry && (row.Event == store.AIRFail || row.Event == store.AIRAuth) {
		timedOut := row.Reason == recovery.Timeout && at.lapses == recovery.MaxLapses-1
		if row.At.Before(at.eligible) || f.isKilled(row.At) && !timedOut {
			return fmt.Errorf("eligible since %v, killed: %t", at.eligible, f.isKilled(row.At))
		}
	}
	switch row.Event {
	case store.AIRFail:
		return f.failed(at, row, i, rows)
	case store.AIRAuth:
		at.intake = store.IntakeAuthorized
		if retry {
			at.intake, at.status = store.IntakeReenterSucceeded, store.RecoverySucceeded
		}
	case store.AIRReenter:
		if rows[i-1].Event != store.AIRAuth || at.status != store.RecoverySucceeded {
			return fmt.Errorf("nothing had passed: %+v", *at)
		}
	case store.AIRExhausted:
		at.status = store.RecoveryExhausted
		if spent := rows[i-1].Event == store.AIRFail && row.Reason != recovery.BatchFrozen; !spent && row.At.Before(frozen) {
			return fmt.Errorf("it had attempts left: %+v", *at)
		}
	case store.AIRLapse:
		if at.lapses++; !retry || at.lapses >= recovery.MaxLapses {
			return fmt.Errorf("%d lapses", at.lapses)
		}
	case store.AIRRevoke:
		if !f.isKilled(row.At) || !retry {
			return fmt.Errorf("nobody had killed the batch")
		}
	case store.AIRLateResult:
		if at.status != store.RecoveryExhausted {
			return fmt.Errorf("it was not too late: %+v", *at)
		}
	default:
		return fmt.Errorf("it is not of an intake")
	}
	return nil
}

// failed is a failed attempt: the wait begins anew, or, after the third wait,
// there is none.
func (f *fortnight) failed(at *record, row store.AIR, i int, rows []store.AIR) error {
	spent := at.attempt == 3
	if !spent {
		at.attempt++
	}
	if row.Attempt != at.attempt || row.Reason == "" {
		return fmt.Errorf("it counts as attempt %d for %q, and is number %d", row.Attempt, row.Reason, at.attempt)
	}
	if spent && (i+1 == len(rows) || rows[i+1].Event != store.AIREvent("EXHAUSTED")) {
		return fmt.Errorf("the last attempt failed, and it is not exhausted")
	}
	at.eligible = row.At.Add([]time.Duration{24 * hour, 72 * hour, 168 * hour}[at.attempt-1])
	at.lapses, at.status, at.intake = 0, store.RecoveryActive, store.IntakeFailed
	return nil
}
