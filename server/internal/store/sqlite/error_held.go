package sqlite

import "github.com/recoup-dev/recoup"

// maxHeld is how many errors the writer remembers; beyond, it forgets all of them.
const maxHeld = 10_000

// held caches the errors that workers hold, as the file has them: most results come
// soon, and their errors need not be read again. It is valid for as long
// as nobody else has written to the file, which SQLite reports.
type held struct {
	version int64
	errors  map[recoup.ID]holding
}

type holding struct {
	*recoup.Error
	row int64
}

// forget is called when what was written is taken back.
func (h *held) forget() { clear(h.errors) }

// keep takes up what was written of an error, which belongs to it from now on.
func (h *held) keep(e *recoup.Error, row int64) {
	if e.LeaseToken.IsZero() || e.State == recoup.Archived {
		delete(h.errors, e.ID)
		return
	}
	if len(h.errors) >= maxHeld {
		h.forget()
	}
	for _, c := range stampColumns {
		c.field(e).normalize()
	}
	h.errors[e.ID] = holding{e, row}
}

// look forgets everything if somebody else has written to the file.
func (h *held) look(t *tx) error {
	var version int64
	if err := t.row(`pragma data_version`).Scan(&version); err != nil {
		return err
	}
	if version != h.version {
		h.forget()
		h.version = version
	}
	return nil
}

// recall returns those of the errors that are known, and the ids of the others.
func (t *tx) recall(n int, at func(int) *recoup.ID) (known []recoup.Error, others []*recoup.ID, err error) {
	if err := t.held.look(t); err != nil {
		return nil, nil, err
	}
	for i := range n {
		id := at(i)
		if e, ok := t.held.errors[*id]; ok {
			if known == nil {
				known = make([]recoup.Error, 0, n)
			}
			t.rows[*id] = e.row
			known = append(known, *e.Error)
		} else {
			others = append(others, id)
		}
	}
	return known, others, nil
}
