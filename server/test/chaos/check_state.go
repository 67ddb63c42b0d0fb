package chaos

import (
	"cmp"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// checkFigures wants every figure that is kept to be what counting gives.
func checkFigures(c *checker) {
	for _, f := range c.final.Figures {
		if f.Kept != f.Counted {
			c.violated("figure", []string{f.Key}, "%s of %s is kept as %d, and is %d", f.Name, f.Key, f.Kept, f.Counted)
		}
	}
}

// checkOwners wants every open error to have a deadline or an owner, and those that
// wait for a retry, and no others, to be where workers find them.
func checkOwners(c *checker) {
	for _, e := range c.final.Errors {
		about := []string{e.ID.String(), e.Entity}
		if e.State.Open() && !e.Deadline && e.Owner == "" {
			c.violated("owner", about, "%s is %s, and has neither a deadline nor an owner", e.ID, e.State)
		}
		if queued := e.State == recoup.RetryPending; e.Queued != queued {
			c.violated("owner", about, "%s is %s, and in the queue: %v", e.ID, e.State, e.Queued)
		}
	}
}

// checkTerms wants terms that never overlap: each has one holder, and once the next
// has begun, or its holder has resigned, nothing more is written under it.
func checkTerms(c *checker) {
	list := slices.Clone(c.final.Terms)
	slices.SortFunc(list, func(a, b TermEntry) int { return cmp.Compare(a.Seq, b.Seq) })
	holders := map[int64]string{}
	var now int64
	ended := true
	for _, t := range list {
		about := []string{t.Holder}
		switch holder, known := holders[t.Number]; {
		case t.Number < now:
			c.violated("term", about, "%s %s in term %d, and term %d had begun", t.Holder, t.What, t.Number, now)
		case t.What == TermBegins && t.Number == now && ended:
			c.violated("term", about, "term %d goes on with %s, and had ended", t.Number, t.Holder)
		case known && t.Holder != "" && holder != t.Holder:
			c.violated("term", about, "term %d is led by %s and by %s", t.Number, holder, t.Holder)
		case t.What == TermBegins:
			now, holders[t.Number], ended = t.Number, t.Holder, false
		case t.What == TermEnds:
			ended = true
		case !known || ended:
			c.violated("term", about, "%s wrote %s in term %d, which nobody led", t.Holder, t.What, t.Number)
		}
	}
}

// checkNotices wants what people must hear of in the outbox once: of every time that
// an error was parked or escalated.
func checkNotices(c *checker) {
	type matter struct {
		error recoup.ID
		kind  wire.NoticeKind
	}
	want, got := map[matter]int{}, map[matter]int{}
	for _, t := range c.final.History {
		switch {
		case t.late():
		case t.Input == "escalate", t.Input == "fail_again" && t.To == recoup.Escalated:
			want[matter{t.ErrorID, wire.NoticeEscalated}]++
		case t.To == recoup.Parked && t.From != recoup.Parked && t.Input != "report":
			want[matter{t.ErrorID, wire.NoticeParked}]++
		}
	}
	for _, n := range c.final.Notices {
		got[matter{n.ErrorID, n.Kind}]++
		if !n.Delivered && !n.Waiting {
			c.violated("notified", []string{n.ID.String(), n.ErrorID.String()}, "the notice %s, %s to %s, was never delivered", n.ID, n.Kind, n.To)
		}
	}
	for m, n := range want {
		switch {
		case got[m] < n:
			c.violated("notified", []string{m.error.String()}, "%s was %s %d times, and %d notices say so", m.error, m.kind, n, got[m])
		case m.kind == wire.NoticeEscalated && got[m] > n:
			c.violated("notified", []string{m.error.String()}, "%s was %s %d times, and %d notices say so", m.error, m.kind, n, got[m])
		}
	}
}

// checkMessages wants every notice that was delivered to have arrived, and every
// time that it arrived under the same id.
func checkMessages(c *checker) {
	arrived := map[recoup.ID]recoup.ID{} // the message of each notice
	for _, m := range c.final.Messages {
		for _, n := range m.Notices {
			if first, again := arrived[n]; again && first != m.ID {
				c.violated("one id", []string{n.String()}, "the notice %s came in the message %s and in the message %s", n, first, m.ID)
				continue
			}
			arrived[n] = m.ID
		}
	}
	known := map[recoup.ID]bool{}
	for _, n := range c.final.Notices {
		known[n.ID] = true
		if _, came := arrived[n.ID]; n.Delivered && !came {
			c.violated("notified", []string{n.ID.String(), n.ErrorID.String()}, "the notice %s, %s to %s, counts as delivered, and nobody has got it", n.ID, n.Kind, n.To)
		}
	}
	for n := range arrived {
		if !known[n] {
			c.violated("asked for", []string{n.String()}, "a notice %s came that nobody has made", n)
		}
	}
}
