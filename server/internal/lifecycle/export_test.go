package lifecycle

import (
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// Forget leaves out one of the columns on which the decision depends.
func (d *Decision) Forget(column string) {
	d.columns = slices.DeleteFunc(slices.Clone(d.columns), func(c dependence) bool { return c.column == column })
}

// Derive brings what is derived up to date, as every step does that leaves an
// error open.
func Derive(p *policy.Policy, e *recoup.Error) {
	s := step{policy: p, now: e.UpdatedAt, next: *e}
	table, ok := p.Table(e.Table)
	if !ok || !e.State.Open() {
		return
	}
	s.table = table
	s.leave()
	*e = s.next
}
