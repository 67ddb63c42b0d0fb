package app

import (
	"context"
	"slices"

	"github.com/recoup-dev/recoup/server/internal/store"
)

// lockWatch logs the sessions that keep this node from writing, each of them once.
type lockWatch struct {
	n      *Node
	store  store.LockWatcher
	logged []store.LockHolder
}

func (w *lockWatch) run(ctx context.Context) error {
	now, asked, err := w.store.LockHolders(ctx)
	if err != nil || !asked {
		return err
	}
	for _, h := range now {
		if slices.ContainsFunc(w.logged, func(b store.LockHolder) bool { return b.PID == h.PID && b.On == h.On }) {
			continue
		}
		message := "a statement timed out on a lock: another session keeps this node from writing a table"
		if h.On == store.ManyObjects {
			message = "a statement did not get a lock: another session fills the lock table of the server"
		}
		w.n.o.Logger.Error(message, "pid", h.PID, "role", h.Role, "lock", h.Mode, "table", h.On,
			"waits", h.Waits, "fix", h.End())
	}
	w.logged = now
	return nil
}
