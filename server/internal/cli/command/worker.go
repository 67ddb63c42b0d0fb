package command

import (
	"fmt"

	"github.com/recoup-dev/recoup/server/internal/wire"
)

// NobodyClaims says that no worker is alive for a table or a lane, since when, and what to
// do about it.
func (s *Session) NobodyClaims(q *wire.WorkerQueue) string {
	name, last := Printable(q.Name()), "in seven days"
	if !q.LastClaimAt.IsZero() {
		last = "for " + s.Ago(q.LastClaimAt)
	}
	return fmt.Sprintf("no worker has claimed %s %s: start one, or check that it claims this name and reaches this server ('recoup workers' shows who does)", name, last)
}
