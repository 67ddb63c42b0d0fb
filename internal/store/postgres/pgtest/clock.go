package pgtest

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
)

// ShiftClock lets the database's own clock, by which acts are judged, run ahead of
// the server's by a time, or behind it. Only the owner of the schema can.
func ShiftClock(t testing.TB, ownerURL string, by time.Duration) {
	t.Helper()
	if err := replaceClock(t.Context(), ownerURL, fmt.Sprintf("clock_timestamp() + interval '%d microseconds'", by.Microseconds())); err != nil {
		t.Fatal(err)
	}
}

// StopClock lets the database's own clock stand at a time.
func StopClock(t testing.TB, ownerURL string, at time.Time) {
	t.Helper()
	if err := replaceClock(t.Context(), ownerURL, "timestamptz '"+at.UTC().Format(time.RFC3339Nano)+"'"); err != nil {
		t.Fatal(err)
	}
}

func replaceClock(ctx context.Context, ownerURL, expression string) error {
	conn, err := pgx.Connect(ctx, ownerURL)
	if err != nil {
		return fmt.Errorf("pgtest: %w", err)
	}
	defer func() { _ = conn.Close(context.WithoutCancel(ctx)) }()
	_, err = conn.Exec(ctx, "create or replace function recoup.clock() returns timestamptz language sql volatile as $$select "+expression+"$$")
	if err != nil {
		return fmt.Errorf("pgtest: set the clock: %w", err)
	}
	return nil
}
