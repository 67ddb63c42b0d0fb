package proof

import (
	"fmt"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// late is a retry that the policy promises and that can never happen.
type late struct {
	life *life
	node *node // the error that waits for it in vain
}

// checkRetries finds the retries that come too late in every life: after the
// window has closed, or after the TTL.
func (c *checker) checkRetries() {
	found := newGroups[string, late]()
	for _, l := range c.lives {
		if l.answer.action != recoup.ActionRetry || l.table.Infinite() {
			continue
		}
		if n, bound := c.exhaust(l); bound != "" {
			found.add(fmt.Sprintf("retry %d of %d of %s errors can never happen: it would fall after the end of %s",
				n.e.RetryCount+1, n.e.MaxRetries, l.answer.category, bound), late{l, n})
		}
	}
	for _, message := range found.keys {
		first, cases, tables := found.of[message][0], 0, newGroups[string, bool]()
		for _, f := range found.of[message] {
			cases += f.life.cases
			tables.add(f.life.answer.table, true)
		}
		c.refute(impossibleRetry, []string{"retry", "categories", string(first.life.answer.category), "schedule"},
			message+", in "+enumerate(tables.keys), cases, first.node.trace())
	}
}

// exhaust lets every attempt fail the moment it is due, which is the fastest a
// budget can be used up. If a retry comes too late even so, it returns the error
// that waits for it, and what is over by then.
func (c *checker) exhaust(l *life) (n *node, bound string) {
	in := l.reports()[0]
	n, _ = c.take(nil, in, epoch, "report "+describe(l.question))
	for n != nil && n.e.State == recoup.RetryPending && n.claims < n.e.MaxRetries {
		claimed, _ := c.take(n, lifecycle.Claim{Token: attempt, Worker: "worker"}, n.e.NextRetryAt, "claimed by a worker")
		if claimed == nil {
			return n, over("its TTL", l.answer.ttl)
		}
		n, _ = c.take(claimed, lifecycle.Fail{Token: attempt, Failure: in.Failure}, claimed.at, "the retry fails")
	}
	if n != nil && n.e.ParkReason == recoup.RetryWindowClosed {
		return n, over("its window", l.answer.window)
	}
	return n, ""
}

func over(what string, length time.Duration) string {
	return fmt.Sprintf("%s of %s", what, policy.FormatDuration(length))
}
