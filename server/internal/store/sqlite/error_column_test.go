package sqlite

import (
	"encoding/binary"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/policy"
	"github.com/recoup-dev/recoup/server/internal/store"
)

// sample returns an archived error in which every field has a value of its own.
func sample() recoup.Error {
	n := 0
	at := func() time.Time {
		n++
		return time.Date(2026, 2, 2, 9, 0, n, n*1000, time.UTC)
	}
	id := func() (id recoup.ID) {
		n++
		binary.BigEndian.PutUint64(id[4:], uint64(n))
		return id
	}
	word := func() string { n++; return fmt.Sprint("word ", n) }
	return recoup.Error{
		ID: id(), Table: "outreach.dol_errors", ReportedTable: word(), EntityID: word(), Code: "A_CODE", Severity: recoup.High,
		Category: recoup.Operational, Class: recoup.ClassLongDelay, Message: word(), CorrelationID: id(), PolicyVersion: word(),
		State: recoup.Escalated, Disposition: recoup.DispositionParked, Blocking: true, Replaceable: true,
		CreatedAt: at(), UpdatedAt: at(), ExpiresAt: at(),
		Retry: recoup.Retry{RetryCount: 3, MaxRetries: 4, LastRetryAt: at(), NextRetryAt: at(), RetryExhausted: true,
			WindowEndsAt: at(), LastFailureCode: recoup.Code(word()), StreakFamily: word(), StreakCount: 2, LastAttempt: id(), LastResult: word()},
		Lease:   recoup.Lease{LeaseToken: id(), LeaseWorker: word(), LeasedAt: at(), LeaseEndsAt: at()},
		Parking: recoup.Parking{ParkedAt: at(), ParkedBy: word(), ParkReason: recoup.ParkReason(word()), AssignedTo: word(), LastReviewedAt: at()},
		Escalation: recoup.Escalation{EscalationLevel: 2, EscalatedAt: at(), EscalatedTo: word(), EscalationReason: word(),
			NextEscalationAt: at(), ReviewDueAt: at()},
		Resolution: recoup.Resolution{ResolvedAt: at(), ResolvedBy: word(), ResolutionReason: word()},
		Archive: recoup.Archive{ArchivedAt: at(), ArchivedBy: word(), ArchiveReason: recoup.SupersededByNext,
			FinalDisposition: recoup.DispositionParked, SupersededBy: id(), PurgeAt: at()},
		NextReminderAt: at(), RemindedAt: at(),
	}
}

// rewrite makes next of a stored error.
func (t *tx) rewrite(was, next *recoup.Error) error {
	c, err := newChange(was, next)
	if err != nil {
		return err
	}
	row, err := t.rowOf(next.ID)
	c.add(row, next)
	return errors.Join(err, c.update(t))
}

// Every field has its column: what is written comes back, from the table, after
// an update of every column that may change, and from the archive.
func TestColumnsCoverEveryField(t *testing.T) {
	t.Parallel()
	s := newTestStore(t)
	if err := s.SyncTables(t.Context(), policy.Default()); err != nil {
		t.Fatal(err)
	}
	archived := sample()
	archived.PurgeAt = archived.ArchivedAt.Add(365 * 24 * time.Hour) // as the table's policy keeps it
	full := archived
	full.Archive = recoup.Archive{}
	bare := recoup.Error{
		ID: full.ID, Table: full.Table, ReportedTable: full.ReportedTable, EntityID: full.EntityID, Code: full.Code, CorrelationID: full.CorrelationID, CreatedAt: full.CreatedAt,
		UpdatedAt: full.CreatedAt, State: recoup.Active, Disposition: recoup.DispositionArchive,
	}
	emptied := bare
	emptied.PolicyVersion = full.PolicyVersion // what is admitted stays so
	archived.State, archived.Blocking, archived.Replaceable = recoup.Archived, false, false
	archived.UpdatedAt, archived.Lease = archived.ArchivedAt, recoup.Lease{}
	left := full
	left.Lease = recoup.Lease{}
	for _, row := range []struct {
		name  string
		write func(*tx) error
		want  recoup.Error
	}{
		{"bare", func(tx *tx) error { return tx.exec(insertError, fields(errorColumns, &bare)...) }, bare},
		{"updated", func(tx *tx) error { return tx.rewrite(&bare, &full) }, full},
		{"emptied", func(tx *tx) error { return tx.rewrite(&full, &emptied) }, emptied},
		{"filled", func(tx *tx) error { return tx.rewrite(&emptied, &full) }, full},
		{"archived", func(tx *tx) error {
			tx.now = archived.ArchivedAt
			h := recoup.Transition{Input: "archive", PolicyVersion: archived.PolicyVersion}
			return errors.Join(tx.exec(beginBatch), tx.rewrite(&full, &left), tx.archive([]*store.End{{Left: left, Next: &archived, History: h}}), tx.exec(endBatch))
		}, archived},
	} {
		if err := s.writer.do(t.Context(), row.write); err != nil {
			t.Fatalf("%s: %v", row.name, err)
		}
		if got, err := s.Error(t.Context(), full.ID); err != nil || got != row.want {
			t.Errorf("%s: got\n%+v, %v, want\n%+v", row.name, got, err, row.want)
		}
	}
}

// A column of the wrong type is an error, not a guess.
func TestFieldsRefuseWhatTheyCannotRead(t *testing.T) {
	t.Parallel()
	var e recoup.Error
	for _, row := range []struct {
		field field
		src   any
	}{
		{id{&e.ID}, []byte("short")}, {id{&e.ID}, "text"}, {stamp{&e.CreatedAt}, "2026-02-02"},
		{text[string]{&e.Table}, int64(1)}, {number{&e.RetryCount}, nil}, {flag{&e.Blocking}, "yes"},
	} {
		if err := row.field.Scan(row.src); err == nil {
			t.Errorf("%T read %v", row.field, row.src)
		}
	}
}
