package conformance

import (
	"errors"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func admissions() []clause {
	return []clause{
		{"a row written by plain SQL waits to be admitted, and blocks at once", rawRow},
		{"a row becomes governed when it is admitted", admitted},
		{"a row cannot be claimed before it is admitted, and only its TTL runs", rawNotClaimed},
		{"rows wait for admission oldest first, up to a limit", rawOrder},
		{"an admitted row takes the place of the open error of its key", admittedRepeat},
		{"of two rows with one key the second to be admitted takes the place of the first", admittedTwice},
		{"a row is admitted once, however many nodes see it waiting", raceAdmission},
		{"a row of a table that is kept for ever is admitted once and then stays", admittedInfinite},
	}
}

// raw writes a row with plain SQL and returns it. Its times come from the
// database's own clock, so the driver's is set by them.
func (d *Driver) raw(table, entity string) recoup.Error {
	d.Helper()
	plain, ok := d.Store.(RawInserter)
	if !ok {
		d.Fatalf("the store knows no plain SQL")
	}
	if err := plain.RawInsert(d.Context(), table, entity, "NETWORK_TIMEOUT"); err != nil {
		d.Fatalf("insert into %s: %v", table, err)
	}
	rows := d.unadmitted(sqldb.MaxPage)
	if len(rows) == 0 {
		d.Fatalf("the row does not wait for admission")
	}
	row := rows[len(rows)-1]
	if row.CreatedAt.After(d.Now()) {
		d.WaitUntil(row.CreatedAt)
	}
	d.Wait(time.Second)
	return row
}

func (d *Driver) unadmitted(limit int) []recoup.Error {
	d.Helper()
	rows, err := d.Store.Unadmitted(d.Context(), limit)
	if err != nil {
		d.Fatalf("unadmitted: %v", err)
	}
	return rows
}

func rawRow(d *Driver) {
	row := d.raw(dol, "e1")
	if row.Table != dol || row.EntityID != "e1" || row.Code != "NETWORK_TIMEOUT" || row.ID.IsZero() || row.CreatedAt.IsZero() {
		d.Errorf("the row is %+v", row)
	}
	if row.State != recoup.Active || row.Disposition != recoup.DispositionRetry || !row.Blocking || row.PolicyVersion != "" {
		d.Errorf("it is born %s, %s, blocking %v under policy %q", row.State, row.Disposition, row.Blocking, row.PolicyVersion)
	}
	d.wantBlocked("e1", row.ID)
	d.wantIDs(d.List(store.Filter{Table: dol}), row.ID)
	got, err := d.Store.Counts(d.Context())
	if err != nil || len(got) != 1 || got[0] != (recoup.StateCount{Table: dol, State: recoup.Active, N: 1}) {
		d.Errorf("counts are %v, %v", got, err)
	}
}

func admitted(d *Driver) {
	row := d.raw(dol, "e1")
	e := d.Admit(row)
	if e.ID != row.ID || e.State != recoup.RetryPending || !e.ExpiresAt.Equal(row.CreatedAt.Add(30*day)) {
		d.Errorf("it became %s, %v, and expires %v", e.State, e.ID, e.ExpiresAt)
	}
	if left := d.unadmitted(10); len(left) != 0 {
		d.Errorf("it still waits for admission: %v", ids(left))
	}
	d.wantHistory(e.ID, "report")
	d.ClaimDue(e)
	d.Check()
}

func rawNotClaimed(d *Driver) {
	d.raw(dol, "e1")
	d.Wait(300 * day)
	d.wantIDs(d.Claim([]string{dol}, 10))
	for _, due := range allDeadlines() {
		if got := d.due(due.kind, d.Now(), 10); len(got) != 0 && due.kind != store.DueExpiry {
			d.Errorf("%s is due for a row that nobody has admitted", due.kind)
		}
	}
}

func rawOrder(d *Driver) {
	var want []recoup.ID
	for _, entity := range []string{"e1", "e2", "e3"} {
		want = append(want, d.raw(dol, entity).ID)
	}
	d.wantIDs(d.unadmitted(2), want[:2]...)
	d.wantIDs(d.unadmitted(10), want...)
}

func admittedRepeat(d *Driver) {
	open := d.Park(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	e := d.Admit(d.raw(dol, "e1"))
	if old := d.Read(open.ID); old.SupersededBy != e.ID {
		d.Errorf("the open error is %s, superseded by %v, want %v", old.State, old.SupersededBy, e.ID)
	}
	d.wantState(e.ID, recoup.Parked)
	d.wantBlocked("e1", e.ID)
	d.Check()
}

func admittedTwice(d *Driver) {
	first, second := d.raw(dol, "e1"), d.raw(dol, "e1")
	d.Admit(first)
	e := d.Admit(second)
	if e.RetryCount != 1 {
		d.Errorf("the second has used %d retries, want 1", e.RetryCount)
	}
	d.wantState(first.ID, recoup.Archived)
	d.Check()
}

func admittedInfinite(d *Driver) {
	e := d.Admit(d.raw(masterLog, "e1"))
	d.wantState(e.ID, recoup.Active)
	d.wantRefusalOf(d.Try(e.ID, lifecycle.ArchiveNow{By: "ada"}), "archive")
	d.Check()
}

func raceAdmission(d *Driver) {
	row := d.raw(dol, "e1")
	answers := make([]error, crowd)
	d.together(crowd, func(i int) error {
		outcomes, err := d.TryAdmit(d.Context(), row)
		if err == nil {
			answers[i] = outcomes[0].Err
		}
		return err
	})
	accepted := 0
	for _, answer := range answers {
		switch {
		case answer == nil:
			accepted++
		case !errors.Is(answer, sqldb.ErrNotFound):
			d.Errorf("a second admission is answered with %v", answer)
		}
	}
	if accepted != 1 {
		d.Errorf("the row was admitted %d times", accepted)
	}
	d.wantHistory(row.ID, "report")
	d.Check()
}
