package sqlops

import (
	"context"
	"fmt"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

var views = sqldb.NewRepository(store.Views, "view")

// Views lists views, newest first. All that somebody can see are read: so many each owner
// and hub has at most.
func (v Ops) Views(ctx context.Context, key recoup.ID, hubs []string, p sqldb.Page) ([]wire.View, sqldb.Cursor, error) {
	return views.Page(ctx, v.db, viewsQuery(v.db.Dialect(), key, hubs, p), p, func(v *wire.View) sqldb.Cursor { return sqldb.Cursor{At: v.CreatedAt, ID: v.ID} })
}

func viewsQuery(d sqldb.Dialect, key recoup.ID, hubs []string, p sqldb.Page) *sqldb.Query {
	q := sqldb.NewQuery("list views", "with recursive "+rotations+" select "+views.Names("")+" from (select * from recoup.saved_view where owner_key in (select key_id from rotation)", key)
	if key.IsZero() {
		q = sqldb.NewQuery("list views", "select "+views.Names("")+" from (select * from recoup.saved_view where owner_key is null and hub is null")
	}
	q.Add(" union all select * from recoup.saved_view where hub is not null")
	if len(hubs) > 0 {
		q.OneOf(d, "hub", hubs)
	}
	return q.Add(") v where true").Newest("created_at", "view_id", p)
}

// rotations are a key and those before it that were rotated to it, first to last.
const rotations = `rotation (key_id, before) as (
	select key_id, 0 from recoup.api_key where key_id = $1
	union all select k.key_id, r.before + 1 from recoup.api_key k join rotation r on k.rotated_to = r.key_id)`

// viewOwner returns the first key of the rotations that led to a key, which the views of all
// of them belong to; zero: there are no keys.
func viewOwner(tx Tx, key recoup.ID) (recoup.ID, error) {
	if key.IsZero() {
		return key, nil
	}
	var first []recoup.ID
	err := tx.Query(sqldb.NewQuery("", "with recursive "+rotations+" select key_id from rotation order by before desc limit 1", key), sqldb.Into(&first, sqldb.IDColumn()))
	if err == nil && len(first) == 0 {
		err = fmt.Errorf("key %v: %w", key, sqldb.ErrNotFound)
	}
	if err != nil {
		return recoup.ID{}, err
	}
	return first[0], nil
}

// AddView saves a view.
func (v Ops) AddView(ctx context.Context, view wire.View, by store.Act) (wire.View, error) {
	return sqldb.Act(ctx, v.db, "add a view", func(tx Tx) (wire.View, error) {
		owner, err := viewOwner(tx, by.Key)
		if err != nil {
			return view, err
		}
		view := by.SaveView(view, owner)
		return view, sqldb.InOrder(
			func() error { return fitView(tx, &view) },
			func() error { return views.Add(tx, view) },
			func() error { return audits.Add(tx, by.OnView(store.ActViewAdd, &view)) })
	})
}

// ChangeView saves a view that is there.
func (v Ops) ChangeView(ctx context.Context, view wire.View, may func(string) bool, by store.Act) (wire.View, error) {
	return sqldb.Act(ctx, v.db, "change a view", func(tx Tx) (wire.View, error) {
		next, owner, err := lockOwnView(tx, view.ID, may, by)
		if err != nil {
			return next, err
		}
		next.Name, next.Tokens, next.Hub = view.Name, view.Tokens, view.Hub
		next = by.SaveView(next, owner)
		return next, sqldb.InOrder(
			func() error { return fitView(tx, &next) },
			func() error { return views.Update(tx, next) },
			func() error { return audits.Add(tx, by.OnView(store.ActViewChange, &next)) })
	})
}

// DeleteView deletes a view.
func (v Ops) DeleteView(ctx context.Context, id recoup.ID, may func(string) bool, by store.Act) (wire.View, error) {
	return sqldb.Act(ctx, v.db, "delete a view", func(tx Tx) (wire.View, error) {
		gone, _, err := lockOwnView(tx, id, may, by)
		if err != nil {
			return gone, err
		}
		return gone, sqldb.InOrder(
			func() error { return views.Delete(tx, []recoup.ID{id}) },
			func() error { return audits.Add(tx, by.OnView(store.ActViewDelete, &gone)) })
	})
}

// lockOwnView locks a view that the act may change, and returns the owner of the act's key.
func lockOwnView(tx Tx, id recoup.ID, may func(string) bool, by store.Act) (found wire.View, owner recoup.ID, err error) {
	if owner, err = viewOwner(tx, by.Key); err != nil {
		return found, owner, err
	}
	if found, err = views.Lock(tx, id, id.String()); err != nil {
		return found, owner, err
	}
	if found.Hub != "" && !may(found.Hub) || found.Hub == "" && found.OwnerKey != owner {
		err = fmt.Errorf("view %v: %w", id, sqldb.ErrNotFound)
	}
	return found, owner, err
}

// fitView looks at all views of an owner or a hub while nobody saves another.
func fitView(tx Tx, view *wire.View) error {
	if err := tx.Acquire(lockView, false); err != nil {
		return err
	}
	q := views.Select("", "where hub is null and owner_key is null")
	switch {
	case view.Hub != "":
		q = views.Select("", "where hub = $1", view.Hub)
	case !view.OwnerKey.IsZero():
		q = views.Select("", "where owner_key = $1", view.OwnerKey)
	}
	all, err := views.Query(tx, q)
	if err != nil {
		return err
	}
	return store.FitView(view, all)
}
