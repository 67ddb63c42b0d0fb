package push

import (
	"context"
	"slices"
	"time"
)

// shelved is a parcel that waits to be given back.
type shelved struct {
	parcel
	at time.Time
}

// maxSour is how many parcels that have failed are remembered.
const maxSour = 100

// claim claims what is delivered next. Where parcels have failed before, it looks
// beyond them: those behind which others wait come last, so that a receiver is not
// tried with the same one for ever, and those that have failed longest ago first.
func (r *receiver) claim(ctx context.Context, places int) ([]parcel, error) {
	sour := r.expected()
	list, err := r.source.claim(ctx, places+len(sour), int((r.lease+time.Second-1)/time.Second))
	if err == nil {
		r.forget(sour, list)
	}
	if len(list) <= places {
		return list, err
	}
	slices.SortStableFunc(list, func(a, b parcel) int {
		return slices.Index(sour, a.key()) - slices.Index(sour, b.key())
	})
	for _, p := range list[places:] {
		r.sendBack(ctx, p, !slices.Contains(sour, p.key()))
	}
	return list[:places], err
}

// expected returns the keys of those that have failed and may come up again.
func (r *receiver) expected() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	sour := slices.Clone(r.sour)
	return slices.DeleteFunc(sour, func(key string) bool {
		return slices.ContainsFunc(r.shelf, func(s shelved) bool { return s.key() == key })
	})
}

// forget drops those that were expected and did not come: somebody else has them, or
// they are done.
func (r *receiver) forget(expected []string, came []parcel) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sour = slices.DeleteFunc(r.sour, func(key string) bool {
		return slices.Contains(expected, key) && !slices.ContainsFunc(came, func(p parcel) bool { return p.key() == key })
	})
}

// sweeten forgets that a parcel has failed.
func (r *receiver) sweeten(p parcel) {
	if i := slices.Index(r.sour, p.key()); i >= 0 {
		r.sour = slices.Delete(r.sour, i, i+1)
	}
}

// shelve keeps a parcel that is to be given back at that time.
func (r *receiver) shelve(p parcel, at time.Time) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.shelf = append(r.shelf, shelved{p, at})
}

// giveBack gives back what has waited long enough, or all that there is.
func (r *receiver) giveBack(ctx context.Context, all bool) error {
	r.mu.Lock()
	now := r.now()
	var due, rest []shelved
	for _, s := range r.shelf {
		if all || !now.Before(s.at) {
			due = append(due, s)
		} else {
			rest = append(rest, s)
		}
	}
	r.shelf = rest
	r.mu.Unlock()
	for i, s := range due {
		if err := s.giveBack(ctx); err != nil && !lost(err) {
			r.mu.Lock()
			r.shelf = append(r.shelf, due[i:]...)
			r.mu.Unlock()
			return err
		}
	}
	return nil
}
