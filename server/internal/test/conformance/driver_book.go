package conformance

import (
	"cmp"
	"errors"
	"slices"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// book is everything that a store has acknowledged to a driver.
type book struct {
	errors  map[recoup.ID]*entry
	notices []wire.Notice
}

// entry is one error as it should be now, and its history.
type entry struct {
	recoup.Error
	order   int64 // of the decision that made this version
	history []row
}

type row struct {
	order int64
	recoup.Transition
}

func newBook() book { return book{errors: map[recoup.ID]*entry{}} }

// note takes up a decision that the store has carried out. Acknowledgements of
// verbs that ran at once may arrive in any order.
func (b *book) note(f fact) {
	if f.History.Input != "" {
		b.append(f.Order, f.History)
	}
	if f.Refused {
		return
	}
	if f.Superseded != nil {
		b.set(f.Order, f.Superseded.Error)
		b.append(f.Order, f.Superseded.History)
	}
	b.set(f.Order, f.Error)
	for _, n := range f.Notices {
		b.notices = append(b.notices, wire.Notice{Kind: n.Kind, To: n.To, ErrorID: f.Error.ID})
	}
}

// fact is what a decision leaves in a store that carries it out, in a form that
// can be written down.
type fact struct {
	Call       int64
	Item       int
	Order      int64
	Refused    bool // only the history row stands, if there is one
	Error      recoup.Error
	History    recoup.Transition
	Superseded *lifecycle.Superseded
	Notices    []lifecycle.Notice
}

func (made *decision) fact() fact {
	return fact{
		Call: made.call, Item: made.item, Order: made.order, Refused: made.Err != nil, Error: made.Error,
		History: made.Effects.History, Superseded: made.Effects.Superseded, Notices: made.Effects.Notices.All(),
	}
}

func (b *book) entry(id recoup.ID) *entry {
	if b.errors[id] == nil {
		b.errors[id] = &entry{}
	}
	return b.errors[id]
}

func (b *book) set(order int64, e recoup.Error) {
	if known := b.entry(e.ID); order >= known.order {
		known.Error, known.order = e, order
	}
}

func (b *book) append(order int64, t recoup.Transition) {
	known := b.entry(t.ErrorID)
	known.history = append(known.history, row{order, t})
	slices.SortStableFunc(known.history, func(a, b row) int { return cmp.Compare(a.order, b.order) })
}

// learn compares what the store answered with what was decided, and takes it up.
func (d *Driver) learn(decisions []decision, outcomes []store.Outcome) {
	d.Helper()
	if len(outcomes) != len(decisions) {
		d.Errorf("%d items were answered with %d outcomes", len(decisions), len(outcomes))
		return
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for i, made := range decisions {
		out := outcomes[i]
		switch {
		case made.order == 0:
			if !errors.Is(out.Err, sqldb.ErrNotFound) {
				d.Errorf("item %d was answered with %v and never decided", i, out.Err)
			}
			continue
		case !errors.Is(out.Err, made.Err):
			d.Errorf("item %d was answered with %v, decided was %v", i, out.Err, made.Err)
		case made.Err == nil:
			if diff := difference(out.Error, made.Error); diff != "" {
				d.Errorf("item %d was answered otherwise than decided:%s", i, diff)
			}
		}
		d.book.note(made.fact())
	}
}

// learnClaims does the same for a claim, which returns what it leased and keeps
// to itself what an expired lease has parked.
func (d *Driver) learnClaims(decisions []decision, claimed []recoup.Error) {
	d.Helper()
	returned := map[recoup.ID]recoup.Error{}
	for _, e := range claimed {
		returned[e.ID] = e
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, made := range decisions {
		if made.Err != nil {
			continue
		}
		got, ok := returned[made.Error.ID]
		if leased := !made.Error.LeaseToken.IsZero(); ok != leased {
			d.Errorf("claim of %v: returned %v, leased %v", made.Error.ID, ok, leased)
		}
		if diff := difference(got, made.Error); ok && diff != "" {
			d.Errorf("claim of %v was answered otherwise than decided:%s", made.Error.ID, diff)
		}
		delete(returned, made.Error.ID)
		d.book.note(made.fact())
	}
	for id := range returned {
		d.Errorf("claim returned %v, which was never decided", id)
	}
}

// Expected returns an error as the store should have it now.
func (d *Driver) Expected(id recoup.ID) (recoup.Error, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if known := d.book.errors[id]; known != nil {
		return known.Error, true
	}
	return recoup.Error{}, false
}

// Known returns every error that the store has acknowledged, as it should be
// now, in the order of ids.
func (d *Driver) Known() []recoup.Error {
	d.mu.Lock()
	defer d.mu.Unlock()
	list := make([]recoup.Error, 0, len(d.book.errors))
	for _, known := range d.book.errors {
		list = append(list, known.Error)
	}
	slices.SortFunc(list, func(a, b recoup.Error) int { return slices.Compare(a.ID[:], b.ID[:]) })
	return list
}
