package conformance

import (
	"context"
	"slices"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// Fits reports whether a filter lists an error that is open or resolved.
func Fits(f store.Filter, e *recoup.Error) bool {
	return (f.Table == "" || e.Table == f.Table) &&
		(len(f.Tables) == 0 || slices.Contains(f.Tables, e.Table)) &&
		(f.State == "" || e.State == f.State) &&
		(f.Entity == "" || e.EntityID == f.Entity) &&
		(f.Code == "" || e.Code == f.Code) &&
		(f.AssignedTo == "" || e.AssignedTo == f.AssignedTo) &&
		(f.Group.IsZero() || e.GroupID == f.Group) &&
		(len(f.Groups) == 0 || slices.Contains(f.Groups, e.GroupID)) &&
		(f.Text == "" || len(f.Groups) > 0) && // a search that was not made finds nothing
		(f.Tier == 0 || e.EscalationLevel == f.Tier) &&
		(f.Blocking == nil || *f.Blocking == e.Blocking) &&
		(f.Parked == nil || *f.Parked == (e.State == recoup.Parked || e.State == recoup.Escalated)) &&
		(f.Before.IsZero() || e.CreatedAt.Before(f.Before)) &&
		(f.After.IsZero() || !e.CreatedAt.Before(f.After))
}

func filters(d *Driver) {
	d.live(seeded(1), 250)
	known := slices.DeleteFunc(d.Known(), func(e recoup.Error) bool { return e.State == recoup.Archived })
	if len(known) < 20 {
		d.Fatalf("only %d errors to list", len(known))
	}
	slices.SortFunc(known, func(a, b recoup.Error) int { return -byTime(a.CreatedAt, b.CreatedAt, a.ID, b.ID) })
	if s, ok := d.Store.(grouper); ok { // lists of groups read them
		if err := s.FoldErrorGroups(d.Context()); err != nil {
			d.Fatal(err)
		}
	}
	for _, f := range singleFilters(known) {
		d.checkFilter(d, f, known, sqldb.MaxPage)
	}
	rapid.Check(d.TB, func(t *rapid.T) {
		d.checkFilter(t, drawFilter(t, known), known, rapid.IntRange(1, 12).Draw(t, "limit"))
	})
}

// checkFilter compares a list with a naive choice from all that there is.
func (d *Driver) checkFilter(t TB, f store.Filter, known []recoup.Error, limit int) {
	t.Helper()
	var want []recoup.ID
	for i := range known {
		if Fits(f, &known[i]) {
			want = append(want, known[i].ID)
		}
	}
	got := walk(t, limit, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
		return d.Store.Errors(ctx, f, p)
	})
	if !slices.Equal(ids(got), want) {
		t.Fatalf("%+v lists %v, want %v", f, ids(got), want)
	}
}

// singleFilters returns every filter that restricts one thing, with values of
// errors that are there, and the filter that restricts nothing.
func singleFilters(known []recoup.Error) []store.Filter {
	list := []store.Filter{{}, {Text: "timeout"}, {Blocking: new(true)}, {Blocking: new(false)}, {Parked: new(true)}, {Parked: new(false)}, {Table: "no.such_table"}, {Tables: []string{"no.such_table"}}}
	for _, e := range known {
		list = append(list,
			store.Filter{Table: e.Table}, store.Filter{Tables: []string{e.Table, target}}, store.Filter{State: e.State},
			store.Filter{Entity: e.EntityID}, store.Filter{Code: e.Code}, store.Filter{AssignedTo: e.AssignedTo}, store.Filter{Group: e.GroupID},
			store.Filter{Tier: e.EscalationLevel}, store.Filter{Before: e.CreatedAt}, store.Filter{After: e.CreatedAt})
	}
	return list
}

func byTime(a, b time.Time, x, y recoup.ID) int {
	if order := a.Compare(b); order != 0 {
		return order
	}
	return slices.Compare(x[:], y[:])
}

// drawFilter draws a filter that mostly fits something: its parts are taken
// from errors that are there.
func drawFilter(t *rapid.T, known []recoup.Error) store.Filter {
	var f store.Filter
	some := func(part string) *recoup.Error {
		if rapid.IntRange(0, 3).Draw(t, part) > 0 {
			return nil
		}
		return &known[rapid.IntRange(0, len(known)-1).Draw(t, part+" of")]
	}
	if e := some("table"); e != nil {
		f.Table = e.Table
	}
	if e := some("tables"); e != nil {
		f.Tables = []string{e.Table, target, "no.such_table"}
	}
	if e := some("state"); e != nil {
		f.State = e.State
	}
	if e := some("entity"); e != nil {
		f.Entity = e.EntityID
	}
	if e := some("code"); e != nil {
		f.Code = e.Code
	}
	if e := some("assigned"); e != nil {
		f.AssignedTo = e.AssignedTo
	}
	if e := some("group"); e != nil {
		f.Group = e.GroupID
	}
	if e := some("groups"); e != nil && !e.GroupID.IsZero() {
		f.Groups, f.Text = []recoup.ID{e.GroupID, {1}}, "found"
		if other := some("other group"); other != nil && !other.GroupID.IsZero() {
			f.Groups = append(f.Groups, other.GroupID)
		}
	}
	if e := some("tier"); e != nil {
		f.Tier = e.EscalationLevel
	}
	if e := some("before"); e != nil {
		f.Before = e.CreatedAt
	}
	if e := some("after"); e != nil {
		f.After = e.CreatedAt
	}
	if e := some("blocking"); e != nil {
		f.Blocking = new(e.Blocking)
	}
	if e := some("parked"); e != nil {
		f.Parked = new(e.State == recoup.Parked || e.State == recoup.Escalated)
	}
	return f
}
