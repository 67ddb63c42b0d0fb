package postgres_test

import (
	"testing"
	"time"

	"github.com/recoup-dev/recoup/server/internal/store/postgres"
	"github.com/recoup-dev/recoup/server/internal/store/postgres/pgtest"
)

// TestOnlyTheOwnerSetsTheClock: acts are judged by a clock that a node's own role
// can read and cannot turn.
func TestOnlyTheOwnerSetsTheClock(t *testing.T) {
	ownerURL, appURL := pgtest.Migrated(t)
	s, err := postgres.Open(t.Context(), appURL, postgres.Options{MaxConns: 2})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	want := time.Date(2031, 5, 6, 7, 8, 9, 123456000, time.UTC)
	pgtest.StopClock(t, ownerURL, want)
	if got, err := s.Time(t.Context()); err != nil || !got.Equal(want) {
		t.Errorf("the clock says %v, %v; want %v", got, err, want)
	}
	conn := connect(t, appURL)
	for _, sql := range []string{
		"create or replace function recoup.clock() returns timestamptz language sql as 'select now()'",
		"alter function recoup.clock() rename to other",
		"drop function recoup.clock()",
	} {
		if err := conn.Try(sql); !conn.Refused(err) {
			t.Errorf("%s: %v", sql, err)
		}
	}
}
