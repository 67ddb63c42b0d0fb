package conformance

import (
	"cmp"
	"encoding/gob"
	"errors"
	"io"
	"maps"
	"slices"
	"sync"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

// A journal is how a driver that dies with its process reports to another what it
// was about to do and what was acknowledged to it. A nil journal keeps nothing.
type journal struct {
	mu  sync.Mutex
	out *gob.Encoder
	err error
}

// line is one entry: what was decided, or that a verb was acknowledged.
type line struct {
	Fact         *fact
	Acknowledged int64
}

// Journal makes the driver write down, from now on, every decision before the
// store can commit it and every acknowledgement after. w may be a pipe to
// another process, which reads it with [Driver.Recover] when this one is dead.
// Extensions of leases leave no trace of their own, so do without them.
func (d *Driver) Journal(w io.Writer) { d.journal = &journal{out: gob.NewEncoder(w)} }

func (j *journal) decided(made decision) {
	if j != nil {
		f := made.fact()
		j.write(line{Fact: &f})
	}
}

func (j *journal) acknowledged(call int64) {
	if j != nil {
		j.write(line{Acknowledged: call})
	}
}

// write keeps quiet about an error: whoever reads the journal sees its end.
func (j *journal) write(l line) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.err == nil {
		j.err = j.out.Encode(l)
	}
}

// Recover reads the journal of a driver that was killed, perhaps in the middle
// of a word, and takes up what the store must have: every verb that was
// acknowledged, and of the others those that left a trace. [Driver.Check] then
// checks that each of these stands as a whole.
func (d *Driver) Recover(r io.Reader) {
	d.Helper()
	verbs, acknowledged := map[int64]verb{}, map[int64]bool{}
	for in := gob.NewDecoder(r); ; {
		var l line
		err := in.Decode(&l)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			break
		}
		switch {
		case err != nil:
			d.Fatalf("journal: %v", err)
		case l.Fact == nil:
			acknowledged[l.Acknowledged] = true
		default:
			if verbs[l.Fact.Call] == nil {
				verbs[l.Fact.Call] = verb{}
			}
			verbs[l.Fact.Call][l.Fact.Item] = *l.Fact
		}
	}
	for call, v := range verbs {
		if acknowledged[call] || d.traced(v) {
			for _, f := range v.facts() {
				d.book.note(f)
			}
		}
	}
}

// verb is what was last decided for each of its items.
type verb map[int]fact

func (v verb) facts() []fact {
	return slices.SortedFunc(maps.Values(v), func(a, b fact) int { return cmp.Compare(a.Order, b.Order) })
}

// traced reports whether a verb that nobody acknowledged was carried out.
func (d *Driver) traced(v verb) bool {
	d.Helper()
	return slices.ContainsFunc(v.facts(), func(f fact) bool { return d.left(f) })
}

// left looks for the history row of a decision, or for the token of a lease.
func (d *Driver) left(f fact) bool {
	d.Helper()
	rows, err := d.Store.History(d.Context(), f.Error.ID, sqldb.MaxPage)
	if err != nil {
		d.Fatalf("history: %v", err)
	}
	if f.History.Input != "" {
		return slices.ContainsFunc(rows, func(row recoup.Transition) bool { return Canonical(row) == Canonical(f.History) })
	}
	token := f.Error.LeaseToken
	if f.Refused || token.IsZero() {
		return false
	}
	stored, err := d.Store.Error(d.Context(), f.Error.ID)
	if err != nil {
		d.Fatalf("read: %v", err)
	}
	return stored.LeaseToken == token || stored.LastAttempt == token ||
		slices.ContainsFunc(rows, func(row recoup.Transition) bool { return row.Attempt == token })
}
