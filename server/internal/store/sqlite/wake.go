package sqlite

import "context"

// wake wakes all who wait for a kind of thing, after the commit.
func (t *tx) wake(kind string) { t.woken = append(t.woken, kind) }

// Listen calls wake whenever there is something of a kind to be looked at, until
// ctx ends. It sees only what this process commits; callers also poll, for what
// other processes have written into the file.
func (s *Store) Listen(ctx context.Context, wake func(channel string)) error {
	return s.writer.notifier.Listen(ctx, wake)
}
