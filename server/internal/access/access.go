// Package access says who makes a call and which hubs the call may concern. Services check
// callers with it, and so does the HTTP kit that authenticates them.
package access

import (
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/check"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Caller is who calls, and on behalf of which hubs.
type Caller struct {
	Name string
	Key  recoup.ID // the API key that the caller used; zero: none
	Hubs []string  // none: all
}

// Act returns an administrative act of the caller.
func (c Caller) Act(reason string, now time.Time) store.Act {
	return store.Act{By: c.Name, Key: c.Key, Reason: check.Redacted(reason), At: now}
}

// MayTouch reports whether the caller may see and change errors of a table.
func (c Caller) MayTouch(t *policy.Table) bool {
	if len(c.Hubs) == 0 {
		return true
	}
	return t != nil && slices.Contains(c.Hubs, t.Hub)
}

// Of reports whether the caller may act for a hub. Anything that belongs to no hub needs a key
// for all hubs.
func (c Caller) Of(hub string) bool {
	return len(c.Hubs) == 0 || hub != "" && slices.Contains(c.Hubs, hub)
}

// ErrForbidden is returned for anything that belongs to a hub which the caller's key is not for.
var ErrForbidden error = forbidden{}

type forbidden struct{}

func (forbidden) Error() string { return "the key is not for this hub" }

// Fault returns the failure that a caller of the API gets.
func (forbidden) Fault() *fault.Error {
	return fault.Wrap(ErrForbidden, fault.CodeInsufficientPermissions, "The key is not for the hub that this belongs to: use a key for that hub, or for all hubs.")
}
