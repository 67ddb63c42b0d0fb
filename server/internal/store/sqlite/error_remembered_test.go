package sqlite

import (
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/lifecycle"
	"github.com/recoup-dev/recoup/server/internal/policy"
)

// whim gives a column of an error one of a few values.
func whim(r *rand.Rand, c column, e *recoup.Error) {
	switch f := c.field(e).(type) {
	case id:
		*f.to = recoup.ID{15: byte(r.IntN(2))}
	case stamp:
		*f.to = [...]time.Time{{}, time.Unix(1, 0).UTC(), time.Unix(3, 0).UTC()}[r.IntN(3)]
	case text[string]:
		*f.to = [...]string{"", "a", string(recoup.Resolved)}[r.IntN(3)]
	case number:
		*f.to = r.IntN(2)
	case flag:
		*f.to = r.IntN(2) > 0
	}
}

// narrowed is an error of which some columns were read.
func narrowed(e *recoup.Error, but string) (n recoup.Error) {
	for _, c := range overColumns {
		if c.name != but {
			c.field(&n).take(c.field(e))
		}
	}
	return n
}

// passedOver reports whether selectOver leaves an error out.
func passedOver(e *recoup.Error) bool {
	return !e.LeaseToken.IsZero() || e.RetryExhausted != (e.MaxRetries > 0 && e.RetryCount >= e.MaxRetries)
}

// What a worker holds, and what plain SQL has left as no decision does, is not read: it is
// decided for itself.
func TestOverPassesBy(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	must(t, s.writer.do(t.Context(), func(tx *tx) error {
		want, all := map[recoup.ID]bool{}, []recoup.ID(nil)
		for i := range 16 {
			e := recoup.Error{
				ID: recoup.ID{14: 1, 15: byte(i)}, Table: "outreach.dol_errors", Code: "X", State: recoup.Active, PolicyVersion: "0", Disposition: recoup.DispositionArchive,
				CreatedAt: time.Unix(1, 0), UpdatedAt: time.Unix(1, 0), Lease: recoup.Lease{LeaseToken: recoup.ID{15: byte(i) & 1}},
				Retry: recoup.Retry{MaxRetries: 1, RetryCount: i >> 1 & 1, RetryExhausted: i&4 > 0},
			}
			if i&8 > 0 {
				e.MaxRetries, e.RetryCount = 0, 0
			}
			must(t, tx.exec(insertError, fields(errorColumns, &e)...))
			all, want[e.ID] = append(all, e.ID), !passedOver(&e)
		}
		wanted, err := hexes(all)
		must(t, err)
		must(t, tx.scan(overColumns, func(_ int64, e *recoup.Error) {
			if !want[e.ID] {
				t.Errorf("%v is read", e.ID)
			}
			delete(want, e.ID)
		}, selectOver, wanted))
		for id, left := range want {
			if left {
				t.Errorf("%v is not read", id)
			}
		}
		return nil
	}))
}

// What is read of errors that are to be archived is all that decides whether a
// remembered decision stands for them, and all that they are counted by; and each
// column of it matters.
func TestOverColumns(t *testing.T) {
	t.Parallel()
	r, now := rand.New(rand.NewPCG(1, 2)), time.Unix(2, 0).UTC()
	mattered := map[string]bool{"error_id": true, "correlation_id": true} // what the answer names
	for range 50_000 {
		var was recoup.Error
		for _, c := range errorColumns {
			whim(r, c, &was)
		}
		effects := lifecycle.Effects{Archive: true, History: recoup.Transition{At: now, Input: []string{"expire", "archive"}[r.IntN(2)]}}
		d, ok := lifecycle.Remember(&was, &was, &effects)
		if !ok {
			continue
		}
		e := was
		for _, c := range errorColumns {
			if r.IntN(20) == 0 {
				whim(r, c, &e)
			}
		}
		if passedOver(&e) {
			continue
		}
		verdict := func(e *recoup.Error) (bool, levels) {
			counted := newLevels()
			counted.count(e, -1)
			return d.Holds(e, now), counted
		}
		holds, counted := verdict(&e)
		same := func(but string) bool {
			part := narrowed(&e, but)
			also, number := verdict(&part)
			return also == holds && (!holds || reflect.DeepEqual(number, counted))
		}
		if !same("") {
			t.Fatalf("it holds: %v, but not of what was read of\n%+v", holds, e)
		}
		for _, c := range overColumns {
			mattered[c.name] = mattered[c.name] || !same(c.name)
		}
	}
	for _, c := range overColumns {
		if !mattered[c.name] {
			t.Errorf("%s is read in vain", c.name)
		}
	}
}
