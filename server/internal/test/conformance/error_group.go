package conformance

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// grouper is a store that groups errors by what they have in common.
type grouper interface {
	store.ErrorGrouper
	FoldErrorGroups(ctx context.Context) error
	PurgeErrorGroups(ctx context.Context, before time.Time, limit int) (int, error)
}

func groups() []clause {
	return []clause{
		{"groups count what counting gives, however errors came and went", groupCounts},
		{"groups are listed by what is open or by when they were seen, on pages of any size", groupLists},
		{"a group has an owner and a note, which stay", groupNotes},
		{"a group without errors is deleted once it was not seen for long", groupPurge},
	}
}

// saying reports a failure with a message.
func (d *Driver) saying(table, entity, message string) recoup.Error {
	d.Helper()
	in := d.Failing(table, entity, "NETWORK_TIMEOUT", recoup.Medium)
	in.Message = message
	return d.ReportAll(in)[0]
}

// wantGroups returns the groups that there should be, by id, as far as errors tell that
// are there or in the archive.
func (d *Driver) wantGroups() map[recoup.ID]*recoup.ErrorGroup {
	all := map[recoup.ID]*recoup.ErrorGroup{}
	for _, e := range d.Known() {
		if e.GroupID.IsZero() {
			continue
		}
		e.CreatedAt = e.CreatedAt.Truncate(time.Microsecond)
		g := all[e.GroupID]
		if g == nil {
			g = &recoup.ErrorGroup{ID: e.GroupID, Table: e.Table, Code: e.Code, FirstSeenAt: e.CreatedAt, LastSeenAt: e.CreatedAt}
			all[e.GroupID] = g
		}
		g.Total++
		if e.CreatedAt.Before(g.FirstSeenAt) {
			g.FirstSeenAt = e.CreatedAt
		}
		if e.CreatedAt.After(g.LastSeenAt) {
			g.LastSeenAt = e.CreatedAt
		}
		count(g, e.State)
	}
	return all
}

func count(g *recoup.ErrorGroup, s recoup.State) {
	n := map[recoup.State]*int64{
		recoup.Active: &g.Active, recoup.RetryPending: &g.RetryPending, recoup.Parked: &g.Parked, recoup.Escalated: &g.Escalated, recoup.Resolved: &g.Resolved,
	}[s]
	if n == nil {
		return
	}
	*n++
	if s != recoup.Resolved {
		g.Open++
	}
}

// allGroups walks a list of groups to its end.
func (d *Driver) allGroups(s grouper, f store.ErrorGroupFilter, limit int) (all []recoup.ErrorGroup) {
	d.Helper()
	for p := (sqldb.Page{Limit: limit}); ; {
		list, next, err := s.ErrorGroups(d.Context(), f, p)
		if err != nil {
			d.Fatalf("groups: %v", err)
		}
		all = append(all, list...)
		if p.Cursor = next; next.IsZero() {
			return all
		}
	}
}

// checkGroups compares the groups of a store with what counting gives.
func (d *Driver) checkGroups() {
	d.Helper()
	s, ok := d.Store.(grouper)
	if !ok {
		return
	}
	if err := s.FoldErrorGroups(d.Context()); err != nil {
		d.Errorf("fold groups: %v", err)
	}
	want := d.wantGroups()
	for _, got := range d.allGroups(s, store.ErrorGroupFilter{}, sqldb.MaxPage) {
		w := want[got.ID]
		delete(want, got.ID)
		if w == nil {
			w = &recoup.ErrorGroup{} // its errors are purged
		} else if got.Table != w.Table || got.Code != w.Code || got.Total < w.Total || got.LastSeenAt.Before(w.LastSeenAt) || got.FirstSeenAt.After(w.FirstSeenAt) {
			d.Errorf("the group is %+v, want %+v", got, w)
		}
		if got.GroupStates != w.GroupStates || got.Open != w.Open {
			d.Errorf("group %v of %s has %+v, want %+v", got.ID, got.Table, got.GroupStates, w.GroupStates)
		}
	}
	for _, g := range want {
		d.Errorf("group %v of %s, %s is missing", g.ID, g.Table, g.Code)
	}
}

func groupCounts(d *Driver) {
	d.live(seeded(3), 200)
	d.Check()
	if first := d.saying(dol, "g1", "no answer within 30 s"); first.GroupID.IsZero() || first.GroupID != d.saying(dol, "g2", "no answer within 7 s").GroupID ||
		first.GroupID == d.saying(dol, "g3", "refused").GroupID || first.GroupID == d.saying(people, "g4", "no answer within 30 s").GroupID {
		d.Errorf("groups are not by table, code and message without its numbers")
	}
	if e := d.Report(letters, "g5", "NETWORK_TIMEOUT", recoup.Medium); !e.GroupID.IsZero() {
		d.Errorf("a dead letter is in a group of errors")
	}
	d.Check()
}

func groupLists(d *Driver) {
	s := d.Store.(grouper) //nolint:forcetypeassert,errcheck // the clause is for those that are
	for i, message := range []string{"one", "two", "two", "three", "three", "three"} {
		d.saying([]string{dol, people}[i%2], "e"+string(rune('a'+i)), message)
		d.Wait(time.Minute)
	}
	parked := d.saying(dol, "p", "three")
	d.Apply(parked.ID, lifecycle.Park{By: "ada", Reason: "look"})
	if err := s.FoldErrorGroups(d.Context()); err != nil {
		d.Fatal(err)
	}
	for _, order := range []recoup.GroupOrder{recoup.GroupsByOpen, recoup.GroupsBySeen} {
		for _, f := range []store.ErrorGroupFilter{
			{}, {Table: dol}, {Tables: []string{people, target}}, {Code: "NETWORK_TIMEOUT"}, {Code: "OTHER"}, {State: recoup.Parked}, {State: recoup.Resolved}, {Table: dol, Code: "NETWORK_TIMEOUT", State: recoup.RetryPending},
		} {
			f.Order = order
			d.checkGroupList(s, f)
		}
	}
	hours, err := s.ErrorGroupHours(d.Context(), []recoup.ID{parked.GroupID}, d.Now().Add(-time.Hour))
	if err != nil || len(hours) != 1 || hours[0] != (store.GroupHour{ID: parked.GroupID, Hour: Epoch(), N: 2}) {
		d.Errorf("hours %+v: %v", hours, err)
	}
}

// checkGroupList compares a list with a naive choice from all groups.
func (d *Driver) checkGroupList(s grouper, f store.ErrorGroupFilter) {
	d.Helper()
	var want []recoup.ErrorGroup
	for _, g := range d.wantGroups() {
		has := map[recoup.State]int64{"": 1, recoup.Parked: g.Parked, recoup.RetryPending: g.RetryPending, recoup.Resolved: g.Resolved}[f.State] > 0
		if has && (f.Table == "" || f.Table == g.Table) && (f.Tables == nil || slices.Contains(f.Tables, g.Table)) && (f.Code == "" || f.Code == g.Code) {
			want = append(want, *g)
		}
	}
	slices.SortFunc(want, func(a, b recoup.ErrorGroup) int {
		if f.Order == recoup.GroupsByOpen && a.Open != b.Open {
			return int(b.Open - a.Open)
		}
		if f.Order == recoup.GroupsBySeen && !a.LastSeenAt.Equal(b.LastSeenAt) {
			return b.LastSeenAt.Compare(a.LastSeenAt)
		}
		return slices.Compare(b.ID[:], a.ID[:])
	})
	for _, limit := range []int{1, 2, 100} {
		got := d.allGroups(s, f, limit)
		same := slices.EqualFunc(got, want, func(a, b recoup.ErrorGroup) bool {
			return a.ID == b.ID && a.Total == b.Total && a.GroupStates == b.GroupStates && a.LastSeenAt.Equal(b.LastSeenAt)
		})
		if !same {
			d.Errorf("%+v by %d lists %+v, want %+v", f, limit, got, want)
		}
	}
}

func groupNotes(d *Driver) {
	s := d.Store.(grouper) //nolint:forcetypeassert,errcheck // the clause is for those that are
	e := d.saying(dol, "e1", "no answer")
	act := store.Act{By: "ada", At: d.Now()}
	if _, err := s.NoteErrorGroup(d.Context(), e.GroupID, "bob", "", act); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("a group that is not there is answered with %v", err)
	}
	if err := s.FoldErrorGroups(d.Context()); err != nil {
		d.Fatal(err)
	}
	for _, said := range [][2]string{{"bob", "known"}, {"", "fixed in 1.2"}, {"eve", ""}} {
		if _, err := s.NoteErrorGroup(d.Context(), e.GroupID, said[0], said[1], act); err != nil {
			d.Fatal(err)
		}
	}
	d.saying(dol, "e2", "no answer")
	d.checkGroups()
	if g, err := s.ErrorGroup(d.Context(), e.GroupID); err != nil || g.Owner != "eve" || g.Note != "fixed in 1.2" || g.Total != 2 || g.Example != "no answer" {
		d.Errorf("the group is %+v: %v", g, err)
	}
}

func groupPurge(d *Driver) {
	s := d.Store.(grouper) //nolint:forcetypeassert,errcheck // the clause is for those that are
	gone, open := d.saying(dol, "e1", "one"), d.saying(dol, "e2", "two")
	d.Apply(gone.ID, lifecycle.ArchiveNow{By: "ada", Reason: "old"})
	d.checkGroups()
	d.Wait(time.Hour)
	for before, want := range map[time.Time]int{Epoch(): 0, d.Now(): 2} { // of two groups one, of two hours both
		if n, err := s.PurgeErrorGroups(d.Context(), before, 10); err != nil || n != want {
			d.Errorf("before %v %d are purged, want %d: %v", before, n, want, err)
		}
	}
	if _, err := s.ErrorGroup(d.Context(), gone.GroupID); !errors.Is(err, sqldb.ErrNotFound) {
		d.Errorf("what has no errors is answered with %v", err)
	}
	if _, err := s.ErrorGroup(d.Context(), open.GroupID); err != nil {
		d.Errorf("what has errors: %v", err)
	}
}
