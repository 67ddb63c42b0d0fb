package verb

import (
	"context"
	"fmt"

	"recoup"
	"recoup/internal/store"
)

var views = table(store.Views, "view")

// Views lists views, newest first. All that somebody can see are read: so many each owner
// and hub has at most.
func (v Verbs) Views(ctx context.Context, owner string, hubs []string, p store.Page) ([]recoup.View, store.Cursor, error) {
	return views.page(ctx, v, viewsQuery(owner, hubs, p), p, func(v *recoup.View) store.Cursor { return store.Cursor{At: v.CreatedAt, ID: v.ID} })
}

func viewsQuery(owner string, hubs []string, p store.Page) *Query {
	q := ask("list views", "select "+views.Names("")+" from (select * from recoup.saved_view where owner = $1 union all select * from recoup.saved_view where hub is not null", owner)
	if len(hubs) > 0 {
		q.oneOf("hub", hubs)
	}
	return q.add(") v where true").newest("created_at", "view_id", p)
}

// AddView saves a view.
func (v Verbs) AddView(ctx context.Context, view recoup.View, by store.Act) (recoup.View, error) {
	return act(ctx, v, "add a view", func(tx Tx) (recoup.View, error) {
		view := by.SaveView(view)
		return view, inOrder(
			func() error { return fitView(tx, &view) },
			func() error { return views.add(tx, view) },
			func() error { return audits.add(tx, by.OnView(store.ActViewAdd, &view)) })
	})
}

// ChangeView saves a view that is there.
func (v Verbs) ChangeView(ctx context.Context, view recoup.View, may func(*recoup.View) bool, by store.Act) (recoup.View, error) {
	return act(ctx, v, "change a view", func(tx Tx) (recoup.View, error) {
		next, err := lockView(tx, view.ID, may)
		if err != nil {
			return next, err
		}
		next.Name, next.Tokens, next.Hub = view.Name, view.Tokens, view.Hub
		next = by.SaveView(next)
		return next, inOrder(
			func() error { return fitView(tx, &next) },
			func() error { return views.set(tx, next) },
			func() error { return audits.add(tx, by.OnView(store.ActViewChange, &next)) })
	})
}

// DeleteView deletes a view.
func (v Verbs) DeleteView(ctx context.Context, id recoup.ID, may func(*recoup.View) bool, by store.Act) (recoup.View, error) {
	return act(ctx, v, "delete a view", func(tx Tx) (recoup.View, error) {
		gone, err := lockView(tx, id, may)
		if err != nil {
			return gone, err
		}
		return gone, inOrder(
			func() error { return views.remove(tx, []recoup.ID{id}) },
			func() error { return audits.add(tx, by.OnView(store.ActViewDelete, &gone)) })
	})
}

func lockView(tx Tx, id recoup.ID, may func(*recoup.View) bool) (recoup.View, error) {
	found, err := views.lock(tx, id, id.String())
	if err == nil && !may(&found) {
		err = fmt.Errorf("view %v: %w", id, store.ErrNotFound)
	}
	return found, err
}

// fitView looks at all views of an owner or a hub while nobody saves another.
func fitView(tx Tx, view *recoup.View) error {
	if err := tx.Turn(turnView, false); err != nil {
		return err
	}
	where, whose := "where owner = $1", view.Owner
	if view.Hub != "" {
		where, whose = "where hub = $1", view.Hub
	}
	all, err := views.find(tx, where, whose)
	if err != nil {
		return err
	}
	return store.FitView(view, all)
}
