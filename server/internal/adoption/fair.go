package adoption

import (
	"cmp"
	"slices"
)

// choose returns the adoptions to work at now, and marks them as busy. Those that were served
// least recently come first. An owner gets a second slot only if no other owner waits, and never
// the last slot while tables of other owners are adopted: a source can be slow on purpose.
func (s *Service) choose(list []Target) map[*Target]*state {
	s.mu.Lock()
	defer s.mu.Unlock()
	var ready []*Target
	owners := map[string]bool{}
	for i := range list {
		a := &list[i]
		if owners[a.Owner] = true; s.ready(a, s.state(a.ID)) {
			ready = append(ready, a)
		}
	}
	slices.SortStableFunc(ready, func(a, b *Target) int { return cmp.Compare(s.state(a.ID).served, s.state(b.ID).served) })
	slots := map[string]int{}
	for _, st := range s.states {
		if st.busy {
			slots[st.owner]++
		}
	}
	most := maxAtOnce
	if len(owners) > 1 {
		most--
	}
	chosen := map[*Target]*state{}
	for _, limit := range []int{1, most} {
		for _, a := range ready {
			st := s.state(a.ID)
			if st.busy || slots[a.Owner] >= limit || total(slots) >= maxAtOnce {
				continue
			}
			slots[a.Owner]++
			st.busy, st.owner, st.until = true, a.Owner, s.Now().Add(turnBudget)
			chosen[a] = st
		}
	}
	return chosen
}

// total adds slots.
func total(slots map[string]int) (n int) {
	for _, held := range slots {
		n += held
	}
	return n
}

// ready reports whether there is something to do at an adoption and no one is at it. The caller
// holds the lock.
func (s *Service) ready(a *Target, st *state) bool {
	return !st.busy && s.pending(a, st) && !s.Now().Before(st.rest)
}

// spent reports whether the time of a turn is over. What is left to do stays queued.
func (s *Service) spent(st *state) bool {
	return !st.until.IsZero() && !s.Now().Before(st.until)
}
