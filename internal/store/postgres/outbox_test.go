package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"recoup"
	"recoup/internal/store"
	"recoup/internal/store/postgres/pgtest"
	"recoup/internal/test/conformance"
)

// A node of the version before ends one notification of a message at a time. When it ends
// the one that stands for the message, the others end with it: they are claimed by nobody.
func TestMessageEndsWhole(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s := pgtest.OpenURL(t, url)
	now := conformance.Epoch()
	if _, err := s.AddNotices(t.Context(), now, []recoup.Notice{{Kind: "ALERT", To: "ops", Key: "a", Body: recoup.JSON(`{}`)}, {Kind: "ALERT", To: "ops", Key: "b", Body: recoup.JSON(`{}`)}}); err != nil {
		t.Fatal(err)
	}
	list, err := s.ClaimNotices(t.Context(), now, time.Minute, 10)
	if err != nil || len(list) != 2 {
		t.Fatal(list, err)
	}
	m := store.Message{ID: list[1].ID, Body: recoup.JSON(`{}`)}
	for _, n := range list {
		m.Notices = append(m.Notices, store.ClaimedNotice{ID: n.ID, Attempt: n.Attempts})
	}
	if err := s.SaveMessage(t.Context(), m); err != nil {
		t.Fatal(err)
	}
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close(t.Context()) }()
	if _, err := conn.Exec(t.Context(), "update recoup.outbox set due_at = null, delivered_at = $3 where notice_id = $1 and attempts = $2 and due_at is not null", m.ID, list[1].Attempts, now); err != nil {
		t.Fatal(err)
	}
	if left, err := s.PendingNotices(t.Context(), 10); err != nil || len(left) > 0 {
		t.Errorf("there wait %+v, %v", left, err)
	}
	var delivered int
	if err := conn.QueryRow(t.Context(), "select count(*) from recoup.outbox where delivered_at = $1", now).Scan(&delivered); err != nil || delivered != 2 {
		t.Errorf("%d are delivered: %v", delivered, err)
	}
}
