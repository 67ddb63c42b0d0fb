package conformance

import (
	"errors"
	"sync"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/sqldb"
)

func sessionClauses() []serviceClause {
	return []serviceClause{
		{"a session is kept as it was made, and found by its hash", sessionKept},
		{"a session belongs to a key, and no two share a token", sessionRefused},
		{"the last use of a session never goes back", sessionTouched},
		{"a session that was ended is gone, and the others stay", sessionEnded},
		{"a key has so many sessions at most, and the oldest end", sessionLimit},
		{"sessions that are over are deleted, at most so many at once", sessionPurged},
	}
}

// session is a session that does not exist yet, of a key that does.
func (d *serviceDriver) session(n byte) store.Session {
	d.Helper()
	return store.Session{Hash: [32]byte{n}, KeyHash: d.created(d.key("k")).Hash, CreatedAt: d.now, SeenAt: d.now, EndsAt: d.now.Add(day)}
}

func (d *serviceDriver) signedIn(s store.Session) store.Session {
	d.Helper()
	d.must(d.store.AddSession(d.Context(), s))
	return s
}

func (d *serviceDriver) wantSession(want store.Session) {
	d.Helper()
	got, err := d.store.Session(d.Context(), want.Hash, false)
	d.must(err)
	wantSame(d, got, want)
}

func (d *serviceDriver) wantNoSession(s store.Session) {
	d.Helper()
	_, err := d.store.Session(d.Context(), s.Hash, true)
	d.wantErr(err, sqldb.ErrNotFound)
}

func sessionKept(d *serviceDriver) {
	first := d.signedIn(d.session(1))
	second := first // somebody who signs in twice with one key
	second.Hash = [32]byte{2}
	d.signedIn(second)
	d.wantSession(first)
	d.wantSession(second)
	d.wantNoSession(store.Session{Hash: [32]byte{3}})
}

func sessionRefused(d *serviceDriver) {
	s := d.signedIn(d.session(1))
	taken := d.session(1)
	d.wantErr(d.store.AddSession(d.Context(), taken), store.ErrConflict)
	ownerless, backwards := d.session(2), d.session(3)
	ownerless.KeyHash, backwards.EndsAt = [32]byte{99}, d.now
	for _, bad := range []store.Session{ownerless, backwards} {
		d.wantErr(d.store.AddSession(d.Context(), bad), store.ErrRefused)
		d.wantNoSession(bad)
	}
	d.wantSession(s)
}

func sessionTouched(d *serviceDriver) {
	s, other := d.signedIn(d.session(1)), d.signedIn(d.session(2))
	for _, at := range []time.Duration{time.Hour, time.Minute} {
		d.must(d.store.TouchSession(d.Context(), s.Hash, d.now.Add(at)))
	}
	s.SeenAt = d.now.Add(time.Hour)
	d.wantSession(s)
	d.wantSession(other)
	gone := [32]byte{9}
	d.must(d.store.TouchSession(d.Context(), gone, d.now))
	d.wantNoSession(store.Session{Hash: gone})
}

func sessionEnded(d *serviceDriver) {
	s, other := d.signedIn(d.session(1)), d.signedIn(d.session(2))
	for range 2 {
		d.must(d.store.EndSession(d.Context(), s.Hash))
		d.wantNoSession(s)
	}
	d.wantSession(other)
}

func sessionLimit(d *serviceDriver) {
	first, other := d.session(0), d.signedIn(d.session(200))
	var all []store.Session
	for i := range byte(store.MaxSessions + 3) {
		next := first
		next.Hash, next.CreatedAt, next.SeenAt = [32]byte{i, 1}, d.now, d.now
		next.EndsAt = d.now.Add(day)
		all = append(all, d.signedIn(next))
		d.wait(time.Second)
	}
	for _, gone := range all[:3] {
		d.wantNoSession(gone)
	}
	for _, left := range append(all[3:], other) {
		d.wantSession(left)
	}
	var together sync.WaitGroup
	failed := make([]error, 5)
	for i := range failed {
		next := all[0]
		next.Hash, next.CreatedAt, next.SeenAt = [32]byte{byte(i), 2}, d.now, d.now
		together.Go(func() { failed[i] = d.store.AddSession(d.Context(), next) })
	}
	together.Wait()
	d.must(errors.Join(failed...))
	for i, s := range all[3:] {
		_, err := d.store.Session(d.Context(), s.Hash, false)
		if gone := errors.Is(err, sqldb.ErrNotFound); gone != (i < len(failed)) {
			d.Errorf("of %d sessions that are older, the one at %d is gone: %v (%v)", len(all)-3, i, gone, err)
		}
	}
}

func sessionPurged(d *serviceDriver) {
	var all []store.Session
	for i := range byte(5) {
		all = append(all, d.signedIn(d.session(i)))
		d.wait(time.Minute)
	}
	purge := func(now time.Time, limit, want int) {
		d.Helper()
		n, err := d.store.PurgeSessions(d.Context(), now, limit)
		if d.must(err); n != want {
			d.Fatalf("%d were purged, want %d", n, want)
		}
	}
	purge(all[0].EndsAt.Add(-time.Microsecond), 10, 0)
	purge(all[0].EndsAt, 10, 1)
	purge(all[3].EndsAt, 2, 2)
	d.wantNoSession(all[2])
	d.wantSession(all[3])
	purge(all[3].EndsAt, 10, 1)
	d.wantSession(all[4])
}
