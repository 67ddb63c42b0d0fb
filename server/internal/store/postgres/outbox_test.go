package postgres_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/recoup-dev/recoup"
	"github.com/recoup-dev/recoup/server/internal/store"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
	"github.com/recoup-dev/recoup/server/internal/test/conformance"
	"github.com/recoup-dev/recoup/server/internal/wire"
)

// A node of the version before ends one notification of a message at a time. When it ends
// the one that stands for the message, the others are in none: else nobody would claim them.
func TestMessageLosesItsHead(t *testing.T) {
	t.Parallel()
	_, url := pgtest.Migrated(t)
	s := pgtest.OpenURL(t, url)
	now := conformance.Epoch()
	if _, err := s.AddNotices(t.Context(), now, []wire.Notice{{Kind: "ALERT", To: "ops", Key: "a", Body: recoup.JSON(`{}`)}, {Kind: "ALERT", To: "ops", Key: "b", Body: recoup.JSON(`{}`)}}); err != nil {
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
	again, err := s.ClaimNotices(t.Context(), now.Add(2*time.Minute), time.Minute, 10)
	if err != nil || len(again) != 1 || again[0].ID != list[0].ID || !again[0].MessageID.IsZero() {
		t.Errorf("claimed are %+v, %v", again, err)
	}
	if _, err := conn.Exec(t.Context(), "update recoup.outbox set message_id = $1 where notice_id = $2", m.ID, list[0].ID); err != nil {
		t.Fatal(err)
	}
}
