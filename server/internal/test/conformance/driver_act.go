package conformance

import (
	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Report reports a failure that is to be accepted.
func (d *Driver) Report(table, entity string, code recoup.Code, severity recoup.Severity) recoup.Error {
	d.Helper()
	return d.only(d.TryReport(d.Context(), d.Failing(table, entity, code, severity)))
}

// ReportAll reports failures, all of which are to be accepted, in one verb.
func (d *Driver) ReportAll(reports ...lifecycle.Report) []recoup.Error {
	d.Helper()
	outcomes, err := d.TryReport(d.Context(), reports...)
	return d.accepted(outcomes, err)
}

// Admit admits a row that plain SQL has written.
func (d *Driver) Admit(row recoup.Error) recoup.Error {
	d.Helper()
	return d.only(d.TryAdmit(d.Context(), row))
}

// Apply applies an input that is to be accepted.
func (d *Driver) Apply(id recoup.ID, in lifecycle.Input) recoup.Error {
	d.Helper()
	return d.only(d.TryActs(d.Context(), Act{id, in}))
}

// Try applies an input and returns what became of it.
func (d *Driver) Try(id recoup.ID, in lifecycle.Input) store.Outcome {
	d.Helper()
	outcomes, err := d.TryActs(d.Context(), Act{id, in})
	if err != nil || len(outcomes) != 1 {
		d.Fatalf("%T: %d outcomes, %v", in, len(outcomes), err)
	}
	return outcomes[0]
}

// Claim claims up to n due errors of the tables.
func (d *Driver) Claim(tables []string, n int) []recoup.Error {
	d.Helper()
	claimed, err := d.TryClaim(d.Context(), "w1", n, tables...)
	if err != nil {
		d.Fatalf("claim: %v", err)
	}
	return claimed
}

// ClaimDue waits until an error is due and claims it, alone in its table.
func (d *Driver) ClaimDue(e recoup.Error) recoup.Error {
	d.Helper()
	if e.NextRetryAt.After(d.Now()) {
		d.WaitUntil(e.NextRetryAt)
	}
	claimed := d.Claim([]string{e.Table}, 1)
	if len(claimed) != 1 || claimed[0].ID != e.ID {
		d.Fatalf("claimed %v, want %v", ids(claimed), e.ID)
	}
	return claimed[0]
}

// Park parks an error.
func (d *Driver) Park(id recoup.ID, reason recoup.ParkReason) recoup.Error {
	d.Helper()
	return d.Apply(id, lifecycle.Park{By: "ada", Reason: reason})
}

// Resolve resolves an error.
func (d *Driver) Resolve(id recoup.ID) recoup.Error {
	d.Helper()
	return d.Apply(id, lifecycle.Resolve{By: "ada", Reason: "done"})
}

// Archive archives an error.
func (d *Driver) Archive(id recoup.ID) recoup.Error {
	d.Helper()
	return d.Apply(id, lifecycle.ArchiveNow{By: "ada", Reason: "enough"})
}

// Promote asks for an entity's promotion.
func (d *Driver) Promote(entity string) (done store.Promoted, blockers []recoup.Error, err error) {
	return d.Store.Promote(d.Context(), store.Promotion{
		ID: d.ID(), Entity: entity, Phase: "enrichment", By: "ada", At: d.Now(),
	})
}

// Read returns an error as the store has it.
func (d *Driver) Read(id recoup.ID) recoup.Error {
	d.Helper()
	e, err := d.Store.Error(d.Context(), id)
	if err != nil {
		d.Fatalf("read %v: %v", id, err)
	}
	return Canonical(e)
}

func (d *Driver) only(outcomes []store.Outcome, err error) recoup.Error {
	d.Helper()
	list := d.accepted(outcomes, err)
	if len(list) != 1 {
		d.Fatalf("%d outcomes, want 1", len(list))
	}
	return list[0]
}

// accepted returns the errors of outcomes that are all to be without objection.
func (d *Driver) accepted(outcomes []store.Outcome, err error) []recoup.Error {
	d.Helper()
	if err != nil {
		d.Fatalf("the verb failed: %v", err)
	}
	list := make([]recoup.Error, len(outcomes))
	for i, out := range outcomes {
		if out.Err != nil {
			d.Fatalf("item %d: %v", i, out.Err)
		}
		list[i] = out.Error
	}
	return list
}

func ids(list []recoup.Error) []recoup.ID {
	names := make([]recoup.ID, len(list))
	for i := range list {
		names[i] = list[i].ID
	}
	return names
}
