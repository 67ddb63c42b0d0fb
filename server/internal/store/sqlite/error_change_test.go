package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
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

// rewriteAll makes of stored errors what was decided, by groups.
func (t *tx) rewriteAll(list, next []recoup.Error) error {
	var groups changes
	for i := range next {
		row, err := t.rowOf(next[i].ID)
		if err == nil {
			err = groups.add(row, &list[i], &next[i])
		}
		if err != nil {
			return err
		}
	}
	for _, c := range groups.list {
		if err := c.update(t); err != nil {
			return err
		}
	}
	return nil
}

// What is written for many at once is, of each, what was decided.
func TestBatchesWriteWhatWasDecided(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	var serial uint64
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		list := errorsOf(t, s, &serial)
		next := make([]recoup.Error, len(list))
		for i := range list {
			if next[i] = d.vary(list[i]); rapid.Bool().Draw(t, "ends") {
				next[i] = end(list[i])
			}
		}
		must(t, s.writer.do(t.Context(), func(tx *tx) error { return tx.rewriteAll(list, next) }))
		for _, want := range next {
			if got, err := s.Error(t.Context(), want.ID); err != nil || got != want {
				t.Fatalf("got\n%+v, %v, want\n%+v", got, err, want)
			}
		}
	})
}

// So it is with what goes to the archive, and with the last row of its history, also
// when the archive's row that has carried it is purged.
func TestBatchesArchiveWhatWasDecided(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	var serial uint64
	now := time.Unix(9, 0).UTC()
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		list := errorsOf(t, s, &serial)
		left, ends := make([]recoup.Error, len(list)), make([]*store.End, len(list))
		for i := range list {
			left[i] = end(list[i])
			ends[i] = d.archive(left[i], now)
		}
		must(t, s.writer.doAt(t.Context(), "", now, func(tx *tx) error {
			return errors.Join(tx.rewriteAll(list, left), tx.exec(beginBatch), tx.archive(ends), tx.exec(endBatch))
		}))
		for _, end := range ends {
			if got, err := s.Error(t.Context(), end.Next.ID); err != nil || got != *end.Next {
				t.Fatalf("got\n%+v, %v, want\n%+v", got, err, *end.Next)
			}
		}
		wantHistory := func() {
			for _, end := range ends {
				if got, err := s.History(t.Context(), end.Next.ID, 10); err != nil || !slices.Equal(got, []recoup.Transition{end.History}) {
					t.Fatalf("got\n%+v, %v, want\n%+v", got, err, end.History)
				}
			}
		}
		wantHistory()
		if n, err := s.PurgeArchive(t.Context(), now.Add(3*time.Hour), 100); err != nil || n != len(ends) {
			t.Fatalf("%d of %d are purged, %v", n, len(ends), err)
		}
		wantHistory()
	})
}

// archive archives an error in one of several ways.
func (d drawn) archive(left recoup.Error, now time.Time) *store.End {
	next := left
	next.State, next.UpdatedAt = recoup.Archived, now
	next.Archive = recoup.Archive{
		ArchivedAt: now, ArchivedBy: "x" + d.word("by"), ArchiveReason: recoup.ManualArchive, FinalDisposition: left.Disposition,
		SupersededBy: d.id("successor"), PurgeAt: now.Add(time.Duration(1+rapid.IntRange(0, 1).Draw(d.T, "kept")) * time.Hour),
	}
	if !next.SupersededBy.IsZero() {
		next.ArchiveReason = recoup.SupersededByNext
	}
	return &store.End{Left: left, Next: &next, History: recoup.Transition{
		ErrorID: left.ID, At: now, Input: "archive", Actor: next.ArchivedBy, Reason: d.word("reason"), PolicyVersion: "1" + d.word("policy"),
		Worker: d.word("worker"), ClaimedAt: d.at("claimed"), Attempt: d.id("attempt"), Before: left.Snapshot(), After: next.Snapshot(),
	}}
}

// History that is written for many errors at once is what was decided for each, in
// its order.
func TestBatchesKeepHistory(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	must(t, s.SyncTables(t.Context(), policy.Default()))
	var serial uint64
	rapid.Check(t, func(t *rapid.T) {
		d := drawn{t}
		list := errorsOf(t, s, &serial)
		want := map[recoup.ID][]recoup.Transition{}
		var rows []historyRow
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
			rows = append(rows, historyRow{&h, of})
			want[e.ID] = append(want[e.ID], h)
		}
		must(t, s.writer.do(t.Context(), func(tx *tx) error { return tx.saveHistory(rows) }))
		for id, history := range want {
			got, err := s.History(t.Context(), id, 100)
			if err != nil || !slices.Equal(got, history) {
				t.Fatalf("got\n%+v, %v, want\n%+v", got, err, history)
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
