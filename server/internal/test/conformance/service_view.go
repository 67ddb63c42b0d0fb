package conformance

import (
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

func viewClauses() []serviceClause {
	return []serviceClause{
		{"a view is kept as it was saved, for its owner or its hub", viewKept},
		{"a private view is of one key, whatever others are called, and of those that it is rotated to", viewOwner},
		{"a name is taken within its owner or hub, and free elsewhere", viewNames},
		{"nobody has more views than there can be, however many save at once", viewLimit},
		{"a view is changed and deleted by who may, and the audit knows", viewChanged},
		{"views are listed newest first, page by page", viewList},
	}
}

// view is a view that does not exist yet.
func (d *serviceDriver) view(name, hub string, tokens ...string) wire.View {
	return wire.View{ID: d.ids.New(d.now), Name: name, Hub: hub, Tokens: tokens}
}

// person is somebody with a key.
func (d *serviceDriver) person(name string) wire.Key {
	d.Helper()
	return d.created(d.key(name))
}

// actOf is what somebody does with a key.
func (d *serviceDriver) actOf(k wire.Key) store.Act {
	return store.Act{By: k.Name, Key: k.ID, Reason: "because", At: d.now}
}

func (d *serviceDriver) saved(v wire.View, by wire.Key) wire.View {
	d.Helper()
	made, err := d.store.AddView(d.Context(), v, d.actOf(by))
	d.must(err)
	return made
}

// viewsOf lists what somebody sees, on pages of a size.
func (d *serviceDriver) viewsOf(who wire.Key, hubs []string, size int) (all []wire.View) {
	d.Helper()
	for p := (sqldb.Page{Limit: size}); ; {
		list, next, err := d.store.Views(d.Context(), who.ID, hubs, p)
		d.must(err)
		all = append(all, list...)
		if p.Cursor = next; next.IsZero() {
			return all
		}
	}
}

func anybody(string) bool { return true }

func viewKept(d *serviceDriver) {
	ada, bob := d.person("ada"), d.person("bob")
	own := d.saved(d.view("mine", "", "state:PARKED", `entity:a "b"`), ada)
	wantSame(d, own, wire.View{ID: own.ID, Name: "mine", Tokens: []string{"state:PARKED", `entity:a "b"`}, Owner: "ada", OwnerKey: ada.ID, CreatedAt: d.now, ChangedAt: d.now, ChangedBy: "ada"})
	d.wait(time.Minute)
	shared := d.saved(d.view("ours", "DOL Filings"), ada)
	wantSame(d, shared, wire.View{ID: shared.ID, Name: "ours", Hub: "DOL Filings", CreatedAt: d.now, ChangedAt: d.now, ChangedBy: "ada"})
	for _, x := range []struct {
		owner wire.Key
		hubs  []string
		want  []wire.View
	}{
		{ada, nil, []wire.View{shared, own}}, {ada, []string{"Platform"}, []wire.View{own}}, {bob, nil, []wire.View{shared}},
		{bob, []string{"Platform", "DOL Filings"}, []wire.View{shared}}, {bob, []string{"Platform"}, nil},
	} {
		wantSame(d, d.viewsOf(x.owner, x.hubs, 10), x.want)
	}
}

func viewOwner(d *serviceDriver) {
	first, same := d.person("ada"), d.person("ada")
	view := d.saved(d.view("mine", ""), first)
	wantSame(d, d.viewsOf(same, nil, 10), []wire.View(nil))
	for _, try := range []func() error{
		func() error {
			_, err := d.store.ChangeView(d.Context(), view, anybody, d.actOf(same))
			return err
		},
		func() error {
			_, err := d.store.DeleteView(d.Context(), view.ID, anybody, d.actOf(same))
			return err
		},
	} {
		d.wantErr(try(), sqldb.ErrNotFound)
	}
	d.saved(d.view("mine", ""), same) // a name that is free
	chain := []wire.Key{first}
	for range 2 {
		d.wait(time.Minute)
		next, err := d.store.RotateKey(d.Context(), chain[len(chain)-1].ID, d.key("ada"), d.now.Add(day), d.act("ada"))
		d.must(err)
		chain = append(chain, next)
	}
	late := d.saved(d.view("late", ""), chain[2])
	if late.OwnerKey != first.ID {
		d.Errorf("a view that a rotated key saves is of %v, want %v", late.OwnerKey, first.ID)
	}
	for _, k := range chain {
		wantSame(d, d.viewsOf(k, nil, 10), []wire.View{late, view})
	}
	_, err := d.store.AddView(d.Context(), d.view("mine", ""), d.actOf(chain[1]))
	d.wantErr(err, store.ErrConflict)
	_, err = d.store.DeleteView(d.Context(), view.ID, anybody, d.actOf(chain[2]))
	d.must(err)
	open := d.saved(d.view("mine", ""), wire.Key{Name: "demo"}) // a server without keys
	wantSame(d, d.viewsOf(wire.Key{}, nil, 10), []wire.View{open})
	wantSame(d, d.viewsOf(first, nil, 10), []wire.View{late})
}

func viewNames(d *serviceDriver) {
	ada, bob := d.person("ada"), d.person("bob")
	d.saved(d.view("late", ""), ada)
	d.saved(d.view("late", "DOL Filings"), ada)
	for hub, by := range map[string]wire.Key{"": ada, "DOL Filings": bob} {
		_, err := d.store.AddView(d.Context(), d.view("late", hub), d.actOf(by))
		d.wantErr(err, store.ErrConflict)
	}
	theirs := d.saved(d.view("late", ""), bob)
	d.saved(d.view("late", "Platform"), bob)
	again := theirs // to be shared under a name that the hub has
	again.Hub = "Platform"
	_, err := d.store.ChangeView(d.Context(), again, anybody, d.actOf(bob))
	d.wantErr(err, store.ErrConflict)
	if n := len(d.viewsOf(bob, nil, 10)); n != 3 {
		d.Errorf("there are %d views, want 3", n)
	}
}

func viewLimit(d *serviceDriver) {
	ada := d.person("ada")
	for i := range wire.MaxViews - 1 {
		d.saved(d.view(fmt.Sprint(i), "Platform"), ada)
	}
	var all sync.WaitGroup
	failed := make([]error, 4)
	for i := range failed {
		v := d.view(fmt.Sprint("late", i), "Platform")
		all.Go(func() { _, failed[i] = d.store.AddView(d.Context(), v, d.actOf(ada)) })
	}
	all.Wait()
	full := 0
	for _, err := range failed {
		if errors.Is(err, store.ErrFull) {
			full++
		} else {
			d.must(err)
		}
	}
	if n := len(d.viewsOf(ada, nil, sqldb.MaxPage)); n != wire.MaxViews || full != len(failed)-1 {
		d.Errorf("there are %d views, and %d of %d were refused", n, full, len(failed))
	}
	d.saved(d.view("own", ""), ada) // which do not count
}

func viewChanged(d *serviceDriver) {
	ada, bob := d.person("ada"), d.person("bob")
	v := d.saved(d.view("mine", "DOL Filings", "state:PARKED"), ada)
	d.wait(time.Minute)
	nobody := func(string) bool { return false }
	_, err := d.store.ChangeView(d.Context(), v, nobody, d.actOf(bob))
	d.wantErr(err, sqldb.ErrNotFound)
	_, err = d.store.DeleteView(d.Context(), v.ID, nobody, d.actOf(bob))
	d.wantErr(err, sqldb.ErrNotFound)
	d.wait(time.Minute)
	next := wire.View{ID: v.ID, Name: "ours", Tokens: []string{"tier:2"}, Hub: "Platform"}
	changed, err := d.store.ChangeView(d.Context(), next, anybody, d.actOf(bob))
	d.must(err)
	next.CreatedAt, next.ChangedAt, next.ChangedBy = v.CreatedAt, d.now, "bob"
	wantSame(d, changed, next)
	wantSame(d, d.viewsOf(ada, nil, 10), []wire.View{next})
	gone, err := d.store.DeleteView(d.Context(), v.ID, anybody, d.actOf(bob))
	d.must(err)
	wantSame(d, gone, next)
	wantSame(d, d.viewsOf(ada, nil, 10), []wire.View(nil))
	_, err = d.store.DeleteView(d.Context(), v.ID, anybody, d.actOf(bob))
	d.wantErr(err, sqldb.ErrNotFound)
	entries, _, err := d.store.Audit(d.Context(), wire.AuditFilter{}, store.AuditCursor{}, 10)
	d.must(err)
	var acts []string
	for _, e := range entries {
		acts = append(acts, e.Actor+" "+e.Act)
	}
	if !slices.Equal(acts, []string{"bob view.delete", "bob view.change", "ada view.add", "ada key.create", "ada key.create"}) {
		d.Errorf("the audit has %v", acts)
	}
}

func viewList(d *serviceDriver) {
	ada := d.person("ada")
	var want []wire.View
	for i := range 7 {
		hub := []string{"", "Platform", "DOL Filings"}[i%3]
		want = slices.Insert(want, 0, d.saved(d.view(fmt.Sprint(i), hub), ada))
		d.wait(time.Second)
	}
	for _, size := range []int{1, 2, 100} {
		wantSame(d, d.viewsOf(ada, nil, size), want)
	}
}
