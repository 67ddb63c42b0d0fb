package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"recoup"
	"recoup/internal/policy"
)

// drawn makes values for the fields of errors, few of each so that errors agree in
// some of them.
type drawn struct{ *rapid.T }

func (d drawn) id(label string) (id recoup.ID) {
	id[15] = byte(rapid.IntRange(0, 2).Draw(d.T, label))
	return id
}

func (d drawn) at(label string) time.Time {
	n := rapid.IntRange(0, 2).Draw(d.T, label)
	if n == 0 {
		return time.Time{}
	}
	return time.Date(2026, 2, 2, 9, n, 0, 0, time.UTC)
}

func (d drawn) word(label string) string {
	return rapid.SampledFrom([]string{"", "a", "b"}).Draw(d.T, label)
}

// vary gives an error other values where the rules let anything stand.
func (d drawn) vary(e recoup.Error) recoup.Error {
	e.Message, e.LastResult, e.AssignedTo = d.word("message"), d.word("result"), d.word("assignee")
	e.NextRetryAt, e.LastRetryAt, e.ExpiresAt = d.at("next"), d.at("last"), d.at("expiry")
	e.RetryCount = rapid.IntRange(0, 2).Draw(d.T, "count")
	e.LastAttempt = d.id("attempt")
	e.Lease = recoup.Lease{LeaseToken: d.id("token"), LeaseWorker: d.word("worker"), LeasedAt: d.at("leased")}
	return e
}

// end ends the lease of an error as results do.
func end(e recoup.Error) recoup.Error {
	e.LastAttempt, e.LastResult, e.Lease = e.LeaseToken, "fail", recoup.Lease{}
	return e
}

// errorsOf stores errors that differ, and returns them as the table has them.
func errorsOf(t *rapid.T, s *Store, serial *uint64) (list []recoup.Error) {
	d := drawn{t}
	for i := range rapid.IntRange(1, 12).Draw(t, "errors") {
		*serial++
		var id recoup.ID
		binary.BigEndian.PutUint64(id[:], *serial)
		list = append(list, d.vary(recoup.Error{
			ID: id, Table: "outreach.dol_errors", EntityID: fmt.Sprint(i), Code: "A_CODE", State: recoup.Active, PolicyVersion: "0",
			Disposition: recoup.DispositionArchive, CreatedAt: time.Unix(1, 0).UTC(), UpdatedAt: time.Unix(1, 0).UTC(),
			Retry: recoup.Retry{MaxRetries: 5},
		}))
	}
	must(t, s.writer.do(t.Context(), func(tx *tx) error {
		for i := range list {
			if err := tx.exec(insertError, fields(errorColumns, &list[i])...); err != nil {
				return err
			}
		}
		return nil
	}))
	return list
}

// batches makes errors, lets decide say what becomes of each, writes that by groups,
// and wants to read what was decided.
func batches(t *testing.T, columns []column, decide func(drawn, recoup.Error) recoup.Error, write func(*tx, []*change) error) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	var serial uint64
	rapid.Check(t, func(t *rapid.T) {
		list := errorsOf(t, s, &serial)
		next := make([]*recoup.Error, len(list))
		was := map[recoup.ID]*recoup.Error{}
		for i := range list {
			was[list[i].ID], next[i] = &list[i], new(decide(drawn{t}, list[i]))
		}
		must(t, s.writer.do(t.Context(), func(tx *tx) error {
			groups := changes{columns: columns}
			for _, e := range next {
				row, err := tx.rowOf(e.ID)
				must(t, err)
				must(t, groups.add(row, was[e.ID], e))
			}
			return write(tx, groups.list)
		}))
		for _, want := range next {
			if got, err := s.Error(t.Context(), want.ID); err != nil || got != *want {
				t.Fatalf("got\n%+v, %v, want\n%+v", got, err, *want)
			}
		}
	})
}

// What is written for many at once is, of each, what was decided.
func TestBatchesWriteWhatWasDecided(t *testing.T) {
	batches(t, errorColumns, func(d drawn, e recoup.Error) recoup.Error {
		if rapid.Bool().Draw(d.T, "ends") {
			return end(e)
		}
		return d.vary(e)
	}, func(tx *tx, groups []*change) error {
		for _, c := range groups {
			if err := c.update(tx); err != nil {
				return err
			}
		}
		return nil
	})
}

// So it is with what goes to the archive.
func TestBatchesArchiveWhatWasDecided(t *testing.T) {
	batches(t, allColumns, func(d drawn, e recoup.Error) recoup.Error {
		if rapid.Bool().Draw(d.T, "ends") {
			e = end(e)
		}
		e.State = recoup.Archived
		e.Archive = recoup.Archive{
			ArchivedAt: time.Unix(9, 0).UTC(), ArchivedBy: "x" + d.word("by"), ArchiveReason: recoup.ManualArchive,
			FinalDisposition: e.Disposition, SupersededBy: d.id("successor"), PurgeAt: time.Unix(1<<40, 0).UTC(),
		}
		return e
	}, func(tx *tx, groups []*change) error {
		if err := tx.exec(beginBatch); err != nil {
			return err
		}
		for _, c := range groups {
			if err := errors.Join(c.copy(tx), tx.exec(deleteMoved, c.rows.json())); err != nil {
				return err
			}
		}
		return tx.exec(endBatch)
	})
}

// History that is written for many at once says, of each, what it was to say, in its
// order.
func TestBatchesTellWhatHappened(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	var serial uint64
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		list := errorsOf(t, s, &serial)
		want := map[recoup.ID][]recoup.Transition{}
		var rows []told
		for range rapid.IntRange(1, 20).Draw(t, "rows") {
			e := &list[rapid.IntRange(0, len(list)-1).Draw(t, "error")]
			h := recoup.Transition{
				ErrorID: e.ID, At: time.Unix(2, 0).UTC(), Input: "fail", Actor: "a", PolicyVersion: "1", Reason: d.word("reason"),
				Before: e.Snapshot(), After: e.Snapshot(), ClaimedAt: e.LeasedAt, Attempt: e.LeaseToken,
			}
			if rapid.Bool().Draw(t, "apart") {
				h.Before.NextRetryAt, h.After.ExpiresAt, h.ClaimedAt, h.Attempt = d.at("was next"), d.at("expiry"), d.at("claimed"), d.id("attempt")
			}
			of := e
			if rapid.IntRange(0, 5).Draw(t, "gone") == 0 {
				of = nil
			}
			rows = append(rows, told{&h, of})
			want[e.ID] = append(want[e.ID], h)
		}
		must(t, s.writer.do(t.Context(), func(tx *tx) error { return tx.saveHistory(rows) }))
		for id, told := range want {
			got, err := s.History(t.Context(), id, 100)
			if err != nil || !slices.Equal(got, told) {
				t.Fatalf("got\n%+v, %v, want\n%+v", got, err, told)
			}
		}
	})
}

func must(t interface {
	Helper()
	Fatal(args ...any)
}, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
