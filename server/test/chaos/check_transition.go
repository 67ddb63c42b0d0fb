package chaos

import (
	"cmp"
	"slices"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// late reports whether a row says no more than that a result came too late.
func (t *Transition) late() bool { return t.Reason == string(lifecycle.LeaseLost) && t.From == t.To }

// legal is the table of transitions, by input.
func legal() map[string]lifecycle.Transition {
	table := map[string]lifecycle.Transition{}
	for _, t := range lifecycle.Transitions() {
		table[string(t.Input)] = t
	}
	return table
}

// histories returns the rows of each error in their order.
func (c *checker) histories() map[recoup.ID][]Transition {
	rows := map[recoup.ID][]Transition{}
	for _, t := range c.final.History {
		if !t.late() {
			rows[t.ErrorID] = append(rows[t.ErrorID], t)
		}
	}
	for _, list := range rows {
		slices.SortStableFunc(list, func(a, b Transition) int { return cmp.Compare(a.Seq, b.Seq) })
	}
	return rows
}

// checkTransitions wants histories that begin with a report, move only as the
// lifecycle allows, each row from where the last one led, and end in the state that
// the error has.
func checkTransitions(c *checker) {
	table, rows := legal(), c.histories()
	for _, e := range c.final.Errors {
		about := []string{e.ID.String(), e.Entity}
		list := rows[e.ID]
		delete(rows, e.ID)
		if len(list) == 0 {
			c.violated("history", about, "the error %s has none", e.ID)
			continue
		}
		at := recoup.State("")
		for i, t := range list {
			allowed, known := table[t.Input]
			switch {
			case t.From != at:
				c.violated("history", about, "%s of %s begins in %q, and the row before it ended in %q", t.Input, e.ID, t.From, at)
			case (i == 0) != (t.Input == string(lifecycle.Reported)):
				c.violated("history", about, "row %d of %s is %s", i, e.ID, t.Input)
			case !known || !slices.Contains(allowed.From, t.From) || !slices.Contains(allowed.To, t.To):
				// What is replaced is archived by the report that replaces it.
				if t.Input != string(lifecycle.Reported) || t.To != recoup.Archived {
					c.violated("legal", about, "%s takes %s from %q to %q", t.Input, e.ID, t.From, t.To)
				}
			}
			at = t.To
		}
		if at != e.State {
			c.violated("history", about, "the history of %s ends in %s, and it is %s", e.ID, at, e.State)
		}
	}
	for id := range rows {
		c.violated("asked for", []string{id.String()}, "there is a history of %s, and no error", id)
	}
}

// attempt is what one token stands for: what is claimed together has one.
type attempt struct{ error, token recoup.ID }

// checkHolders wants one end of each attempt, told by the worker that held the lease
// or by the system when nobody did, and what workers were told to be there.
func checkHolders(c *checker) {
	leased := c.leased()
	ends := c.attemptEnds(leased)
	for i := range c.calls {
		k := &c.calls[i]
		if k.Kind != Succeed && k.Kind != Fail {
			continue
		}
		rows := ends[attempt{k.ID, k.Token}]
		same := slices.ContainsFunc(rows, func(t Transition) bool { return t.Input == string(k.Kind) })
		about := []string{k.Key, k.ID.String(), k.Token.String()}
		switch outcome := k.outcome(); {
		case outcome == OK && !same:
			c.violated("acknowledged", about, "%s of %s under %s was acknowledged, and is not in the history", k.Kind, k.ID, k.Token)
		case outcome == Refused && same:
			c.violated("refused", about, "%s of %s under %s was refused with %s, and is in the history", k.Kind, k.ID, k.Token, k.Code)
		case same && leased[k.Token].Client != k.Client:
			c.violated("holder", about, "%s has told the result of %s, and %s held the lease", k.Client, k.ID, leased[k.Token].Client)
		}
	}
}

// leased returns to which claim each token was given.
func (c *checker) leased() map[recoup.ID]Operation {
	leased := map[recoup.ID]Operation{}
	for _, op := range c.history {
		if op.Outcome != OK || op.Kind != Claim && op.Kind != ClaimWork {
			continue
		}
		if first, again := leased[op.Token]; again && first.Key != op.Key {
			c.violated("holder", []string{op.Token.String()}, "the token %s was given to %s and to %s", op.Token, first.Client, op.Client)
		}
		leased[op.Token] = op
	}
	return leased
}

// attemptEnds returns the rows that end each attempt, of which one is right.
func (c *checker) attemptEnds(leased map[recoup.ID]Operation) map[attempt][]Transition {
	ends := map[attempt][]Transition{}
	for _, t := range c.final.History {
		if t.Attempt.IsZero() || t.late() {
			continue
		}
		a := attempt{t.ErrorID, t.Attempt}
		ends[a] = append(ends[a], t)
		claim, known := leased[t.Attempt]
		about := []string{t.ErrorID.String(), t.Attempt.String()}
		byWorker := t.Input == string(lifecycle.Succeeded) || t.Input == string(lifecycle.Failed)
		switch {
		case len(ends[a]) > 1:
			c.violated("holder", about, "the attempt %s of %s has ended as %s and as %s", t.Attempt, t.ErrorID, ends[a][0].Input, t.Input)
		case byWorker && !known:
			c.violated("holder", about, "%s of %s carries the token %s, which nobody was given", t.Input, t.ErrorID, t.Attempt)
		case byWorker && t.Worker != claim.Client:
			c.violated("holder", about, "%s of %s was recorded for %s, and %s held the lease", t.Input, t.ErrorID, t.Worker, claim.Client)
		}
	}
	return ends
}

// epoch is the time between two jumps of a clock that went back.
type epoch struct {
	error recoup.ID
	n     int
}

// epochOf says after how many jumps back a call was made. It reports false of one that a
// jump fell into: nobody knows by which time it was answered.
func epochOf(op *Operation, jumps []Operation) (n int, known bool) {
	for _, jump := range jumps {
		switch {
		case op.End.Before(jump.Begin):
		case op.Begin.Before(jump.End):
			return 0, false
		default:
			n++
		}
	}
	return n, true
}

// checkLeases wants no lease that was given over one that was alive: an earlier one
// had run out, or something in the history ended it. Times are those of the clock
// that leases go by. Where it went back between two leases they are not judged: neither
// which was given first nor what came between them can be told by their times.
func checkLeases(c *checker) {
	jumps := slices.DeleteFunc(slices.Clone(c.history), func(o Operation) bool { return FaultKind(o.Kind) != JumpBack })
	claims := map[epoch][]Operation{}
	until := map[recoup.ID]time.Time{}
	for _, op := range c.history {
		if op.Outcome == OK && (op.Kind == Claim || op.Kind == Extend) {
			if op.LeaseEnds.After(until[op.Token]) {
				until[op.Token] = op.LeaseEnds
			}
			if n, known := epochOf(&op, jumps); known && op.Kind == Claim {
				claims[epoch{op.ID, n}] = append(claims[epoch{op.ID, n}], op)
			}
		}
	}
	rows := c.histories()
	for in, list := range claims {
		id := in.error
		slices.SortFunc(list, func(a, b Operation) int { return a.LeasedAt.Compare(b.LeasedAt) })
		for i := 1; i < len(list); i++ {
			first, second := list[i-1], list[i]
			ended := slices.ContainsFunc(rows[id], func(t Transition) bool {
				return !t.At.Before(first.LeasedAt) && !t.At.After(second.LeasedAt)
			})
			if first.Token != second.Token && second.LeasedAt.Before(until[first.Token]) && !ended {
				c.violated("holder", []string{id.String(), first.Token.String(), second.Token.String()},
					"%s was given to %s at %s, and was %s's until %s", id, second.Client, second.LeasedAt.Format(clock), first.Client, until[first.Token].Format(clock))
			}
		}
	}
}
