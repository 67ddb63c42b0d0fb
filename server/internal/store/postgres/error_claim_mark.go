package postgres

import (
	"sync"
	"time"
)

// lookAgain is how often a claim scans all that is due, however much there is.
const lookAgain = time.Second

// marks remembers how far this node has claimed. What it claimed stays at the front
// of the index, leased or dead, until it is vacuumed: the next claim begins behind
// it. What fell due meanwhile with an earlier time is found by the next full scan.
type marks struct {
	sync.Mutex
	at   map[string]time.Time // by table; what is not here is looked at from the beginning
	full time.Time            // when everything was looked at last; zero: do it now

	looking bool // at everything: one claim does, the others go on at the marks
}

// from returns where to begin in each of the tables; not ok: scan everything, and
// call marks.lookedUp then.
func (m *marks) from(tables []string) (from []time.Time, ok bool) {
	m.Lock()
	defer m.Unlock()
	if m.at == nil || m.full.IsZero() && !m.looking {
		m.looking = true
		return nil, false
	}
	from = make([]time.Time, len(tables))
	for i, table := range tables {
		if from[i] = time.Unix(0, 0).UTC(); !m.at[table].IsZero() {
			from[i] = m.at[table]
		}
	}
	return from, true
}

// lookedUp notes that a claim looks at everything no more, whatever came of it.
func (m *marks) lookedUp() {
	m.Lock()
	defer m.Unlock()
	m.looking = false
}

// looked notes a claim that looked at everything. One that found as much as it may
// take leaves its marks.
func (m *marks) looked(now time.Time, enough bool, last map[string]time.Time) {
	m.Lock()
	defer m.Unlock()
	m.at, m.full = last, time.Time{}
	if enough {
		m.full = now
	}
}

// passed notes a claim that began at the marks.
func (m *marks) passed(now time.Time, enough bool, last map[string]time.Time) {
	m.Lock()
	defer m.Unlock()
	for table, at := range last {
		if m.at[table].Before(at) {
			m.at[table] = at
		}
	}
	if !enough || now.Sub(m.full) >= lookAgain {
		m.full = time.Time{}
	}
}
