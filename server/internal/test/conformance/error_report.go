package conformance

import (
	"errors"
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func reports() []clause {
	return []clause{
		{"a first report is kept with its history and its notices", firstReport},
		{"a repeat takes the place of the open error, which is archived as superseded", repeat},
		{"a repeat of a parked error keeps its place in the park", repeatParked},
		{"a report after the end of an error begins a new one", reportAfterEnd},
		{"errors of other entities, codes and tables are left alone by a report", otherKeys},
		{"of two reports of one key in one batch the first goes straight to the archive", twiceInBatch},
		{"a batch of five hundred reports means what they mean one by one", largeBatch},
		{"a report for an unknown table, or without the entity it needs, is kept as an orphan", orphaned},
		{"orphans that were meant for different tables do not replace each other", orphansApart},
		{"without an entity nothing says what would be the same, so nothing is replaced", noEntity},
		{"dead letters are never replaced", lettersStay},
		{"errors that are kept for ever are never replaced", infiniteStays},
		{"a refused report leaves the others of its batch alone", refusedReport},
		{"an empty batch is no batch", emptyBatch},
		{"failures of one family are counted for an entity over all its errors", streaks},
		{"an unpark or a resolution starts the count anew", streakReset},
	}
}

func firstReport(d *Driver) {
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantState(e.ID, recoup.RetryPending)
	critical := d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Critical)
	d.wantState(critical.ID, recoup.Parked)
	d.wantNotices(critical.ID, wire.NoticeParked)
	d.Check()
}

func repeat(d *Driver) {
	older := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Wait(minute)
	newer := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if newer.RetryCount != 1 {
		d.Errorf("a repeat has used %d retries, want 1", newer.RetryCount)
	}
	old := d.Read(older.ID)
	if old.State != recoup.Archived || old.ArchiveReason != recoup.SupersededByNext || old.SupersededBy != newer.ID {
		d.Errorf("the older is %s as %s by %v", old.State, old.ArchiveReason, old.SupersededBy)
	}
	d.wantHistory(older.ID, "report", "archive")
	d.wantHistory(newer.ID, "report")
	d.Check()
}

func repeatParked(d *Driver) {
	older := d.Park(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID, "look")
	d.Apply(older.ID, lifecycle.Assign{By: "ada", To: "bob"})
	d.Wait(minute)
	newer := d.Read(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	if newer.State != recoup.Parked || newer.AssignedTo != "bob" || !newer.ParkedAt.Equal(older.ParkedAt) {
		d.Errorf("a repeat left the park: %s, assigned to %q", newer.State, newer.AssignedTo)
	}
	d.Check()
}

func reportAfterEnd(d *Driver) {
	resolved := d.Resolve(d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium).ID)
	next := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantState(resolved.ID, recoup.Resolved)
	d.Archive(next.ID)
	last := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if last.RetryCount != 0 {
		d.Errorf("a new error begins with %d retries used", last.RetryCount)
	}
	d.Check()
}

func otherKeys(d *Driver) {
	d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(dol, "e1", "TIMEOUT", recoup.Medium)
	d.Report(people, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantOpen(store.Filter{State: recoup.RetryPending}, 4)
	d.Check()
}

func twiceInBatch(d *Driver) {
	list := d.ReportAll(
		d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium),
		d.Failing(dol, "e2", "NETWORK_TIMEOUT", recoup.Medium),
		d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium),
	)
	first := d.Read(list[0].ID)
	if first.State != recoup.Archived || first.SupersededBy != list[2].ID {
		d.Errorf("the first is %s, superseded by %v, want %v", first.State, first.SupersededBy, list[2].ID)
	}
	d.wantHistory(first.ID, "report", "archive")
	d.wantOpen(store.Filter{}, 2)
	d.Check()
}

func largeBatch(d *Driver) {
	codes := []recoup.Code{"NETWORK_TIMEOUT", "DOMAIN_NOT_FOUND", "DNS_TIMEOUT", "VALIDATION_ERROR"}
	tables := []string{dol, target, people, discovery, letters, masterLog, "no.such_table"}
	batch := make([]lifecycle.Report, 500)
	for i := range batch {
		batch[i] = d.Failing(tables[i%len(tables)], fmt.Sprint("e", i%11), codes[i%len(codes)], recoup.Medium)
	}
	d.ReportAll(batch...)
	want := d.oneByOne(batch)
	for _, e := range d.Known() {
		if diff := difference(e, want[e.ID]); diff != "" {
			d.Fatalf("%s %v is not what it would be one by one:%s", e.Table, e.ID, diff)
		}
	}
	d.Check()
}

// oneByOne says what becomes of reports that arrive one after another in an
// empty store, with nothing but the state machine.
func (d *Driver) oneByOne(batch []lifecycle.Report) map[recoup.ID]recoup.Error {
	open, all, streaks := map[recoup.Identity]recoup.Error{}, map[recoup.ID]recoup.Error{}, map[store.StreakKey]int{}
	for _, in := range batch {
		r := d.report(in, &decision{})
		k, family := r.Key(), store.StreakKey{Family: r.Family, Entity: r.Entity}
		var current *recoup.Error
		if e, ok := open[k]; ok {
			current = &e
		}
		next, effects, err := lifecycle.Step(d.Policy, current, counted(in, streaks[family]), d.Now())
		if err != nil {
			d.Fatalf("report: %v", err)
		}
		if old := effects.Superseded; old != nil {
			all[old.Error.ID] = old.Error
		}
		if effects.Streak.Family != "" {
			streaks[family]++
		}
		all[next.ID] = next
		if next.Replaceable {
			open[k] = next
		}
	}
	return all
}

func orphaned(d *Driver) {
	unknown := d.Report("no.such_table", "e1", "NETWORK_TIMEOUT", recoup.Medium)
	dead := d.Report("outreach.bit_errors", "e2", "NETWORK_TIMEOUT", recoup.Medium)
	nobody := d.Report(dol, "", "NETWORK_TIMEOUT", recoup.Medium)
	for _, e := range []recoup.Error{unknown, dead, nobody} {
		if got := d.Read(e.ID); got.Table != orphans || got.State != recoup.Parked || got.Blocking {
			d.Errorf("an orphan is %s in %s, blocking %v", got.State, got.Table, got.Blocking)
		}
	}
	again := d.Report("no.such_table", "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if old := d.Read(unknown.ID); old.SupersededBy != again.ID {
		d.Errorf("a repeated orphan is superseded by %v, want %v", old.SupersededBy, again.ID)
	}
	d.Check()
}

func orphansApart(d *Driver) {
	d.Report("no.such_table", "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report("outreach.bit_errors", "e1", "NETWORK_TIMEOUT", recoup.Medium)
	direct := d.Report(orphans, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantOpen(store.Filter{Table: orphans, Entity: "e1"}, 3)
	again := d.Report(orphans, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if old := d.Read(direct.ID); old.SupersededBy != again.ID {
		d.Errorf("what was meant for the orphans is superseded by %v, want %v", old.SupersededBy, again.ID)
	}
	d.wantOpen(store.Filter{Table: orphans, Entity: "e1"}, 3)
	d.Check()
}

func noEntity(d *Driver) {
	d.Report(errorLog, "", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(errorLog, "", "NETWORK_TIMEOUT", recoup.Medium)
	d.wantOpen(store.Filter{Table: errorLog}, 2)
	d.Check()
}

func lettersStay(d *Driver) {
	d.Report(letters, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.ReportAll(d.Failing(letters, "e1", "NETWORK_TIMEOUT", recoup.Medium), d.Failing(letters, "e1", "NETWORK_TIMEOUT", recoup.Medium))
	d.wantOpen(store.Filter{Table: letters, Blocking: new(true)}, 3)
	d.Check()
}

func infiniteStays(d *Driver) {
	d.Report(masterLog, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	d.Report(masterLog, "e1", "NETWORK_TIMEOUT", recoup.Critical)
	d.wantOpen(store.Filter{Table: masterLog}, 2)
	d.Check()
}

func refusedReport(d *Driver) {
	boom := errors.New("no")
	first, last := decision{}, decision{}
	batch := []store.Report{
		d.report(d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium), &first),
		{Table: dol, Entity: "e2", Code: "NETWORK_TIMEOUT", Decide: func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
			return recoup.Error{}, lifecycle.Effects{}, boom
		}},
		d.report(d.Failing(dol, "e3", "NETWORK_TIMEOUT", recoup.Medium), &last),
	}
	outcomes, err := d.Store.Report(d.Context(), d.Now(), batch)
	if err != nil || len(outcomes) != 3 || !errors.Is(outcomes[1].Err, boom) {
		d.Fatalf("outcomes %v, %v", outcomes, err)
	}
	d.learn([]decision{first, last}, []store.Outcome{outcomes[0], outcomes[2]})
	d.wantOpen(store.Filter{}, 2)
	d.Check()
}

func emptyBatch(d *Driver) {
	if outcomes, err := d.TryReport(d.Context()); err != nil || len(outcomes) != 0 {
		d.Errorf("no reports: %v, %v", outcomes, err)
	}
	if outcomes, err := d.TryActs(d.Context()); err != nil || len(outcomes) != 0 {
		d.Errorf("no acts: %v, %v", outcomes, err)
	}
	if claimed := d.Claim(nil, 10); len(claimed) != 0 {
		d.Errorf("a claim of no tables got %v", ids(claimed))
	}
	d.Check()
}

func streaks(d *Driver) {
	first := d.Report(target, "e1", "DOMAIN_NOT_FOUND", recoup.Medium)
	d.Report(target, "e2", "DOMAIN_NOT_FOUND", recoup.Medium)
	d.Report(target, "e1", "QUOTA_EXCEEDED", recoup.Medium)
	second := d.Report(target, "e1", "DNS_TIMEOUT", recoup.Medium)
	d.wantState(first.ID, recoup.RetryPending)
	d.wantState(second.ID, recoup.RetryPending)
	claimed := d.ClaimDue(second)
	third := d.Apply(second.ID, lifecycle.Fail{Token: claimed.LeaseToken, Failure: Failure("DOMAIN_NO_IMPRINT")})
	if third.State != recoup.Parked || third.ParkReason != recoup.MaxRetriesExceeded {
		d.Errorf("after three failed lookups it is %s, %s", third.State, third.ParkReason)
	}
	for i, code := range []recoup.Code{"DNS_TIMEOUT", "DOMAIN_NOT_FOUND", "DOMAIN_NO_IMPRINT"} {
		e := d.Report(target, "e3", code, recoup.Medium)
		d.wantState(e.ID, []recoup.State{recoup.RetryPending, recoup.RetryPending, recoup.Parked}[i])
	}
	d.Check()
}

func streakReset(d *Driver) {
	for _, end := range []lifecycle.Input{lifecycle.Resolve{By: "ada"}, lifecycle.Unpark{By: "ada"}} {
		entity := fmt.Sprintf("%T", end)
		d.Report(target, entity, "DOMAIN_NOT_FOUND", recoup.Medium)
		second := d.Report(target, entity, "DNS_TIMEOUT", recoup.Medium)
		if _, unpark := end.(lifecycle.Unpark); unpark {
			d.Park(second.ID, "look")
		}
		d.Apply(second.ID, end)
		anew := d.ReportAll(
			d.Failing(target, entity, "DOMAIN_NO_IMPRINT", recoup.Medium),
			d.Failing(target, entity, "DOMAIN_NOT_FOUND", recoup.Medium),
		)
		d.wantState(anew[0].ID, recoup.RetryPending)
		d.wantState(anew[1].ID, recoup.RetryPending)
	}
	d.Check()
}
