package store

import (
	"slices"
	"sync"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
)

// DecisionCache keeps decisions that stand for others, so that a store can apply one to a
// whole batch in place of asking again about each error. It is safe for concurrent
// use; a nil DecisionCache remembers nothing.
//
// A cache is valid for as long as the decisions in it would be made again: policies
// are never changed under their version.
type DecisionCache struct {
	mu   sync.RWMutex
	like map[any][]*lifecycle.Decision
	n    int
}

// MaxRemembered is how many decisions there are for one kind of results, and
// maxMemory how many in all. A cache that is full begins anew.
const (
	MaxRemembered = 64
	maxMemory     = 4096
)

// Of returns what is remembered for results, or claims, that have like in common.
func (m *DecisionCache) Of(like any) []*lifecycle.Decision {
	if m == nil || like == nil {
		return nil
	}
	m.mu.RLock()
	defer m.mu.RUnlock()
	return m.like[like]
}

// ending returns the remembered decision that archives this error now, if there is one.
func (m *DecisionCache) ending(like any, e *recoup.Error, now time.Time) *lifecycle.Decision {
	for _, d := range m.Of(like) {
		if d.Effects.Archive && d.Holds(e, now) {
			return d
		}
	}
	return nil
}

// Keep remembers what was decided on an error, if that can stand for others and is
// not known yet.
func (m *DecisionCache) Keep(like any, was *recoup.Error, out *Outcome) {
	if m == nil || like == nil {
		return
	}
	known := func(d *lifecycle.Decision) bool { return d.Agrees(was) }
	if slices.ContainsFunc(m.Of(like), known) {
		return
	}
	d, ok := lifecycle.Remember(was, &out.Error, &out.Effects)
	if !ok {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	list := m.like[like]
	if len(list) >= MaxRemembered || slices.ContainsFunc(list, known) {
		return
	}
	if m.like == nil || m.n >= maxMemory {
		m.like, m.n, list = map[any][]*lifecycle.Decision{}, 0, nil
	}
	m.like[like] = append(slices.Clip(list), d) // whoever has the list keeps it
	m.n++
}
