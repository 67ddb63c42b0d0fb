package chaos

import (
	"cmp"
	"slices"
)

// checkBus wants a bus that has handed everything on: no batch waits on its stream or in
// quarantine, and every sequence that the stream ever had, and no other, was written. That
// what it carried is in the ledger once is what checkEvents wants of every event.
func checkBus(c *checker) {
	bus := c.final.Bus
	if bus == nil {
		return
	}
	about := []string{bus.Stream}
	if bus.Waiting > 0 {
		c.violated("at rest", about, "%d batches wait on the stream for ever", bus.Waiting)
	}
	if bus.Quarantined > 0 {
		c.violated("quarantine", about, "%d batches are in quarantine, and each was fit to be written", bus.Quarantined)
	}
	ranges := slices.SortedFunc(slices.Values(c.final.Ranges), func(a, b Range) int { return cmp.Compare(a.First, b.First) })
	var until int64 // all up to here were written
	for _, r := range ranges {
		switch {
		case r.Stream != bus.Stream:
			c.violated("sequence", append(about, r.Stream), "%d to %d of %s were written, and the stream is %s", r.First, r.Last, r.Stream, bus.Stream)
			continue
		case r.First > until+1:
			c.violated("sequence", about, "%d to %d of the stream were never written", until+1, r.First-1)
		}
		until = max(until, r.Last)
	}
	switch {
	case until < bus.Last:
		c.violated("sequence", about, "%d to %d of the stream were never written", until+1, bus.Last)
	case until > bus.Last:
		c.violated("sequence", about, "%d was written, and the stream ends with %d", until, bus.Last)
	}
}
