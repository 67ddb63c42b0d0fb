package push

import (
	"context"
	"slices"
	"time"
)

// setAside is a delivery that waits to be given back.
type setAside struct {
	Delivery
	at time.Time
}

// maxFailed is how many deliveries that have failed are remembered.
const maxFailed = 100

// claim claims what is delivered next. Where deliveries have failed before, it looks
// beyond them: those behind which others wait come last, so that a receiver is not
// tried with the same one for ever, and those that have failed longest ago first.
func (r *receiver) claim(ctx context.Context, places int) ([]Delivery, error) {
	failed := r.expected()
	list, err := r.source.Claim(ctx, places+len(failed), int((r.lease+time.Second-1)/time.Second))
	if err == nil {
		r.forget(failed, list)
	}
	if len(list) <= places {
		return list, err
	}
	slices.SortStableFunc(list, func(a, b Delivery) int {
		return slices.Index(failed, a.Key()) - slices.Index(failed, b.Key())
	})
	for _, p := range list[places:] {
		r.sendBack(ctx, p, !slices.Contains(failed, p.Key()))
	}
	return list[:places], err
}

// expected returns the keys of those that have failed and may come up again.
func (r *receiver) expected() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	failed := slices.Clone(r.failed)
	return slices.DeleteFunc(failed, func(key string) bool {
		return slices.ContainsFunc(r.aside, func(s setAside) bool { return s.Key() == key })
	})
}

// forget drops those that were expected and did not come: somebody else has them, or
// they are done.
func (r *receiver) forget(expected []string, came []Delivery) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.failed = slices.DeleteFunc(r.failed, func(key string) bool {
		return slices.Contains(expected, key) && !slices.ContainsFunc(came, func(p Delivery) bool { return p.Key() == key })
	})
}

// clearFailed forgets that a delivery has failed.
func (r *receiver) clearFailed(p Delivery) {
	if i := slices.Index(r.failed, p.Key()); i >= 0 {
		r.failed = slices.Delete(r.failed, i, i+1)
	}
}

// putAside keeps a delivery that is to be given back at that time.
func (r *receiver) putAside(p Delivery, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.aside = append(r.aside, setAside{p, at})
}

// giveBack gives back what has waited long enough, or all that there is.
func (r *receiver) giveBack(ctx context.Context, all bool) error {
	r.mu.Lock()
	now := r.now()
	var due, rest []setAside
	for _, s := range r.aside {
		if all || !now.Before(s.at) {
			due = append(due, s)
		} else {
			rest = append(rest, s)
		}
	}
	r.aside = rest
	r.mu.Unlock()
	for i, s := range due {
		if err := s.GiveBack(ctx); err != nil && !Lost(err) {
			r.mu.Lock()
			r.aside = append(r.aside, due[i:]...)
			r.mu.Unlock()
			return err
		}
	}
	return nil
}
