package engine

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/fault"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// Policies holds the policy that new errors are admitted under, and those that
// admitted the errors that are still open: an error is judged by its own
// version until a rebase moves it.
type Policies struct {
	current atomic.Pointer[policy.Policy]

	// Follow puts the policy in force here that is in force in the database; nil: no other
	// node changes it. It is set before the policies are used.
	Follow func(ctx context.Context) error

	mu       sync.RWMutex
	versions map[string]*policy.Policy
	order    []*policy.Policy // as they came
}

// NewPolicies begins with the current policy.
func NewPolicies(current *policy.Policy) *Policies {
	s := &Policies{versions: map[string]*policy.Policy{}}
	s.Use(current)
	return s
}

// Current returns the policy that new errors are admitted under.
func (s *Policies) Current() *policy.Policy { return s.current.Load() }

// Use makes a policy the current one and keeps it.
func (s *Policies) Use(p *policy.Policy) {
	s.Keep(p)
	s.current.Store(p)
}

// Keep adds a version that admitted errors earlier.
func (s *Policies) Keep(p *policy.Policy) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.order = slices.DeleteFunc(s.order, func(o *policy.Policy) bool { return o.Version == p.Version })
	s.order = append(s.order, p)
	s.versions[p.Version] = p
}

// Renewed runs a verb of a store that decides by the policies. If the database refuses the
// decision, another node may have changed the policy: this one follows it, and the verb runs
// once more if it is another. A policy that cannot be followed is TEMPORARY_UNAVAILABLE, and
// nothing was changed.
func Renewed[O any](ctx context.Context, s *Policies, verb func() (O, error)) (O, error) {
	before := s.Current()
	out, err := verb()
	if !errors.Is(err, store.ErrRefused) {
		return out, err
	}
	changed, failed := s.renew(ctx, before)
	switch {
	case failed != nil:
		var none O
		return none, failed
	case changed:
		return verb()
	}
	return out, err
}

// renew follows the policy in the database, and reports whether it is another than before.
func (s *Policies) renew(ctx context.Context, before *policy.Policy) (changed bool, err error) {
	if s.Follow != nil {
		err = s.Follow(ctx)
	}
	if err != nil && s.Current() == before {
		return false, fault.Wrap(err, fault.CodeTemporaryUnavailable, "Another node may have changed the policy, and this node cannot read it yet. Nothing was changed; try again.")
	}
	return s.Current() != before, nil
}

// Has reports whether a version is known.
func (s *Policies) Has(version string) bool { return s.version(version) != nil }

// version returns the policy of that version, or nil if it is not known.
func (s *Policies) version(name string) *policy.Policy {
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.versions[name]
}

// Of returns the policy that an error is judged by: the version that admitted
// it, or the current one if that version is unknown.
func (s *Policies) Of(e *recoup.Error) *policy.Policy {
	if p := s.version(e.PolicyVersion); p != nil {
		return p
	}
	return s.Current()
}

// forReport returns the policy that decides a report: the current one, unless
// the report repeats an open error that lives in another table than the current
// policy would put it in. Then the older version decides until that error ends.
func (s *Policies) forReport(older *recoup.Error, q policy.Question) *policy.Policy {
	current := s.Current()
	if older == nil || current.Resolve(q).Table.Name == older.Table {
		return current
	}
	return s.Of(older)
}

// forRow returns the policy that admits a row of a table.
func (s *Policies) forRow(table string) *policy.Policy {
	if p := s.having(table); p != nil {
		return p
	}
	return s.Current()
}

// having returns the policy that says what a table is: the current one, or, of a
// table that has left it and may still have errors, an earlier version. It is
// nil for a table that no version has.
func (s *Policies) having(table string) *policy.Policy {
	current := s.Current()
	if _, ok := current.Table(table); ok {
		return current
	}
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range slices.Backward(s.order) {
		if _, ok := p.Table(table); ok {
			return p
		}
	}
	return nil
}

// Table returns a table, also one that has left the policy.
func (s *Policies) Table(name string) (*policy.Table, bool) {
	if p := s.having(name); p != nil {
		return p.Table(name)
	}
	return nil, false
}

// Tables returns every table that may have open errors: those of the current
// policy, then those that have left it.
func (s *Policies) Tables() []*policy.Table {
	list := s.Current().Tables()
	s.mu.RLock()
	defer s.mu.RUnlock()
	for _, p := range slices.Backward(s.order) {
		for _, t := range p.Tables() {
			if !slices.ContainsFunc(list, func(o *policy.Table) bool { return o.Name == t.Name }) {
				list = append(list, t)
			}
		}
	}
	return list
}
