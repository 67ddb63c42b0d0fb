package store

import (
	"context"

	"recoup"
)

// ViewKeeper keeps the views that people have saved: at most [recoup.MaxViews] of each
// person and of each hub. Who may see and change one, the caller says.
type ViewKeeper interface {
	// Views lists the views of an owner and of some hubs, or, with none named, of every
	// hub, newest first.
	Views(ctx context.Context, owner string, hubs []string, p Page) ([]recoup.View, Cursor, error)

	// AddView saves a view, of whoever acts unless it names a hub. A name that its owner
	// or hub has already is ErrConflict, and one view too many ErrFull.
	AddView(ctx context.Context, v recoup.View, by Act) (recoup.View, error)

	// ChangeView saves the name, the filter and the hub of a view, as AddView does. One
	// that is not there, or that the caller may not touch, is ErrNotFound.
	ChangeView(ctx context.Context, v recoup.View, may func(*recoup.View) bool, by Act) (recoup.View, error)

	// DeleteView deletes a view and returns it as it was, with ErrNotFound as ChangeView
	// has it.
	DeleteView(ctx context.Context, id recoup.ID, may func(*recoup.View) bool, by Act) (recoup.View, error)
}
