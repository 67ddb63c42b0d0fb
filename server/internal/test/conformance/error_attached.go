package conformance

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// drops writes what is attached to a report as a row of a table that every database has.
type drops struct{ fault string }

var errAttached = errors.New("the attached row cannot be written")

// WriteAttached implements [store.Attacher].
func (a *drops) WriteAttached(tx sqldb.Tx, list []store.Attached) error {
	insert := tx.Dialect().Either("insert into recoup.event_drop (day, reason, n) values ('2026-01-01', $1, 1)", "insert into event_drop (day, reason, n) values (20454, $1, 1)")
	for _, one := range list {
		if err := tx.Do(insert, fmt.Sprint(one.ErrorID, " ", one.Table, " ", one.Value)); err != nil {
			return err
		}
	}
	switch a.fault {
	case "statement": // delayed: it fails no later than the commit
		return tx.Do(tx.Dialect().Either("insert into recoup.event_drop (day, reason, n) values ('2026-01-01', 'none', 0)", "insert into event_drop (day, reason, n) values (20454, 'none', 0)"))
	case "attacher":
		return errAttached
	}
	return nil
}

// attached reports what the database has of attachments.
func (d *Driver) attached(db sqldb.DB) []string {
	d.Helper()
	list, err := sqldb.Rows(d.Context(), db, sqldb.NewQuery("read what was attached", "select reason from recoup.event_drop order by reason"),
		sqldb.Fields(func(s *string) []any { return []any{s} })...)
	if err != nil {
		d.Errorf("%v", err)
	}
	return list
}

// attachment reports failures with attachments: a row is there exactly if its error is.
func attachment(d *Driver) {
	s, has := d.Store.(interface{ SQL() sqldb.DB })
	if !has {
		return
	}
	verb := func(do func(context.Context, time.Time, []store.Report) ([]store.Outcome, error), entity string, fault string) ([]store.Outcome, error) {
		made := make([]decision, 2)
		batch := []store.Report{
			d.report(d.Failing(dol, entity, "NETWORK_TIMEOUT", recoup.Critical), &made[0]),
			d.report(d.Failing("no.such_table", entity, "NETWORK_TIMEOUT", recoup.Medium), &made[1]),
		}
		by := &drops{fault}
		batch[0].Attach, batch[1].Attach = &store.Attachment{By: by, Value: "first"}, &store.Attachment{By: by, Value: "second"}
		return d.verb(made, func() ([]store.Outcome, error) { return do(d.Context(), d.Now(), batch) })
	}
	for _, fault := range []string{"statement", "attacher"} {
		if _, err := verb(d.Store.Report, "lost", fault); err == nil {
			d.Errorf("fault %s: no error", fault)
		}
		if blocked, err := d.Store.Blocking(d.Context(), []string{"lost"}, 10); err != nil || len(blocked[0]) != 0 {
			d.Errorf("fault %s: the error was committed without what is attached to it: %+v, %v", fault, blocked, err)
		}
		if got := d.attached(s.SQL()); len(got) != 0 {
			d.Errorf("fault %s: %q was committed without its error", fault, got)
		}
		d.Check()
	}
	outcomes, err := verb(d.Store.Report, "kept", "")
	if err != nil || len(outcomes) != 2 {
		d.Fatalf("got %+v, %v", outcomes, err)
	}
	var want []string
	for i, value := range []string{"first", "second"} {
		want = append(want, outcomes[i].Error.ID.String()+" "+outcomes[i].Error.Table+" "+value)
	}
	if slices.Sort(want); !slices.Equal(d.attached(s.SQL()), want) {
		d.Errorf("attached %q, want %q", d.attached(s.SQL()), want)
	}
	d.Check()
}
