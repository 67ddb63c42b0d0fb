package api

import (
	"hash/maphash"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
)

// names bounds how many services and lanes a key can make up in a day. Each costs
// memory, rows a minute and series for as long as it is remembered.
//
// A node knows what was named since it started, so that a restart allows as many
// again, and every node counts for itself.
type names struct {
	limit int
	seed  maphash.Seed

	mu          sync.Mutex
	known, last map[uint64]struct{} // by hash; last is what was known when known was full
	day         time.Time
	made        map[recoup.ID]int // by key, that day
}

// maxKnownNames bounds what a node remembers, in each of its two generations.
const maxKnownNames = 50_000

func newNames(limit int) *names {
	return &names{limit: limit, seed: maphash.MakeSeed(), known: map[uint64]struct{}{}, made: map[recoup.ID]int{}}
}

// checkName refuses a name that the key may not make up any more. The name of a kind is known to
// the node once it was used.
func (c *call) checkName(kind, name string) error {
	n := c.server.names
	if n.admit(c, kind, name) {
		return nil
	}
	return fault.New(fault.CodeQuotaExceeded, "The key has named %d new pipelines, stages and services today; use one that is known, or come back tomorrow.", n.limit).
		With("limit", n.limit).With("window_sec", 24*60*60)
}

// admit reports whether a key may use a name: one that is known, or a new one if it
// has made up few today.
func (n *names) admit(c *call, kind, name string) bool {
	if c.key == nil || name == "" {
		return true
	}
	hash := maphash.String(n.seed, kind+"\x00"+name)
	n.mu.Lock()
	defer n.mu.Unlock()
	if _, ok := n.known[hash]; ok {
		return true
	}
	if day := c.now.UTC().Truncate(24 * time.Hour); !day.Equal(n.day) {
		n.day = day
		clear(n.made)
	}
	if _, ok := n.last[hash]; !ok {
		if n.made[c.key.ID] >= n.limit {
			return false
		}
		n.made[c.key.ID]++
	}
	if len(n.known) >= maxKnownNames {
		n.last, n.known = n.known, map[uint64]struct{}{}
	}
	n.known[hash] = struct{}{}
	return true
}
