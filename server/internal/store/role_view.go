package store

import (
	"context"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// ViewKeeper keeps saved views: at most [recoup.MaxViews] of each owner and of each hub. The
// owner of a private view is a key with all keys that it was or will be rotated to; without
// keys, all callers are one owner.
type ViewKeeper interface {
	// Views lists the private views of a key's owner and the views of some hubs, or, with
	// none named, of every hub, newest first.
	Views(ctx context.Context, key recoup.ID, hubs []string, p sqldb.Page) ([]wire.View, sqldb.Cursor, error)

	// AddView saves a view, private to the key of the act unless it names a hub. A name that
	// its owner or hub has already is ErrConflict, and one view too many ErrFull.
	AddView(ctx context.Context, v wire.View, by Act) (wire.View, error)

	// ChangeView saves the name, the filter and the hub of a view, as AddView does. One
	// that is not there, that is private to another owner, or whose hub the caller may not
	// act for, is ErrNotFound.
	ChangeView(ctx context.Context, v wire.View, may func(hub string) bool, by Act) (wire.View, error)

	// DeleteView deletes a view and returns it as it was, with ErrNotFound as ChangeView
	// has it.
	DeleteView(ctx context.Context, id recoup.ID, may func(hub string) bool, by Act) (wire.View, error)
}
