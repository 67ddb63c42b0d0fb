package conformance

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// Check holds the store to everything it has acknowledged: each error is in
// exactly one place and equals its last version, has exactly the history rows it
// should have, blocks and counts as it should, and its notifications
// wait to be delivered. Nothing else is there.
func (d *Driver) Check() {
	d.Helper()
	d.CheckErrors()
	d.checkNothingElse()
	d.checkCounts()
	d.checkLevels()
	d.checkGroups()
	d.checkNotices()
}

// CheckErrors holds the store to the errors it has acknowledged, one by one,
// and lets be what it may hold beside them.
func (d *Driver) CheckErrors() {
	d.Helper()
	entities := map[string][]recoup.ID{}
	for _, want := range d.Known() {
		got, err := d.Store.Error(d.Context(), want.ID)
		if err != nil {
			d.Errorf("%s %v (%s): %v", want.Table, want.ID, want.State, err)
			continue
		}
		if diff := difference(got, want); diff != "" {
			d.Errorf("%s %v is not what it should be:%s", want.Table, want.ID, diff)
		}
		d.checkHistory(want.ID)
		blockers := entities[want.EntityID]
		if want.Blocking {
			blockers = append(blockers, want.ID)
		}
		entities[want.EntityID] = blockers
	}
	delete(entities, "")
	for entity, blockers := range entities {
		d.checkBlocking(entity, blockers)
	}
}

func (d *Driver) checkHistory(id recoup.ID) {
	d.Helper()
	got, err := d.Store.History(d.Context(), id, sqldb.MaxPage)
	if err != nil {
		d.Errorf("history of %v: %v", id, err)
		return
	}
	d.mu.Lock()
	want := slices.Clone(d.book.errors[id].history)
	d.mu.Unlock()
	for i := range max(len(got), len(want)) {
		switch {
		case i >= len(got):
			d.Errorf("history of %v lacks row %d: %s by %s", id, i, want[i].Input, want[i].Actor)
		case i >= len(want):
			d.Errorf("history of %v has one row too many: %s by %s", id, got[i].Input, got[i].Actor)
		default:
			if diff := difference(got[i], want[i].Transition); diff != "" {
				d.Errorf("history of %v, row %d is not what it should be:%s", id, i, diff)
			}
		}
	}
}

func (d *Driver) checkBlocking(entity string, want []recoup.ID) {
	d.Helper()
	blockers, err := d.Store.Blocking(d.Context(), []string{entity}, sqldb.MaxPage)
	if err != nil || len(blockers) != 1 {
		d.Errorf("blocking %q: %v, %v", entity, blockers, err)
		return
	}
	if diff := idDifference(blockerIDs(blockers[0]), want); diff != "" {
		d.Errorf("%q is blocked by: %s", entity, diff)
	}
	for i := range blockers[0] {
		got := &blockers[0][i]
		d.mu.Lock()
		known := d.book.errors[got.ID]
		d.mu.Unlock()
		if known == nil {
			continue // it is one too many, which was said above
		}
		if diff := difference(*got, store.BlockerOf(&known.Error)); diff != "" {
			d.Errorf("the blocker %v of %q is not what it should be:%s", got.ID, entity, diff)
		}
	}
}

func blockerIDs(list []store.Blocker) []recoup.ID {
	out := make([]recoup.ID, len(list))
	for i := range list {
		out[i] = list[i].ID
	}
	return out
}

// checkNothingElse compares the lists of open and archived errors with what
// should be in them.
func (d *Driver) checkNothingElse() {
	d.Helper()
	var wantOpen, wantArchived []recoup.ID
	for _, e := range d.Known() {
		if e.State == recoup.Archived {
			wantArchived = append(wantArchived, e.ID)
			continue
		}
		wantOpen = append(wantOpen, e.ID)
	}
	if diff := idDifference(ids(d.List(store.Filter{})), wantOpen); diff != "" {
		d.Errorf("open or resolved: %s", diff)
	}
	if diff := idDifference(ids(d.ArchivedAll()), wantArchived); diff != "" {
		d.Errorf("archived: %s", diff)
	}
}

func (d *Driver) checkCounts() {
	d.Helper()
	got, err := d.Store.Counts(d.Context())
	if err != nil {
		d.Errorf("counts: %v", err)
		return
	}
	if want := d.counts(); !slices.Equal(sortedCounts(got), want) {
		d.Errorf("counts are %v, want %v", sortedCounts(got), want)
	}
}

// counts returns how many errors there should be in each table and state.
func (d *Driver) counts() []recoup.StateCount {
	type place struct {
		table string
		state recoup.State
	}
	n := map[place]int64{}
	for _, e := range d.Known() {
		if e.State != recoup.Archived {
			n[place{e.Table, e.State}]++
		}
	}
	var list []recoup.StateCount
	for p := range maps.Keys(n) {
		list = append(list, recoup.StateCount{Table: p.table, State: p.state, N: n[p]})
	}
	return sortedCounts(list)
}

func sortedCounts(list []recoup.StateCount) []recoup.StateCount {
	return slices.SortedFunc(slices.Values(list), func(a, b recoup.StateCount) int {
		return cmp.Or(strings.Compare(a.Table, b.Table), strings.Compare(string(a.State), string(b.State)))
	})
}

func (d *Driver) checkNotices() {
	d.Helper()
	pending, err := d.Store.PendingNotices(d.Context(), sqldb.MaxPage)
	if err != nil {
		d.Errorf("notices: %v", err)
		return
	}
	d.mu.Lock()
	want := slices.Clone(d.book.notices)
	d.mu.Unlock()
	unnamed := map[lifecycle.Notice]int{} // by digests
	for _, n := range pending {
		digest := digestOf(d.TB, &n)
		unnamed[lifecycle.Notice{Kind: n.Kind, To: n.To}] += digest.Count - len(digest.Errors)
		for _, id := range digest.Errors {
			i := slices.Index(want, wire.Notice{Kind: n.Kind, To: n.To, ErrorID: id})
			if i < 0 {
				d.Errorf("the outbox holds %s to %s of %v, of which nobody was to be notified", n.Kind, n.To, id)
				return
			}
			want = slices.Delete(want, i, i+1)
		}
	}
	for _, n := range want {
		unnamed[lifecycle.Notice{Kind: n.Kind, To: n.To}]--
	}
	for n, missing := range unnamed {
		if missing != 0 {
			d.Errorf("%v: the outbox holds %d too many", n, missing)
		}
	}
}

// digestOf returns the errors that a notice is about, as a digest.
func digestOf(tb TB, n *wire.Notice) (digest store.Digest) {
	tb.Helper()
	if n.Body == "" {
		return store.Digest{Count: 1, Errors: []recoup.ID{n.ErrorID}}
	}
	if err := json.Unmarshal([]byte(n.Body), &digest); err != nil {
		tb.Errorf("%s: %v", n.Body, err)
	}
	return digest
}

// List walks a list of errors to its end.
func (d *Driver) List(f store.Filter) []recoup.Error {
	d.Helper()
	return walk(d, sqldb.MaxPage, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
		return d.Store.Errors(ctx, f, p)
	})
}

// ArchivedAll walks the archives of all tables to their end.
func (d *Driver) ArchivedAll() []recoup.Error {
	d.Helper()
	var all []recoup.Error
	for _, table := range d.Policy.Tables() {
		all = append(all, walk(d, sqldb.MaxPage, func(ctx context.Context, p sqldb.Page) ([]recoup.Error, sqldb.Cursor, error) {
			return d.Store.Archived(ctx, table.Name, p)
		})...)
	}
	return all
}

// walk follows the cursor from page to page.
func walk(t TB, limit int, read func(context.Context, sqldb.Page) ([]recoup.Error, sqldb.Cursor, error)) []recoup.Error {
	t.Helper()
	var all []recoup.Error
	page := sqldb.Page{Limit: limit}
	for {
		list, next, err := read(t.Context(), page)
		if err != nil {
			t.Fatalf("list: %v", err)
		}
		if len(list) > limit {
			t.Fatalf("a page of %d has %d rows", limit, len(list))
		}
		all = append(all, list...)
		if next.IsZero() {
			return all
		}
		if next == page.Cursor {
			t.Fatalf("the cursor does not move from %v", next)
		}
		page.Cursor = next
	}
}

// idDifference says in which ids two lists differ, whatever their order, or is
// empty. An id that is twice in one and once in the other makes a difference.
func idDifference(got, want []recoup.ID) string {
	surplus := map[recoup.ID]int{}
	for _, id := range got {
		surplus[id]++
	}
	for _, id := range want {
		surplus[id]--
	}
	var missing, extra []recoup.ID
	for id, n := range surplus {
		switch {
		case n < 0:
			missing = append(missing, id)
		case n > 0:
			extra = append(extra, id)
		}
	}
	if len(missing)+len(extra) == 0 {
		return ""
	}
	return fmt.Sprintf("%d rows, want %d: missing %v, too many %v", len(got), len(want), missing, extra)
}
