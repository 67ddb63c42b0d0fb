package conformance

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
)

func roundTrips() []clause {
	return []clause{
		{"an error with every field set comes back from its table and from the archive", everyField},
		{"an error that a worker holds comes back with its lease", everyFieldHeld},
		{"what is not set stays unset", nothingSet},
		{"times keep their microseconds and lose what is below", microseconds},
		{"text comes back to the letter and means nothing to the database", text},
		{"a message of a mebibyte is kept whole", longMessage},
	}
}

// full returns an escalated error in which no field is zero but those that only
// the archive adds, and the lease, which only an error in retry has.
func full(d *Driver) recoup.Error {
	var e recoup.Error
	n := 0
	fill(reflect.ValueOf(&e).Elem(), &n)
	e.Table, e.State, e.Disposition = dol, recoup.Escalated, recoup.DispositionParked
	e.Severity, e.Category, e.Class = recoup.High, recoup.Operational, recoup.ClassLongDelay
	e.RetryCount, e.MaxRetries, e.EscalationLevel = 3, 5, 2
	e.ID, e.CorrelationID, e.LastAttempt = d.ID(), d.ID(), d.ID()
	e.Archive, e.Lease = recoup.Archive{}, recoup.Lease{}
	return e
}

// fill gives each field a value of its own.
func fill(v reflect.Value, n *int) {
	*n++
	switch at := Epoch().Add(time.Duration(*n) * 61_000_003 * time.Microsecond); v.Kind() {
	case reflect.String:
		v.SetString("TEXT_" + strings.Repeat("X", *n))
	case reflect.Int:
		v.SetInt(int64(*n))
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[time.Time]() {
			v.Set(reflect.ValueOf(at))
			return
		}
		for i := range v.NumField() {
			fill(v.Field(i), n)
		}
	}
}

// keep is a decision that stores an error as it is, past the state machine.
func keep(e recoup.Error) store.Decide {
	return func(*recoup.Error, int, time.Time) (recoup.Error, lifecycle.Effects, error) {
		return e, lifecycle.Effects{}, nil
	}
}

func (d *Driver) put(e recoup.Error) {
	d.Helper()
	r := store.Report{Table: e.Identity().Table, Entity: e.EntityID, Code: e.Code, Decide: keep(e)}
	outcomes, err := d.Store.Report(d.Context(), d.Now(), []store.Report{r})
	d.accepted(outcomes, err)
}

func (d *Driver) replace(e recoup.Error) {
	d.Helper()
	outcomes, err := d.Store.ApplySteps(d.Context(), d.Now(), []store.Step{{ID: e.ID, Decide: keep(e)}})
	d.accepted(outcomes, err)
}

func (d *Driver) wantBack(e recoup.Error) {
	d.Helper()
	if diff := difference(d.Read(e.ID), e); diff != "" {
		d.Errorf("an error did not come back as it went in:%s", diff)
	}
}

func (d *Driver) wantListed(list []recoup.Error, e recoup.Error) {
	d.Helper()
	if len(list) != 1 {
		d.Fatalf("listed %d errors, want 1", len(list))
	}
	if diff := difference(list[0], e); diff != "" {
		d.Errorf("an error is not listed as it went in:%s", diff)
	}
}

func everyField(d *Driver) {
	e := full(d)
	d.put(e)
	d.wantBack(e)
	d.wantListed(d.List(store.Filter{}), e)

	changed := full(d)
	changed.ID, changed.CorrelationID, changed.CreatedAt = e.ID, e.CorrelationID, e.CreatedAt
	changed.UpdatedAt, changed.RetryCount, changed.EscalationLevel = changed.UpdatedAt.Add(time.Hour), 4, 3
	d.replace(changed)
	d.wantBack(changed)

	archived := changed
	fill(reflect.ValueOf(&archived.Archive).Elem(), new(100))
	archived.State, archived.Blocking, archived.Replaceable = recoup.Archived, false, false
	archived.ArchiveReason, archived.FinalDisposition = recoup.SupersededByNext, recoup.DispositionParked
	archived.SupersededBy, archived.PurgeAt, archived.UpdatedAt = d.ID(), archived.ArchivedAt.AddDate(2, 0, 0), archived.ArchivedAt
	d.replace(archived)
	d.wantBack(archived)
	d.wantListed(d.ArchivedAll(), archived)
	if left := d.List(store.Filter{}); len(left) != 0 {
		d.Errorf("an archived error is still in its table: %v", ids(left))
	}
}

func everyFieldHeld(d *Driver) {
	e := full(d)
	e.State, e.Disposition = recoup.RetryPending, recoup.DispositionRetry
	d.put(e)
	d.wantBack(e)
	for _, worker := range []string{"w1", "w2"} {
		e.Lease = recoup.Lease{LeaseToken: d.ID(), LeaseWorker: worker, LeasedAt: e.UpdatedAt.Add(time.Hour), LeaseEndsAt: e.UpdatedAt.Add(2 * time.Hour)}
		e.UpdatedAt, e.LastRetryAt, e.NextRetryAt = e.LeasedAt, e.LeasedAt, e.LeaseEndsAt
		d.replace(e)
		d.wantBack(e)
		d.wantListed(d.List(store.Filter{}), e)
	}
	e.Lease, e.NextRetryAt = recoup.Lease{}, e.NextRetryAt.Add(time.Minute)
	d.replace(e)
	d.wantBack(e)
}

func nothingSet(d *Driver) {
	e := recoup.Error{
		ID: d.ID(), Table: errorLog, Code: "NETWORK_TIMEOUT", PolicyVersion: d.Policy.Version,
		Category: recoup.Transient, Class: recoup.ClassImmediate,
		State: recoup.Active, Disposition: recoup.DispositionIgnore, CreatedAt: d.Now(), UpdatedAt: d.Now(),
	}
	d.put(e)
	d.wantBack(e)
	e.State, e.FinalDisposition, e.ArchiveReason = recoup.Archived, e.Disposition, recoup.ManualArchive
	e.ArchivedAt, e.ArchivedBy, e.PurgeAt = d.Now(), "ada", d.Now().Add(730*day)
	d.replace(e)
	d.wantBack(e)
	if !e.SupersededBy.IsZero() {
		d.Error("superseded by nobody")
	}
}

func microseconds(d *Driver) {
	zone := time.FixedZone("somewhere", 5*3600+1800)
	d.WaitUntil(time.Date(2026, 2, 28, 23, 59, 59, 999_999_999, time.UTC).In(zone))
	e := d.Report(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	if e.CreatedAt.Nanosecond() != 999_999_999 {
		d.Fatalf("created at %v", e.CreatedAt)
	}
	d.Check()
	d.Archive(e.ID)
	d.Check()
}

// texts are what a careless store would stumble over.
func texts() []string {
	return []string{
		"plain", "Plain", " plain", "plain ", "O'Brien", `say "hi"`, "100%", "_____", `back\slash`, "semi;colon",
		"'; drop table error; --", "$1", "?", ":name", "@p1", "{}", "null", "NULL", "tab\tand\nline",
		"na\u00efve", "nai\u0308ve", "日本語", "שלום", "🧯🧑‍🚒", "\u2028", "\ufeffbom", "{\"json\":true}", "2026-02-02",
		strings.Repeat("long ", 40), // as long as an entity can be
	}
}

func text(d *Driver) {
	for _, s := range texts() {
		in := d.Failing(dol, s, "NETWORK_TIMEOUT", recoup.Medium)
		in.Message, in.By = s, s
		e := d.ReportAll(in)[0]
		d.Apply(e.ID, lifecycle.Park{By: s, Reason: recoup.ParkReason(s)})
		d.Apply(e.ID, lifecycle.Assign{By: s, To: s, Reason: s})
		own := []recoup.ID{e.ID}
		if diff := idDifference(ids(d.List(store.Filter{Entity: s})), own); diff != "" {
			d.Errorf("found by entity %q: %s", s, diff)
		}
		if diff := idDifference(ids(d.List(store.Filter{AssignedTo: s})), own); diff != "" {
			d.Errorf("found by assignee %q: %s", s, diff)
		}
		_, blockers, err := d.Promote(s)
		if diff := idDifference(ids(blockers), own); diff != "" || !errors.Is(err, store.ErrBlocked) {
			d.Errorf("%q is blocked by: %s, %v", s, diff, err)
		}
	}
	d.Check()
}

func longMessage(d *Driver) {
	in := d.Failing(dol, "e1", "NETWORK_TIMEOUT", recoup.Medium)
	in.Message = strings.Repeat("0123456789abcdef", 1<<16)
	e := d.ReportAll(in)[0]
	d.Check()
	d.Archive(e.ID)
	d.Check()
}
