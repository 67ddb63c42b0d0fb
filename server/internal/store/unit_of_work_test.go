package store_test

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

const (
	dol    = "outreach.dol_errors"
	target = "outreach.company_target_errors"
)

// world makes items for a unit of work: real decisions under the default policy.
type world struct {
	policy *policy.Policy
	ids    *recoup.IDSource
	now    time.Time
}

func newWorld() *world {
	return &world{policy.Default(), recoup.NewIDSource(rand.Reader), time.Date(2026, 2, 2, 9, 0, 0, 0, time.UTC)}
}

func failure(code recoup.Code) lifecycle.Failure {
	def, ok := fault.Default().Lookup(code)
	if !ok {
		panic("not registered: " + code)
	}
	return lifecycle.Failure{Code: code, Class: def.Effective(false), Category: def.Category}
}

// decide asks the state machine. Failures get the count of those before them.
func (w *world) decide(in lifecycle.Input) store.Decide {
	return func(current *recoup.Error, streak int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		switch known := in.(type) {
		case lifecycle.Report:
			known.Failure.Streak = streak
			in = known
		case lifecycle.Fail:
			known.Failure.Streak = streak
			in = known
		}
		return lifecycle.Step(w.policy, current, in, w.now)
	}
}

func (w *world) report(table, entity string, code recoup.Code, severity recoup.Severity) store.Report {
	return w.reportAs(w.ids.New(w.now), table, entity, code, severity)
}

func (w *world) reportAs(id recoup.ID, table, entity string, code recoup.Code, severity recoup.Severity) store.Report {
	in := lifecycle.Report{ID: id, Table: table, EntityID: entity, Failure: failure(code), Severity: severity}
	return store.Report{Table: table, Entity: entity, Code: code, Family: w.family(table, code), Decide: w.decide(in)}
}

func (w *world) family(table string, code recoup.Code) string {
	t, _ := w.policy.Table(table)
	if family := w.policy.FamilyOf(t, code); family != nil {
		return family.Name
	}
	return ""
}

func (w *world) step(id recoup.ID, in lifecycle.Input) store.Step {
	return store.Step{ID: id, Decide: w.decide(in)}
}

// stored returns an error as a database would hold it.
func (w *world) stored(t *testing.T, entity string, inputs ...lifecycle.Input) recoup.Error {
	t.Helper()
	work := store.NewUnitOfWork(time.Time{}, nil)
	e := accept(t, work.Report(w.report(dol, entity, "NETWORK_TIMEOUT", recoup.Medium)))
	for _, in := range inputs {
		e = accept(t, work.Step(w.step(e.ID, in)))
	}
	return e
}

func accept(t *testing.T, out store.Outcome) recoup.Error {
	t.Helper()
	if out.Err != nil {
		t.Fatalf("refused: %v", out.Err)
	}
	return out.Error
}

// inputs returns the inputs of history rows.
func inputs(rows []recoup.Transition) []string {
	var list []string
	for _, row := range rows {
		list = append(list, row.Input)
	}
	return list
}

func wantIDs(t *testing.T, what string, list []*recoup.Error, want ...recoup.ID) {
	t.Helper()
	var got []recoup.ID
	for _, e := range list {
		got = append(got, e.ID)
	}
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// wantWritten says what a unit of work must write.
func wantWritten(t *testing.T, work *store.UnitOfWork, inserts, updates, moved, direct []recoup.ID) {
	t.Helper()
	wantIDs(t, "inserts", work.Inserts(), inserts...)
	wantIDs(t, "updates", work.Updates(), updates...)
	_, _, added := work.Ends()
	wantIDs(t, "archived", work.Ended(), slices.Concat(moved, direct)...)
	wantIDs(t, "added to be archived", added, direct...)
}

// transitions returns the history of errors, in order for each of them.
func transitions(work *store.UnitOfWork) []recoup.Transition {
	list := slices.Clip(work.History)
	ends, _, _ := work.Ends()
	for _, end := range ends {
		list = append(list, end.History)
	}
	return append(list, work.Late...)
}

func list(ids ...recoup.ID) []recoup.ID { return ids }

func TestItemsOfABatchSeeEachOther(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	accept(t, work.Step(w.step(e.ID, lifecycle.Park{By: "ada", Reason: "look"})))
	accept(t, work.Step(w.step(e.ID, lifecycle.Assign{By: "ada", To: "bob"})))
	accept(t, work.Step(w.step(e.ID, lifecycle.Resolve{By: "bob"})))
	wantWritten(t, work, nil, list(e.ID), nil, nil)
	if last := work.Updates()[0]; last.State != recoup.Resolved || last.AssignedTo != "bob" {
		t.Errorf("the last version is %s, assigned to %q", last.State, last.AssignedTo)
	}
	if got := inputs(work.History); !slices.Equal(got, []string{"park", "assign", "resolve"}) {
		t.Errorf("the history tells of %v", got)
	}
}

func TestARepeatArchivesTheStoredError(t *testing.T) {
	w := newWorld()
	old := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{old})
	e := accept(t, work.Report(w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)))
	wantWritten(t, work, list(e.ID), nil, list(old.ID), nil)
	moved := work.Ended()
	if moved[0].SupersededBy != e.ID || e.RetryCount != 1 {
		t.Errorf("superseded by %v with %d retries used", moved[0].SupersededBy, e.RetryCount)
	}
	if got := inputs(transitions(work)); !slices.Equal(got, []string{"report", "archive"}) {
		t.Errorf("the history tells of %v", got)
	}
}

func TestTwoReportsOfOneKeyInOneBatch(t *testing.T) {
	w := newWorld()
	work := store.NewUnitOfWork(time.Time{}, nil)
	first := accept(t, work.Report(w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)))
	other := accept(t, work.Report(w.report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)))
	second := accept(t, work.Report(w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)))
	wantWritten(t, work, list(other.ID, second.ID), nil, nil, list(first.ID))
	if direct := work.Ended(); direct[0].ArchiveReason != recoup.SupersededByNext || direct[0].SupersededBy != second.ID {
		t.Errorf("the first is archived as %s by %v", direct[0].ArchiveReason, direct[0].SupersededBy)
	}
}

func TestAReportAfterTheEndReplacesNothing(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	accept(t, work.Step(w.step(e.ID, lifecycle.Resolve{By: "ada"})))
	next := accept(t, work.Report(w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)))
	if next.RetryCount != 0 {
		t.Errorf("it begins with %d retries used", next.RetryCount)
	}
	wantWritten(t, work, list(next.ID), list(e.ID), nil, nil)
}

func TestARefusedItemLeavesTheOthersAlone(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	boom := errors.New("no")
	failing := store.Report{Table: dol, Entity: "e2", Code: "NETWORK_TIMEOUT",
		Decide: func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
			return recoup.Error{ID: recoup.ID{1}}, lifecycle.Effects{History: recoup.Transition{Input: "report"}}, boom
		}}
	if out := work.Report(failing); !errors.Is(out.Err, boom) {
		t.Errorf("answered with %v", out.Err)
	}
	var refusal *lifecycle.Refusal
	if out := work.Step(w.step(e.ID, lifecycle.Unpark{By: "ada"})); !errors.As(out.Err, &refusal) || out.Error != e {
		t.Errorf("answered with %v and another error: %v", out.Err, out.Error != e)
	}
	if out := work.Step(w.step(recoup.ID{9}, lifecycle.Resolve{By: "ada"})); !errors.Is(out.Err, sqldb.ErrNotFound) {
		t.Errorf("an unknown id is answered with %v", out.Err)
	}
	next := accept(t, work.Report(w.report(dol, "e3", "NETWORK_TIMEOUT", recoup.Medium)))
	wantWritten(t, work, list(next.ID), nil, nil, nil)
	if got := inputs(work.History); !slices.Equal(got, []string{"report"}) {
		t.Errorf("the history tells of %v", got)
	}
}

func TestADecisionCannotChangeWhatItIsShown(t *testing.T) {
	w := newWorld()
	e := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	work.Step(store.Step{ID: e.ID, Decide: func(current *recoup.Error, _ int, _ time.Time) (recoup.Error, lifecycle.Effects, error) {
		current.Message = "scribbled over"
		return recoup.Error{}, lifecycle.Effects{}, errors.New("no")
	}})
	if got := accept(t, work.Step(w.step(e.ID, lifecycle.Resolve{By: "ada"}))); got.Message != e.Message {
		t.Errorf("the message became %q", got.Message)
	}
}

func TestALateResultKeepsAHistoryRow(t *testing.T) {
	w := newWorld()
	token := w.ids.New(w.now)
	e := w.stored(t, "e1", lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"},
		lifecycle.Claim{Token: token, Worker: "w1"}, lifecycle.ArchiveNow{By: "ada"})
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
	out := work.Step(w.step(e.ID, lifecycle.Succeed{Token: token}))
	var refusal *lifecycle.Refusal
	if !errors.As(out.Err, &refusal) || refusal.Code != lifecycle.LeaseLost {
		t.Errorf("answered with %v", out.Err)
	}
	wantWritten(t, work, nil, nil, nil, nil)
	if len(work.History) != 1 || work.History[0].Attempt != token || work.History[0].ErrorID != e.ID {
		t.Errorf("the history gains %+v", work.History)
	}
}

func TestAResultThatIsSentAgainWritesNothing(t *testing.T) {
	w := newWorld()
	token := w.ids.New(w.now)
	again := lifecycle.Succeed{Token: token}
	for _, archived := range []bool{false, true} {
		e := w.stored(t, "e1", lifecycle.Park{By: "ada", Reason: "look"}, lifecycle.Unpark{By: "ada"},
			lifecycle.Claim{Token: token, Worker: "w1"}, again)
		if archived {
			e = accept(t, store.NewUnitOfWork(time.Time{}, []recoup.Error{e}).Step(w.step(e.ID, lifecycle.ArchiveNow{})))
		}
		work := store.NewUnitOfWork(time.Time{}, []recoup.Error{e})
		if got := accept(t, work.Step(w.step(e.ID, again))); got != e {
			t.Errorf("it became %+v", got)
		}
		wantWritten(t, work, nil, nil, nil, nil)
		if len(work.History) != 0 {
			t.Errorf("the history gains %+v", work.History)
		}
	}
}

func TestStreaksAreCountedWithinABatch(t *testing.T) {
	w := newWorld()
	family := w.family(target, "DOMAIN_NOT_FOUND")
	k1, k2, k3 := store.StreakKey{Family: family, Entity: "e1"}, store.StreakKey{Family: family, Entity: "e2"}, store.StreakKey{Family: family, Entity: "e3"}
	work := store.NewUnitOfWork(time.Time{}, nil)
	work.SetStreak(k1, 1)
	work.SetStreak(k3, 2)
	second := accept(t, work.Report(w.report(target, "e1", "DOMAIN_NOT_FOUND", recoup.Medium)))
	first := accept(t, work.Report(w.report(target, "e2", "DOMAIN_NOT_FOUND", recoup.Medium)))
	third := accept(t, work.Report(w.report(target, "e1", "DNS_TIMEOUT", recoup.Medium)))
	for _, want := range []struct {
		e     recoup.Error
		state recoup.State
	}{{second, recoup.RetryPending}, {first, recoup.RetryPending}, {third, recoup.Parked}} {
		if want.e.State != want.state {
			t.Errorf("%s of %s is %s, want %s", want.e.Code, want.e.EntityID, want.e.State, want.state)
		}
	}
	want := []store.StreakCount{{StreakKey: k1, Count: 3}, {StreakKey: k2, Count: 1}}
	if got := work.Streaks(); !slices.Equal(got, want) {
		t.Errorf("counts are %v, want %v", got, want)
	}
	accept(t, work.Step(w.step(third.ID, lifecycle.Unpark{By: "ada"})))
	want[0].Count = 0
	if got := work.Streaks(); !slices.Equal(got, want) {
		t.Errorf("after an unpark counts are %v, want %v", got, want)
	}
}

func TestAReportAdmitsTheRowItNames(t *testing.T) {
	w := newWorld()
	row := recoup.Error{ID: w.ids.New(w.now), Table: dol, EntityID: "e1", Code: "NETWORK_TIMEOUT", State: recoup.Active,
		Disposition: recoup.DispositionRetry, Blocking: true, CreatedAt: w.now}
	open := w.stored(t, "e1")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{row, open})
	r := w.reportAs(row.ID, dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	r.Admits = row.ID
	accept(t, work.Report(r))
	wantWritten(t, work, nil, list(row.ID), list(open.ID), nil)
	for _, again := range []recoup.ID{row.ID, {9}} {
		r.Admits = again
		if out := work.Report(r); !errors.Is(out.Err, sqldb.ErrNotFound) {
			t.Errorf("the admission of a row that does not wait is answered with %v", out.Err)
		}
	}

	next := accept(t, work.Report(w.report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)))
	wantWritten(t, work, list(next.ID), nil, list(row.ID, open.ID), nil)
}

func TestWhatIsWrittenKeepsTheOrderOfTheItems(t *testing.T) {
	w := newWorld()
	a, b := w.stored(t, "a"), w.stored(t, "b")
	work := store.NewUnitOfWork(time.Time{}, []recoup.Error{a, b})
	accept(t, work.Step(w.step(b.ID, lifecycle.Park{By: "ada", Reason: "look"})))
	c := accept(t, work.Report(w.report(dol, "c", "NETWORK_TIMEOUT", recoup.Critical)))
	d := accept(t, work.Report(w.report(dol, "d", "NETWORK_TIMEOUT", recoup.Medium)))
	accept(t, work.Step(w.step(a.ID, lifecycle.Park{By: "ada", Reason: "look"})))
	wantWritten(t, work, list(c.ID, d.ID), list(a.ID, b.ID), nil, nil)
	var history, notices []recoup.ID
	for _, row := range work.History {
		history = append(history, row.ErrorID)
	}
	for _, n := range work.Notices() {
		notices = append(notices, n.ErrorID)
	}
	if want := list(b.ID, c.ID, d.ID, a.ID); !slices.Equal(history, want) {
		t.Errorf("history: %v, want %v", history, want)
	}
	if want := list(b.ID, c.ID, a.ID); !slices.Equal(notices, want) {
		t.Errorf("notices: %v, want %v", notices, want)
	}
}

// Notices to one recipient about many errors at once are one digest, with how many
// they are, where, and the first of them; what asks for an act stays one for each.
func TestNoticesOfOneActAreDigested(t *testing.T) {
	w := newWorld()
	var rows []recoup.Error
	for i := range 13 {
		rows = append(rows, w.stored(t, fmt.Sprint("e", i)))
	}
	paged := accept(t, store.NewUnitOfWork(time.Time{}, nil).Report(w.report(dol, "paged", "RUNTIME_BUG", recoup.Medium)))
	w.now = paged.ExpiresAt.AddDate(0, 1, 0)
	work := store.NewUnitOfWork(w.now, append(rows, paged))
	for _, e := range append(rows, paged) {
		accept(t, work.Step(w.step(e.ID, lifecycle.Expire{})))
	}
	got := map[wire.NoticeKind]wire.Notice{}
	for _, n := range work.Notices() {
		if _, twice := got[n.Kind]; twice {
			t.Errorf("notified twice: %v", n)
		}
		got[n.Kind] = n
	}
	var d store.Digest
	if err := json.Unmarshal([]byte(got[wire.NoticeUnblocked].Body), &d); err != nil {
		t.Fatal(err)
	}
	if d.Count != 14 || len(d.Errors) != 10 || d.Errors[0] != rows[0].ID || d.Tables[dol] != 14 || !got[wire.NoticeUnblocked].ErrorID.IsZero() {
		t.Errorf("notified of %+v", d)
	}
	if over := got[wire.NoticePageOver]; over.ErrorID != paged.ID || over.Body != "" {
		t.Errorf("the end of a page: %+v", over)
	}
}
